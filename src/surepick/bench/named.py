"""Instances by name: ``standard:gap=0.3``, ``confounding:d=6,omega=0.1,scale=2``, ...

The parameters are those of the functions in :mod:`surepick.simulate.instances`,
:mod:`surepick.simulate.families` and :mod:`surepick.simulate.published`. Where a family draws its
arms, ``rng`` is the seed, or ``rng=trial``: new arms for every trial, the same ones for every
algorithm and every delta.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from surepick import plugins
from surepick.errors import InvalidInputError, SurepickError, UnknownNameError
from surepick.simulate import families, instances, published
from surepick.simulate.instance import Instance
from surepick.text import parse, write

EACH_TRIAL = "trial"

_FAMILIES: dict[str, Callable[..., Instance]] = {
    "standard": instances.standard,
    "unit_sphere": instances.unit_sphere,
    "confounding": instances.confounding,
    "gaussian": families.gaussian,
    "nearly_tied": families.nearly_tied,
    "probes": families.probes,
    "factorial": families.factorial,
    "wines": families.wines,
    "many_arms": published.many_arms,
    "transductive": published.transductive,
    "end_of_optimism": published.end_of_optimism,
    "random_features": published.random_features,
    "drugs": published.drugs,
}


@dataclass(frozen=True)
class Named:
    """An instance, or one for each trial, that can be built anywhere.

    Examples
    --------
    >>> instance_named("unit_sphere:d=10,rng=trial").each_trial
    True
    """

    text: str  #: as given, tidied
    key: str  #: every parameter spelled out: equal for equal instances
    make: Callable[..., Instance]
    parameters: Mapping[str, Any]

    @property
    def each_trial(self) -> bool:
        """Whether every trial has its own instance."""
        return self.parameters.get("rng") == EACH_TRIAL

    def build(self, seeds: Any = None) -> Instance:
        """The instance; ``seeds`` is used only where every trial has its own."""
        if not self.each_trial:
            return self.make(**self.parameters)
        return self.make(**{**self.parameters, "rng": seeds})


def family_names() -> tuple[str, ...]:
    """Families of instances that can be named.

    Examples
    --------
    >>> "confounding" in family_names()
    True
    """
    plugins.load()
    return tuple(_FAMILIES)


def register_family(name: str, make: Callable[..., Instance]) -> None:
    """Add a family of your own: ``make(**parameters)`` must return an ``Instance``.

    Parameters
    ----------
    name
        What to call it.
    make
        Called with the parameters that follow the name.

    Examples
    --------
    >>> register_family("wide", lambda d: instances.standard(0.5, d=d))
    >>> build_instance("wide:d=9").problem.n_arms
    9
    """
    if name in _FAMILIES:
        raise InvalidInputError(f"name: a family of instances called {name!r} already exists")
    _FAMILIES[name] = make


def unregister_family(name: str) -> None:
    """Forget a family of your own, so that its name is free again."""
    if name not in _FAMILIES:
        raise UnknownNameError.among("family of instances", name, _FAMILIES)
    del _FAMILIES[name]


def instance_named(text: str) -> Named:
    """The instance that ``text`` names.

    Parameters
    ----------
    text
        Name of a family, with parameters after a colon.

    Examples
    --------
    >>> instance_named("confounding:d=6,scale=2").build().problem.n_arms
    7
    """
    family, given = parse(text, "instance")
    if family not in _FAMILIES and family not in family_names():
        raise UnknownNameError.among("instance", family, _FAMILIES)
    make = _FAMILIES[family]
    known = inspect.signature(make).parameters
    for name in given:
        if name not in known:
            raise UnknownNameError.among(f"parameter of {family}", name, known)
    missing = [n for n, p in known.items() if p.default is p.empty and n not in given]
    if missing:
        raise InvalidInputError(
            f"instance {text!r} lacks {', '.join(missing)}; write for example "
            f"{write(family, [*given.items(), (missing[0], '...')])}"
        )
    everything = {n: given.get(n, p.default) for n, p in known.items()}
    found = Named(
        text=write(family, [(n, given[n]) for n in known if n in given]),
        key=write(family, everything.items()),
        make=make,
        parameters={n: given[n] for n in known if n in given},
    )
    _try(found, text)
    return found


def build_instance(text: str, rng: Any = None) -> Instance:
    """The instance that ``text`` names; ``rng`` replaces its own, where the family draws.

    Parameters
    ----------
    text
        Name of a family, with parameters after a colon.
    rng
        Seed, or generator.

    Examples
    --------
    >>> build_instance("standard:gap=0.3,d=4").problem.n_arms
    4
    """
    found = instance_named(text)
    if rng is None or "rng" not in inspect.signature(found.make).parameters:
        return found.build(seeds=0 if rng is None else rng)
    return found.make(**{**found.parameters, "rng": rng})


def _try(found: Named, text: str) -> None:
    """Build it once, so that bad parameters are refused now and not in the middle of a run."""
    try:
        instance = found.build(seeds=0)
    except SurepickError as error:
        raise InvalidInputError(f"instance {text!r}: {error}") from None
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"instance {text!r}: {error}") from None
    if not isinstance(instance, Instance):
        raise InvalidInputError(f"instance {text!r}: its family did not build an Instance")
