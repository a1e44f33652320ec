"""Names of algorithms: the one place that knows them all."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from surepick import plugins
from surepick.algorithms import combinations
from surepick.algorithms.base import Algorithm
from surepick.errors import InvalidInputError, UnknownNameError, listed

#: the algorithm that is used where none is named
DEFAULT = "pooled-peleg"

# name -> (module, class, constructor or None): modules load when their name is first used
_BUILT_IN: dict[str, tuple[str, str, str | None]] = {
    "peleg": ("research.peleg", "Peleg", None),
    "peleg-paper": ("research.peleg", "Peleg", "paper"),
    "peleg-adahedge": ("research.peleg", "Peleg", "adahedge"),
    "pooled-peleg": ("algorithms.pooled.peleg", "PooledPeleg", None),
    "rage": ("research.rage", "Rage", None),
    "lingape": ("research.lingape", "LinGapE", None),
    "lingape-greedy": ("research.lingape", "LinGapE", "greedy"),
    "xy-static": ("research.xy_static", "XYStatic", None),
    "xy-adaptive": ("research.xy_adaptive", "XYAdaptive", None),
    "xy-oracle": ("research.xy_oracle", "XYOracle", None),
    "alba": ("research.alba", "Alba", None),
    "lucb": ("research.lucb", "Lucb", None),
    "glucb": ("research.glucb", "Glucb", None),
    "lingame": ("research.lingame", "LinGame", None),
    "lingame-c": ("research.lingame", "LinGameC", None),
    "lazy-ts": ("research.lazy_ts", "LazyTrackAndStop", None),
    "fws": ("research.fws", "FrankWolfeSampling", None),
    "top-two": ("research.top_two", "TopTwo", None),
    "uniform": ("research.uniform", "Uniform", None),
    "lingame-heuristic": ("research.lingame", "LinGame", "heuristic"),
    "lingame-c-heuristic": ("research.lingame", "LinGameC", "heuristic"),
    "lazy-ts-heuristic": ("research.lazy_ts", "LazyTrackAndStop", "heuristic"),
    "fws-heuristic": ("research.fws", "FrankWolfeSampling", "heuristic"),
    "top-two-heuristic": ("research.top_two", "TopTwo", "heuristic"),
    "uniform-heuristic": ("research.uniform", "Uniform", "heuristic"),
}
#: the one for problems that compare two options at a time
OF_PAIRS = "pairs"

# around another algorithm, for other measurements than of one option, or for a budget instead of
# a delta: found by name, but not one more algorithm to compare
_WRAPPERS: dict[str, tuple[str, str, str | None]] = {
    OF_PAIRS: ("algorithms.pairs.pairs", "Pairs", None),
    "checked-fit": ("algorithms.wrappers.checked_fit", "CheckedFit", None),
    "od-linbai": ("research.od_linbai", "OdLinBai", None),
    "gse": ("research.gse", "Gse", None),
}
_REGISTERED: dict[str, Any] = {}


def register(name: str, make: Any) -> None:
    """Add an algorithm of your own: ``make(**settings)`` must return an ``Algorithm``.

    Parameters
    ----------
    name
        What to call it.
    make
        Called with settings.

    Examples
    --------
    >>> from surepick.algorithms import Peleg
    >>> register("slow-peleg", lambda delta, **more: Peleg(delta, growth=1.2, **more))
    >>> get("slow-peleg", delta=0.1).growth
    1.2
    """
    if name in (*names(), *_WRAPPERS):
        raise InvalidInputError(f"name: an algorithm called {name!r} already exists")
    _REGISTERED[name] = make


def unregister(name: str) -> None:
    """Forget an algorithm of your own, so that its name is free again."""
    if name not in _REGISTERED:
        raise UnknownNameError.among("algorithm of your own", name, _REGISTERED)
    del _REGISTERED[name]


def names() -> tuple[str, ...]:
    """All registered names, with those of plugins.

    Examples
    --------
    >>> "peleg" in names()
    True
    """
    plugins.load()
    return (*_BUILT_IN, *_REGISTERED)


def maker(name: str) -> Callable[..., Algorithm]:
    """What builds the algorithm registered under ``name``: a class, or one of its constructors."""
    ours = _BUILT_IN | _WRAPPERS
    if name not in ours:
        if name not in _REGISTERED and name not in names():
            raise UnknownNameError.among("algorithm", name, names())
        return _REGISTERED[name]
    module, cls, constructor = ours[name]
    make = getattr(importlib.import_module(f"surepick.{module}"), cls)
    return make if constructor is None else getattr(make, constructor)


def get(name: str, **settings: Any) -> Algorithm:
    """The algorithm registered under ``name``, with these settings.

    Parameters
    ----------
    name
        Of the registry; ``names()`` lists them.
    settings
        Those of the algorithm, such as ``delta``.

    Examples
    --------
    >>> get("peleg", delta=0.1).delta
    0.1
    """
    make, budget = maker(name), settings.pop("budget", None)
    try:
        if budget is not None and settings.get("guess"):  # which needs to know it
            return make(**settings, budget=budget)
        made = make(**settings)
        return made if budget is None else replace(made, budget=budget)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise _unsuitable(name, make, settings, error) from None


def _unsuitable(
    name: str, make: Callable[..., Algorithm], settings: dict[str, Any], error: TypeError
) -> InvalidInputError:
    """Which setting an algorithm does not have, or lacks."""
    known = inspect.signature(make).parameters
    every = [own.name for own in known.values() if own.kind is not own.VAR_KEYWORD]
    strange = [one for one in settings if one not in every]
    if getattr(make, "of_pairs", False):
        for setting in strange:
            combinations.check(setting, "pairs")
    if strange and len(every) == len(known):
        return InvalidInputError(
            f"{name}: it has no setting {strange[0]!r}; it has {listed(every, strange[0])}"
        )
    lacking = [one for one in every if known[one].default is inspect.Parameter.empty]
    lacking = [one for one in lacking if one not in settings]
    due = listed(map(repr, lacking))
    return InvalidInputError(f"{name}: give {due}" if lacking else f"{name}: {error}")


def classes() -> dict[str, tuple[str, str]]:
    """Class name -> (module, class) of the built-in algorithms."""
    return {cls: (module, cls) for module, cls, _ in (_BUILT_IN | _WRAPPERS).values()}
