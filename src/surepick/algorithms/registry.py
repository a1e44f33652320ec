"""Names of algorithms: the one place that knows them all."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from surepick import plugins
from surepick.algorithms.base import Algorithm
from surepick.errors import InvalidInputError, UnknownNameError

#: the algorithm that is used where none is named
DEFAULT = "pooled-peleg"

# name -> (module, class, constructor or None): modules load when their name is first used
_BUILT_IN: dict[str, tuple[str, str, str | None]] = {
    "peleg": ("phases.peleg", "Peleg", None),
    "peleg-paper": ("phases.peleg", "Peleg", "paper"),
    "peleg-adahedge": ("phases.peleg", "Peleg", "adahedge"),
    "pooled-peleg": ("pooled.peleg", "PooledPeleg", None),
    "rage": ("phases.rage", "Rage", None),
    "lingape": ("ellipsoid.lingape", "LinGapE", None),
    "lingape-greedy": ("ellipsoid.lingape", "LinGapE", "greedy"),
    "xy-static": ("static.xy_static", "XYStatic", None),
    "xy-adaptive": ("phases.xy_adaptive", "XYAdaptive", None),
    "xy-oracle": ("static.xy_oracle", "XYOracle", None),
    "alba": ("alba", "Alba", None),
    "lucb": ("lucb", "Lucb", None),
    "glucb": ("ellipsoid.glucb", "Glucb", None),
    "lingame": ("glr.lingame", "LinGame", None),
    "lingame-c": ("glr.lingame", "LinGameC", None),
    "lazy-ts": ("glr.lazy_ts", "LazyTrackAndStop", None),
    "fws": ("glr.fws", "FrankWolfeSampling", None),
    "uniform": ("glr.uniform", "Uniform", None),
    "lingame-heuristic": ("glr.lingame", "LinGame", "heuristic"),
    "lingame-c-heuristic": ("glr.lingame", "LinGameC", "heuristic"),
    "lazy-ts-heuristic": ("glr.lazy_ts", "LazyTrackAndStop", "heuristic"),
    "fws-heuristic": ("glr.fws", "FrankWolfeSampling", "heuristic"),
    "uniform-heuristic": ("glr.uniform", "Uniform", "heuristic"),
}
#: the one for problems that compare two options at a time
OF_PAIRS = "pairs"

# around another algorithm, or for other measurements than of one option: found by name, but not
# one more algorithm to compare
_WRAPPERS: dict[str, tuple[str, str, str | None]] = {
    OF_PAIRS: ("pairs.pairs", "Pairs", None),
    "checked-fit": ("wrappers.checked_fit", "CheckedFit", None),
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
    make = getattr(importlib.import_module(f"surepick.algorithms.{module}"), cls)
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
        raise InvalidInputError(f"{name}: {error}") from None


def classes() -> dict[str, tuple[str, str]]:
    """Class name -> (module, class) of the built-in algorithms."""
    return {cls: (module, cls) for module, cls, _ in (_BUILT_IN | _WRAPPERS).values()}
