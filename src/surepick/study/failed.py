"""What becomes of a cell of a finite table that cannot be measured, as a study was told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from surepick.calls.rule import COUNTS, Counts, as_rule
from surepick.errors import InvalidInputError
from surepick.study.settings import Prepared, Setting

#: what a study's notes call the rule
FAILED = "failed"
#: reasons of those that were handed back without having been tried
INTERRUPTED = "interrupted"
ENDED = "the process of the worker has ended"
UNTRIED = (INTERRUPTED, ENDED)


def rule_of(meta: Mapping[str, Any]) -> Counts:
    """The rule of a study with these notes."""
    return cast(Counts, meta.get(FAILED, COUNTS[0]))


def _allowed(failed: Counts, made: Prepared) -> Prepared:
    """Refuse it where there are no cells."""
    if made.algorithm.worst_score(made.problem) is None:
        raise InvalidInputError(
            "failed: only where a finite table is filled in (complete) is there a rule for what "
            "cannot be measured; elsewhere it is tried again. Leave it out"
        )
    return made


SETTING = Setting(
    help="What a cell of a complete table counts as that cannot be measured, however often it is "
    "tried. 'lowest': the lowest score; an item on which every option fails is then a tie of all, "
    "and decides nothing. 'later': nothing; the study does not end before it is measured.",
    schema={"type": "string", "enum": list(COUNTS)},
    default=COUNTS[0],
    check=as_rule,
    apply=_allowed,
    question="A measurement that cannot be made",
    hint="For example, a question that a model refuses. If every option fails on a question, it "
    "is a tie of all.",
    choices=(("lowest", "Counts as the lowest score"), ("later", "Stays open until it is made")),
)
