"""What a certificate may rest on beside its model: every condition by its name, and its sentence.

Some follow from the record. The others no certificate can show (whether a measurement that failed
would have been a bad one): it lists them, by name and with what has to be said with them, and each
of them is part of the statement. So none can be left out of the one or of the other, nor any be
listed twice or with other fields than it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surepick.verifier import exact
from surepick.verifier.check import Check

ALONE = (
    "for this run: choosing among several, or running again until it is so, multiplies the "
    "probability of an error"
)
AFRESH = "provided that every measurement is drawn afresh, and none just repeats an earlier one"
VISITORS = (
    "provided that each visitor is counted once, in the period of the visit with all responses to "
    "it, and responds independently of all others"
)
SENT = (
    "provided that visitors were sent at random by the shares of their period, and that no period "
    "ended, and nobody was left out of its report, because of results"
)
UNTIL_REPORTED = (
    "where a response counts if it had come when the period of its visitor was reported"
)
IN_WINDOW = "where a response counts if it came within the {window} that visitors have for it"
PAST = "provided that what was measured in the past did not depend on rewards"
STRATA = "provided that the stratum a pull belongs to did not depend on rewards"
OVERLAP = "provided that measurements do not depend on each other, as batches overlapped"
CHANGED = (
    "provided that which rewards were looked at again, and then corrected or withdrawn, depended "
    "neither on the rewards nor on whom one favours"
)
TURNED = "among all options that were ever added and not retired"
LEADS = "provided that which of two options is better does not change from period to period"
GAPS = (
    "provided that which of two options is better, and whether by more than what is close enough, "
    "does not change from period to period"
)
SIDES = (
    "provided that which options are better than the number, and which are worse, does not change "
    "from period to period"
)
KEEPS = "provided that which options keep the limits does not change from period to period"
ASIDE = (
    "provided that the reason for setting aside {what} has nothing to do with which option is "
    "better"
)
ASIDE_BLIND = (
    "provided that it was decided without seeing any results of then or later to set aside {what} "
    "(claimed by {who})"
)
ASIDE_IN_ADVANCE = "with {what} left out, as recorded in advance"
UNMEASURED = "where a cell that could not be measured counts as the worst score ({cells} of them)"
ONE_RATE = (
    "provided that visitors of an option respond independently of each other and at one rate "
    "within the first period, as its report was dealt into two"
)


def _count(value: Any, what: str) -> str:
    """A whole number of something that there is."""
    found = exact.whole(value, what)
    if found < 1:
        exact.refuse(f"{what} is {found}: there are none, and it says so much of them")
    return str(found)


def _text(value: Any, what: str) -> str:
    """Words of somebody's own."""
    found = exact.text(value, what)
    if not found.strip() or len(found) > 200:
        exact.refuse(f"{what} is no text of up to 200 characters")
    return found


def _number(value: Any, what: str) -> str:
    return str(value) if type(value) is int else f"{exact.number(value, what):.12g}"


#: what may be listed: its sentence, and how its fields are read
_MAY_BE_STATED: dict[str, tuple[str, dict[str, Callable[[Any, str], str]]]] = {
    "hedged": (
        "provided that how long a measurement takes does not depend on its reward, as some pulls "
        "were handed out twice",
        {"pulls": _count},
    ),
    "lost": (
        "provided that whether a measurement fails or comes too late does not depend on its "
        "reward, as some were made again",
        {"pulls": _count},
    ),
    "file": (
        "provided that what is in the file ({comparisons} comparisons) did not depend on results, "
        "and that it was not asked before with fewer",
        {"comparisons": _count},
    ),
    "growing-file": (
        "provided that which comparisons the file has ({comparisons}) did not depend on results",
        {"comparisons": _count},
    ),
    "renewed": (
        "provided that nothing was measured again because of its reward, as some pulls were handed "
        "out again to the worker who had them",
        {"pulls": _count},
    ),
    "again": (
        "provided that a measurement which went well is hardly ever measured again, as some were "
        "that came out far from all before, by a rule fixed at the start, and the second counts",
        {"pulls": _count},
    ),
    "edited": (
        "provided that changes of the program that measures have changed no score, as scores of "
        "before and after count",
        {},
    ),
    "splits": ("where items are splits of one data set, and nothing is said of other data", {}),
    "hung": (
        "where a run that did not end in its time counts as slower than all that did, as {runs} of "
        "them were ended",
        {"runs": _count},
    ),
    "apart": ("provided that a run does not change how long the next one takes", {}),
}

#: names of all their fields
FIELDS = frozenset(field for _, fields in _MAY_BE_STATED.values() for field in fields)


def of_visitors(window: float | None, steady: str = LEADS) -> list[str]:
    """What every answer from reports of visitors rests on: who is counted, and which responses.

    ``steady`` is what must not change from period to period.
    """
    if window is None:
        return [VISITORS, SENT, UNTIL_REPORTED, steady]
    exact.demand(window > 0, "the time that visitors have to respond is none")
    said = f"{window:.12g} seconds"
    for size, unit in ((3600, "hour"), (86400, "day")):
        if window % size == 0:
            many = int(window // size)
            said = f"{many:,} {unit}{'' if many == 1 else 's'}"
    return [VISITORS, SENT, IN_WINDOW.format(window=said), steady]


def stated_in(check: Check) -> list[str]:
    """The sentences of the conditions that a certificate lists."""
    found = [_sentence(check, one) for one in check.record.conditions]
    check.demand(len(set(found)) == len(found), "it lists a condition twice")
    return found


def _sentence(check: Check, one: dict[str, Any]) -> str:
    name = exact.text(one.get("name"), "the name of a condition")
    check.demand(
        name in _MAY_BE_STATED,
        f"it rests on a condition that is not known here, {name!r:.80}: upgrade surepick",
    )
    sentence, fields = _MAY_BE_STATED[name]
    check.demand(
        one.keys() == {"name", *fields}, f"its condition {name!r} does not say what it has to"
    )
    said = {field: read(one[field], f"{name}: {field}") for field, read in fields.items()}
    return sentence.format(**said)
