"""Batches told with strata: the day, plate, operator, … that each pull belongs to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepick.algorithms.base import State, ToldPulls
from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.run.batch import Batch
from surepick.text import as_line

#: names, as objects
TextArray = NDArray[np.object_]
_LONGEST = 200  # characters of a name


def check_strata(
    batch: Batch, strata: Any, with_sums: bool, log: list[dict[str, Any]]
) -> TextArray | None:
    """The stratum of each pull, or an error that names what is wrong; None: there are none."""
    before = bool(log) and "stratum" in log[-1]
    if strata is None:
        if before:
            raise InvalidInputError(
                "strata: earlier batches were told with strata, so this one needs strata too"
            )
        return None
    if log and not before:
        raise InvalidInputError(
            "strata: earlier batches were told without strata, so leave strata out"
        )
    if with_sums:
        raise InvalidInputError("strata: give every single reward (rewards=…), not sums")
    if isinstance(strata, str | bytes) or not hasattr(strata, "__len__"):
        raise InvalidTypeError(f"strata must be a list with one name per pull; got {strata!r:.80}")
    if len(strata) != batch.size:
        raise InvalidInputError(
            f"strata must have one entry per pull: {batch.size} expected, {len(strata)} given"
        )
    names = [stratum_name(name, f"strata[{i}]") for i, name in enumerate(strata)]
    return np.array(names, dtype=object)


def stratum_name(name: Any, what: str) -> str:
    """The name of a stratum, a text or a whole number, or an error."""
    if isinstance(name, bool | np.bool_) or not isinstance(name, str | int | np.integer):
        raise InvalidTypeError(f"{what} must be a text or a whole number; got {name!r:.80}")
    return as_line(str(name), what, _LONGEST)


def split_strata(
    state: State, batch: Batch, rewards: FloatArray, names: TextArray
) -> dict[str, ToldPulls]:
    """What was told of each stratum, in the order of their names.

    Rewards and names come as the rows of the batch list its pulls.
    """
    arms = np.repeat(batch.pulls.arms, batch.pulls.counts)
    found, of = np.unique(names.astype(str), return_inverse=True)
    strata = {}
    for number, name in enumerate(found):
        own = np.flatnonzero(of == number)
        own = own[batch.within(own)]
        told = state.stratum(arms[own], rewards[own])
        strata[str(name)] = told if state.needs_spread else told._replace(spreads=None)
    return strata
