"""JSON for states: exact floats, arrays, infinities; nothing is ever pickled."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from surepick.algorithms.base import Algorithm
from surepick.errors import FormatError, InvalidInputError, InvalidTypeError
from surepick.problem import Problem

_BIG = 64  # arrays with more entries than this are stored as base64 bytes
_SPARSE = 256  # of those with more than this only what is not zero, where that is less
_DTYPES = {"f8": "<f8", "i8": "<i8", "b1": "|b1", "u8": "<u8", "u4": "<u4"}
_MARKS = ("__array__", "__float__", "__rng__")  # keys of the dicts that stand for something else


def encode(value: Any) -> Any:
    """A JSON-ready copy of ``value`` (dicts, lists, scalars, NumPy arrays and generators)."""
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, np.random.Generator):
        return {"__rng__": encode(value.bit_generator.state)}
    if isinstance(value, dict):
        if not value.keys().isdisjoint(_MARKS):
            raise TypeError(f"cannot store a dict with one of the keys {', '.join(_MARKS)}")
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [encode(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return {"__float__": repr(value)}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"cannot store {type(value).__name__} in a saved run")


def decode(value: Any) -> Any:
    """What :func:`encode` was given (tuples come back as lists)."""
    if isinstance(value, list):
        return [decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "__array__" in value:
        return _decode_array(value)
    if "__float__" in value:
        return float(value["__float__"])
    if "__rng__" in value:
        state = decode(value["__rng__"])
        kind = getattr(np.random, str(state.get("bit_generator")), None)
        if not (isinstance(kind, type) and issubclass(kind, np.random.BitGenerator)):
            raise FormatError(f"saved run: unknown bit generator {state.get('bit_generator')!r}")
        generator = kind()
        generator.state = state
        return np.random.Generator(generator)
    return {k: decode(v) for k, v in value.items()}


def dumps(value: Any) -> str:
    """Encode to JSON text."""
    return json.dumps(encode(value), allow_nan=False)


def loads(text: str | bytes, what: str) -> Any:
    """Decode JSON text, or say that ``what`` is not readable."""
    try:
        return decode(json.loads(text))
    except FormatError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(f"{what} cannot be read: {error}") from None


def _encode_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    code = array.dtype.str[1:]
    if code not in _DTYPES:
        raise TypeError(f"cannot store an array of {array.dtype} in a saved run")
    head = {"__array__": code, "shape": list(array.shape)}
    plain = array.size <= _BIG and (code != "f8" or bool(np.isfinite(array).all()))
    if plain:
        return head | {"values": array.ravel().tolist()}
    flat = np.ascontiguousarray(array).astype(_DTYPES[code], copy=False).ravel()
    if flat.size > _SPARSE:
        # By their bytes, since -0.0 equals zero but has to come back as -0.0.
        at = np.flatnonzero(flat.view(f"u{flat.itemsize}"))
        if 2 * len(at) < flat.size:
            return head | {"at": _bytes(at.astype("<i8")), "base64": _bytes(flat[at])}
    return head | {"base64": _bytes(flat)}


def _decode_array(value: dict[str, Any]) -> np.ndarray[Any, Any]:
    dtype = np.dtype(_DTYPES[value["__array__"]])
    if "values" in value:
        flat = np.array(value["values"], dtype=dtype)
    else:
        flat = _from_bytes(value["base64"], dtype)
    if "at" in value:
        full = np.zeros(math.prod(value["shape"]), dtype=dtype)
        full[_from_bytes(value["at"], np.dtype("<i8"))] = flat
        flat = full
    return flat.reshape(value["shape"]).astype(dtype.newbyteorder("="))


def _bytes(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def _from_bytes(text: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype=dtype)


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
    except FormatError:
        raise
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
    with refusing_damage():
        contained = Problem.from_dict(saved["problem"])
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
