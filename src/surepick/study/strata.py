"""Strata of a study: the day, plate, operator, … that a pull belongs to, stamped when it is handed
out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from surepick.algorithms.registry import DEFAULT
from surepick.errors import InvalidInputError
from surepick.run.rewards import stratum_name
from surepick.study.pulls import as_name
from surepick.study.settings import Prepared, Setting

STRATA = "strata"  #: what a study's notes call them
DAY = "day"  #: strata of this name are stamped by the clock of the database


def check_stratum(strata: str | None, given: Any) -> str | None:
    """The stratum that an ask names, or an error where these strata need another word."""
    if strata is None:
        if given is not None:
            raise InvalidInputError(
                "stratum: this study does not compare within strata, so leave it out (to create a "
                "study that does: strata='day', --strata day)"
            )
        return None
    if given is None:
        if strata == DAY:
            return None
        raise InvalidInputError(
            f"stratum: this study compares within each {strata}, so say which one the pulls are "
            f"for: ask(stratum=…), --stratum"
        )
    return stratum_name(given, "stratum")


def stamp(strata: str | None, given: str | None, now: float) -> str | None:
    """What is stamped on a pull that is handed out now; days are those of UTC."""
    if strata is None or given is not None:
        return given
    return datetime.fromtimestamp(now, UTC).date().isoformat()


def _allowed(strata: str, made: Prepared) -> Prepared:
    """Refuse them where options cannot be compared within each."""
    if not made.algorithm.takes_strata(made.problem):
        raise InvalidInputError(
            f"strata: {made.algorithm.registered_name()} cannot compare these options within "
            f"a {strata}; use {DEFAULT} without check_fit, and features with an intercept "
            f"or with misfit=inf"
        )
    return made


SETTING = Setting(
    help="Compare within each day, plate, operator, …, so that differences between them cancel "
    "out. The day is set when a pull is handed out; for other strata, name the current one when "
    "you ask (`stratum`).",
    schema={"type": "string"},
    check=lambda strata: as_name(strata, STRATA),
    apply=_allowed,
    words=lambda strata: f"Options are compared within each {strata}.",
    question="Compare within each",
    hint="Such as day, plate or operator: options are compared within each one, so differences "
    "between them cancel out. Empty: none.",
    empty="none",
    pairs=False,
)
