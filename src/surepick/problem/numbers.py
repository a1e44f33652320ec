"""Further numbers of a measurement, beside its reward: a latency, a cost, whether it failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem.noise import NoiseKind, noise_kind, read_kind

#: the number that options are ranked by
REWARD = "reward"
_NAME = re.compile(r"[^\W\d][\w .-]*")
_WORDS = ("of", "at most", "at least")  # of limits


def as_further(given: Any, n_arms: int) -> dict[str, NoiseKind]:
    """What is known about each further number, by its name; checked."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidTypeError(
            "numbers must say what is known of each further number by its name, such as "
            f"{{'latency': (0, 100)}}; got {given!r:.80}"
        )
    found = dict[str, NoiseKind]()
    for name, known in given.items():
        check_name(name)
        try:
            kind = noise_kind("any" if known is None else known, n_arms)
        except (InvalidInputError, InvalidTypeError) as error:
            raise type(error)(f"numbers: {name!r}: {error}") from None
        if kind.of_pairs or kind.scales is not None:
            raise InvalidInputError(
                f"numbers: {name!r} can be 'any', 'yes-no', 'symmetric', 'equal', bounds (lowest, "
                f"highest) or one noise scale; got {known!r:.80}"
            )
        found[name] = kind
    return found


def check_name(name: Any) -> None:
    """Refuse a name that limits could not be written with."""
    fine = isinstance(name, str) and _NAME.fullmatch(name) and name == name.strip()
    if not fine or any(f" {word} " in f" {name} " for word in _WORDS):
        raise InvalidInputError(
            "numbers: the name of a number begins with a letter and has letters, digits, '_', "
            f"'-', '.' and spaces; got {name!r:.80}"
        )
    if name == REWARD:
        raise InvalidInputError(
            f"numbers: {REWARD!r} is the number that options are ranked by, and what is known of "
            "it is the noise of the problem; leave it out here"
        )


def written(numbers: Mapping[str, NoiseKind]) -> dict[str, Any]:
    """As files have it: nothing where there are none."""
    if not numbers:
        return {}
    return {"numbers": {name: kind.written for name, kind in numbers.items()}}


def read(saved: Mapping[str, Any], n_arms: int) -> dict[str, Any] | None:
    """What a file says, as it was given."""
    held = saved.get("numbers")
    if not held:
        return None
    return {name: read_kind(value, n_arms).given for name, value in held.items()}
