"""Saved runs: their format, and the problem that belongs to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from surepick.algorithms.base import Algorithm
from surepick.errors import FormatError, InvalidInputError, InvalidTypeError
from surepick.problem import Problem
from surepick.run.codec import loads

_FORMAT, _VERSION = "surepick-run", 1
HEAD = {"format": _FORMAT, "version": _VERSION}


def contents(algorithm: Algorithm, problem: Problem) -> dict[str, Any]:
    """What every saved run begins with; very many arms are referred to by their digest."""
    return HEAD | {
        "algorithm": algorithm.registered_name(),
        "settings": algorithm.settings(),
        "problem": problem.reference() if problem.by_reference else problem.to_dict(),
    }


@contextmanager
def refusing_damage() -> Iterator[None]:
    """What goes wrong in reading is said to be wrong with what was saved."""
    try:
        yield
    except KeyError as missing:
        raise FormatError(f"saved run lacks {missing}") from None
    except (TypeError, ValueError, AttributeError, IndexError) as wrong:
        raise FormatError(f"saved run is damaged: {wrong}") from None


def read_saved(text: str | bytes, given: Problem | None) -> tuple[dict[str, Any], Problem]:
    """What was saved of a run, and its problem: contained in the text, or given."""
    saved = loads(text, "saved run")
    if not isinstance(saved, dict) or saved.get("format") != _FORMAT:
        raise FormatError("this is not a saved surepick run")
    version = saved.get("version")
    if not isinstance(version, int) or not 1 <= version <= _VERSION:
        raise FormatError(
            f"this run was saved in format {version}, but this version of surepick reads "
            f"formats up to {_VERSION}; upgrade surepick to open it"
        )
    if not (given is None or isinstance(given, Problem)):
        raise InvalidTypeError(f"problem must be a surepick.Problem; got {given!r:.80}")
    held = saved.get("problem")
    if isinstance(held, dict) and isinstance(held.get("arms"), dict):
        return saved, _referred(held, given)
    if given is not None and _equal(held, given.to_dict()):
        return saved, given  # nothing has to be built, which takes time where there are many arms
    try:
        contained = Problem.from_dict(saved["problem"])
    except KeyError as missing:
        raise FormatError(f"saved run lacks {missing}") from None
    except FormatError:
        raise
    except (TypeError, ValueError, AttributeError) as wrong:
        raise FormatError(f"saved run is damaged: {wrong}") from None
    if given is not None and given != contained:
        raise InvalidInputError("problem: the saved run contains another problem")
    return saved, contained if given is None else given


def _equal(a: Any, b: Any) -> bool:
    """Whether two values of JSON and arrays are the same for certain."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return type(a) is type(b) and not isinstance(a, np.ndarray) and a == b


def _referred(held: dict[str, Any], given: Problem | None) -> Problem:
    """The problem given, if it is the one that a saved run refers to."""
    if given is None:
        raise InvalidInputError(
            "problem: the saved run does not contain its arms, only their SHA-256; pass the "
            "problem: Run.from_json(text, problem=problem)"
        )
    mine = given.reference()
    other = [name.replace("_", " ") for name, value in mine.items() if held.get(name) != value]
    if other:
        raise InvalidInputError(
            f"problem: the run was saved with {' and '.join(other)} that differ from the problem "
            "given"
        )
    return given


def check_columns(saved: dict[str, Any], n_arms: int) -> None:
    """What has an entry for each arm must have as many as there are."""
    for name in ("pulls", "sums"):
        if np.shape(saved[name]) != (n_arms,):
            raise ValueError(f"{name} must have one entry for each of the {n_arms} arms")
