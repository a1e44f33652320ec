"""What a promise may rest on beside its model: every condition that a run can come to, by its name.

A condition is a value: its name, what has to be said with it (its fields), the exact words that
certificates hold, and plain ones. Some follow from the record itself (options came, batches
overlapped). The others nobody can see from a record; whoever knows says so::

    run.rest_on("lost", pulls=3)

They are data, kept with the saved run and in its certificate (``"conditions": [{"name": "lost",
"pulls": 3}]``), and every rendering of the promise says them. The verifier has the same list by
code of its own (:mod:`surepick.verifier.conditions`). Whoever adds one to the one adds it to the
other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surepick.errors import FormatError, InvalidInputError, UnknownNameError, listed
from surepick.promise import Condition
from surepick.text import plural

_LONGEST = 200  # characters of a field that is a text


@dataclass(frozen=True)
class ConditionKind:
    """A condition that a run may state, with its fields in braces where the words need them."""

    name: str
    exact: str
    plain: str | None = None  #: after "This holds …"; None: the exact words, with "if"
    meaning: str = ""  #: beside that or instead of it, a sentence of its own
    happened: str = ""  #: what it is about, if that is nothing that every study has
    fields: tuple[str, ...] = ()  #: what has to be said with it: texts and numbers

    def of(self, **fields: Any) -> Condition:
        """The condition with these fields.

        Examples
        --------
        >>> CONDITIONS["past"].of()
        'provided that what was measured in the past did not depend on rewards'
        """
        if set(fields) != set(self.fields):
            due = ", ".join(self.fields) or "no fields"
            raise InvalidInputError(f"condition {self.name!r} takes {due}; got {sorted(fields)}")
        shown = {name: _shown(self.name, name, value) for name, value in fields.items()}
        plain = None if self.plain is None else self.plain.format(**shown)
        own = (self.exact.format(**shown), plain, self.meaning.format(**shown))
        return Condition(*own, {"name": self.name, **fields}, self.happened)


def _shown(condition: str, name: str, value: Any) -> str:
    """A field as it is said."""
    if isinstance(value, str) and value.strip() and len(value) <= _LONGEST:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return str(value) if isinstance(value, int) else f"{value:.12g}"
    raise InvalidInputError(
        f"condition {condition!r}: {name} must be a number or a text of up to {_LONGEST} "
        f"characters; got {value!r:.80}"
    )


#: what becomes of an error probability where not one run is looked at, but the best of several
REPEATED = "choosing among several studies, or repeating one until it fits, multiplies the risk"
_DAY, _HOUR = 86_400, 3_600


def duration(seconds: float) -> str:
    """A time as people say it, without losing any of it.

    Examples
    --------
    >>> duration(604800), duration(5400), duration(7200)
    ('7 days', '5400 seconds', '2 hours')
    """
    for size, unit in ((_DAY, "day"), (_HOUR, "hour")):
        if seconds % size == 0:
            return plural(int(seconds // size), unit)
    return f"{seconds:.12g} seconds"


# -- what follows from the record ------------------------------------------------------------
_RECORDED = (
    # Of everything that is not certain.
    ConditionKind(
        "alone",
        "for this run: choosing among several, or running again until it is so, multiplies the "
        "probability of an error",
        meaning=f"{REPEATED[:1].upper()}{REPEATED[1:]}.",
    ),
    # Of all but complete tables, whose cells are measured once, and visitors.
    ConditionKind(
        "afresh",
        "provided that every measurement is drawn afresh, and none just repeats an earlier one",
        "if every measurement is drawn afresh (measuring again does not just repeat an earlier "
        "result)",
    ),
    ConditionKind(
        "past",
        "provided that what was measured in the past did not depend on rewards",
        "if the past measurements were chosen without looking at results",
        happened="past measurements",
    ),
    ConditionKind(
        "strata",
        "provided that the stratum a pull belongs to did not depend on rewards",
        "if nobody chose the day, plate, … of a measurement because of results",
        happened="strata",
    ),
    ConditionKind(
        "overlap",
        "provided that measurements do not depend on each other, as batches overlapped",
        happened="batches that overlapped",
    ),
    ConditionKind(
        "changed",
        "provided that which rewards were looked at again, and then corrected or withdrawn, "
        "depended neither on the rewards nor on whom one favours",
        "if nobody chose which measurements to check and change because of their results or a "
        "favourite option",
        happened="results that were corrected or withdrawn",
    ),
    ConditionKind(
        "came-and-went",
        "among all options that were ever added and not retired",
        meaning="“Best” means best among all options that were ever added and not retired.",
        happened="options that came or went",
    ),
    # Days, plates or batches do not count, for any option.
    ConditionKind(
        "aside",
        "provided that the reason for setting aside {what} has nothing to do with which option is "
        "better",
        happened="something that was set aside",
        fields=("what",),
    ),
    ConditionKind(
        "aside-blind",
        "provided that it was decided without seeing any results of then or later to set aside "
        "{what} (claimed by {who})",
        "if it was decided without seeing any results of then or later to set aside {what} (this "
        "is what {who} said)",
        happened="something that was set aside",
        fields=("what", "who"),
    ),
    ConditionKind(
        "aside-in-advance",
        "with {what} left out, as recorded in advance",
        plain="",
        meaning="Left out, as recorded in advance: {what}.",
        happened="something that was set aside",
        fields=("what",),
    ),
    # Visitors of a site: what is counted, and when.
    ConditionKind(
        "visitors",
        "provided that each visitor is counted once, in the period of the visit with all responses "
        "to it, and responds independently of all others",
        "if each visitor is counted once, responses count in the period in which their visitor "
        "came, and visitors respond independently of each other",
    ),
    ConditionKind(
        "sent",
        "provided that visitors were sent at random by the shares of their period, and that no "
        "period ended, and nobody was left out of its report, because of results",
        "if visitors were sent at random by the shares, and no period ended, and nobody was left "
        "out of its report, because of how it looked",
    ),
    ConditionKind(
        "until-reported",
        "where a response counts if it had come when the period of its visitor was reported",
        meaning="A response counts if it had come when the period of its visitor was reported.",
    ),
    ConditionKind(
        "in-window",
        "where a response counts if it came within the {window} that visitors have for it",
        meaning="A response counts if it came within the {window} that visitors have for it.",
        fields=("window",),
    ),
    # Reports of visitors are compared period by period.
    ConditionKind(
        "leads",
        "provided that which of two options is better does not change from period to period",
    ),
    # Where it counts, too, by how much.
    ConditionKind(
        "gaps",
        "provided that which of two options is better, and whether by more than what is close "
        "enough, does not change from period to period",
    ),
    # Where they are compared with a number, and not with each other.
    ConditionKind(
        "sides",
        "provided that which options are better than the number, and which are worse, does not "
        "change from period to period",
    ),
    # The same where they have to keep limits.
    ConditionKind(
        "keeps",
        "provided that which options keep the limits does not change from period to period",
    ),
    # Cells of a finite table; the answer lists them, with the reason of each.
    ConditionKind(
        "unmeasured",
        "where a cell that could not be measured counts as the worst score ({cells} of them)",
        plain="",
        happened="cells that could not be measured",
        fields=("cells",),
    ),
    # Where a report was dealt into two after it came in.
    ConditionKind(
        "one-rate",
        "provided that visitors of an option respond independently of each other and at one rate "
        "within the first period, as its report was dealt into two",
        "if visitors of a version respond independently of each other, and all at one rate within "
        "the first period",
        happened="a report that was dealt into two",
    ),
)
# -- what only those know who measured -------------------------------------------------------
_STATED = (
    # The first of two rewards of a pull counts.
    ConditionKind(
        "hedged",
        "provided that how long a measurement takes does not depend on its reward, as some pulls "
        "were handed out twice",
        happened="measurements that were handed out twice",
        fields=("pulls",),
    ),
    # Measurements were made again for want of a reward.
    ConditionKind(
        "lost",
        "provided that whether a measurement fails or comes too late does not depend on its "
        "reward, as some were made again",
        "if measurements fail, or come too late, for reasons that have nothing to do with their "
        "results (some were made again)",
        happened="measurements that failed or came too late",
        fields=("pulls",),
    ),
    # Comparisons come from a file; those of one that grows have an order that is kept.
    ConditionKind(
        "file",
        "provided that what is in the file ({comparisons} comparisons) did not depend on results, "
        "and that it was not asked before with fewer",
        fields=("comparisons",),
    ),
    ConditionKind(
        "growing-file",
        "provided that which comparisons the file has ({comparisons}) did not depend on results",
        fields=("comparisons",),
    ),
    # A worker that came back under its name was handed out again what it had not told.
    ConditionKind(
        "renewed",
        "provided that nothing was measured again because of its reward, as some pulls were handed "
        "out again to the worker who had them",
        "if nothing was measured again because of its result (some measurements were handed out "
        "again to the worker who had them)",
        happened="measurements that were handed out again",
        fields=("pulls",),
    ),
    # Readings were measured again by a rule.
    ConditionKind(
        "again",
        "provided that a measurement which went well is hardly ever measured again, as some were "
        "that came out far from all before, by a rule fixed at the start, and the second counts",
        "if valid measurements were hardly ever repeated (some readings far from all earlier ones "
        "were, and the second one counts)",
        happened="readings that were measured again",
        fields=("pulls",),
    ),
    # Scores of an earlier program were taken on, as somebody said that they are the same.
    ConditionKind(
        "edited",
        "provided that changes of the program that measures have changed no score, as scores of "
        "before and after count",
        "if changes of the program that measures have changed no score (those of before and after "
        "count)",
        happened="scores of a program that was changed",
    ),
    # Items are not drawn from anything: they are all splits of the same rows.
    ConditionKind(
        "splits",
        "where items are splits of one data set, and nothing is said of other data",
        plain="",
        meaning="Items are splits of one data set: nothing is said of new data.",
        happened="items that are splits of one data set",
    ),
    # Runs that hung were ended.
    ConditionKind(
        "hung",
        "where a run that did not end in its time counts as slower than all that did, as {runs} of "
        "them were ended",
        plain="",
        meaning="A run that did not end in its time ({runs} of them were ended) counts as slower "
        "than all that did.",
        happened="runs that were ended",
        fields=("runs",),
    ),
    # Something was timed run by run.
    ConditionKind("apart", "provided that a run does not change how long the next one takes"),
)
#: all of them, by their names
CONDITIONS = {one.name: one for one in (*_RECORDED, *_STATED)}
_MAY_BE_STATED = {one.name: one for one in _STATED}


def stated(name: str, **fields: Any) -> Condition:
    """A condition that only those know who measured.

    Examples
    --------
    >>> stated("hedged", pulls=2).stated
    {'name': 'hedged', 'pulls': 2}
    """
    if name not in _MAY_BE_STATED:
        raise UnknownNameError(f"condition {name!r}: a run can state {listed(_MAY_BE_STATED)}")
    return _MAY_BE_STATED[name].of(**fields)


#: how it was decided to set something aside, and the condition that stands for it
ASIDE = {"in advance": "aside-in-advance", "blind": "aside-blind", "afterwards": "aside"}


def aside(entries: Sequence[Mapping[str, Any]]) -> list[Condition]:
    """What a promise rests on where these were set aside, as certificates list them.

    Examples
    --------
    >>> one = {"of": "period", "name": "monday", "decided": "in advance", "by": None}
    >>> aside([one, one | {"name": "tuesday"}])
    ["with period 'monday', period 'tuesday' left out, as recorded in advance"]
    """
    found = []
    for decided, name in ASIDE.items():
        some = [one for one in entries if one["decided"] == decided]
        if some:
            what = ", ".join(f"{one['of']} '{one['name']}'" for one in some)
            who = dict.fromkeys("somebody" if one["by"] is None else one["by"] for one in some)
            said = {"what": _short(what, f"{len(some)} × {some[0]['of']}")}
            said["who"] = _short(", ".join(who), f"{len(who)} people")
            kind = CONDITIONS[name]
            found.append(kind.of(**{field: said[field] for field in kind.fields}))
    return found


def _short(text: str, otherwise: str) -> str:
    return text if len(text) <= _LONGEST else otherwise


def read_stated(saved: Any) -> tuple[Condition, ...]:
    """Conditions of a file, as :func:`written` wrote them."""
    found = []
    for one in saved:
        if not isinstance(one, Mapping) or not isinstance(one.get("name"), str):
            raise FormatError(f"a condition must be an object with a name; got {one!r:.80}")
        found.append(stated(**one))
    return tuple(found)


def written(conditions: Iterable[Condition]) -> list[dict[str, Any]]:
    """Conditions as files have them."""
    return [dict(one.stated) for one in conditions]


def joined(*several: Iterable[Condition]) -> tuple[Condition, ...]:
    """All of these, each once, in the order in which they were first said."""
    return tuple({str(one): one for some in several for one in some}.values())
