"""A day, plate or batch that is set aside for all options: bots, a broken tag, a sale.

Everything is worked out again as if it had never been. Why that keeps the guarantee: a purse is a
product over blocks, and what is left of it without some of them is the product over the others,
with stakes worked out from those alone. Whatever it was that pulls and shares were chosen by, each
of these factors is fair given all that came before. So for any blocks that are left out this is a
proper test, as long as which ones they are has nothing to do with rewards:

* Who records it **in advance**, before anything came of the day or plate, cannot have chosen by
  results. Nothing more has to be assumed.
* Who decides **blind**, without having seen results of then or later, says so; the promise says who
  claimed it.
* In all other cases the promise rests on the reason having nothing to do with which option is
  better. Whoever drops the days that his favourite loses finds what he looks for.

It is always for all options, and for good: taken out and put back by turns, as results come in, no
part would be chosen blindly any more. Reports that are set aside are kept; single rewards are
withdrawn, and those of a batch that is open are measured again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from surepick.errors import InvalidInputError, RunStateError, UnknownNameError
from surepick.storage.contract import Transaction
from surepick.storage.records import Link, Period, StudyProgress
from surepick.study.acts.base import Act, Changing, Field, Record, Scene, Step, Who
from surepick.study.acts.options import BATCH, PERIOD
from surepick.study.acts.reports import change_batches
from surepick.study.acts.rewards import ASIDE, ChangeRewards, changes
from surepick.study.acts.rewards import read as read_changes
from surepick.study.pulls import as_name, said_by
from surepick.study.strata import STRATA
from surepick.study.traffic.report import Counts
from surepick.study.traffic.rules import sends_traffic
from surepick.text import plural

IN_ADVANCE, BLIND, AFTERWARDS = "in advance", "blind", "afterwards"
_NAMED = ("period", "stratum", "batch")  # one of these is set aside


@dataclass(frozen=True)
class SetAside(Record):
    """What was set aside for all options.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem.unstructured(["old", "new"], noise="yes-no")
    >>> study = sp.create_study("sale", problem, storage="memory://", traffic=True)
    >>> made = study.set_aside(period="2026-11-27", reason="Black Friday")
    >>> made.decided, made.left_out
    ('in advance', 0)
    """

    of: str  #: "period", "batch", or what strata are called
    name: str  #: of the period or stratum; the number of the batch
    decided: str  #: "in advance", "blind" (whoever did it says so) or "afterwards"
    asked: int  #: periods that had their shares at the time, or the batch that was open
    left_out: int  #: visits or measurements that do not count
    back: int  #: options that are back in, after they had been ruled out
    at: float  #: the database's clock
    by: str | None  #: who did it, if that was said
    reason: str
    token: str | None = None  #: id of the token it was done with; None: on this machine

    @property
    def said(self) -> str:
        """What was done, as a sentence or two."""
        what = "visit" if self.of == PERIOD else "measurement"
        gone = "" if not self.left_out else f": {plural(self.left_out, what)} do not count"
        how = {IN_ADVANCE: ", as recorded in advance", BLIND: ", decided without seeing results"}
        said = f"{self.words} is set aside for all options{gone}{how.get(self.decided, '')}."
        said = said[:1].upper() + said[1:]
        if self.back:
            said += f" {plural(self.back, 'option is', 'options are')} back in."
        return said

    @property
    def words(self) -> str:
        """What it is."""
        return f"{self.of} '{self.name}'"

    def certified(self, periods: Sequence[Period], skipped: Sequence[int]) -> dict[str, Any]:
        """As certificates list it, which do not have the periods of these numbers."""
        own = {name: getattr(self, name) for name in ("of", "name", "decided", "left_out", "at")}
        own |= {"reason": self.reason, "by": said_by(self.by, self.token)}
        if self.of != PERIOD:
            return own
        number = next((one.number for one in periods if one.name == self.name), self.asked)
        # Shares that were stored in between may rest on it.
        ends = (min(number, self.asked), self.asked)
        begin, end = (n - sum(one < n for one in skipped) for n in ends)
        return own | {"from": begin, "asked": end}


def read(tx: Transaction, study: int) -> list[SetAside]:
    """Everything that was set aside, in order."""
    return [of_link(tx, study, link) for link in tx.links(study, [ASIDE])]


def of_link(tx: Transaction, study: int, link: Link) -> SetAside:
    """What a link of the chain is about; how much is left out is what is there now."""
    content = json.loads(link.content)
    begun, left_out = content["begun"], len(content.get("changes", ()))
    if content["of"] == PERIOD:
        period = tx.period_named(study, content["name"])
        # One that runs without a name yet may turn out to be this one.
        running = tx.periods(study, 0, content["asked"]) if period is None else [period]
        begun = any(one.name is None or one == period for one in running)
        begun &= period is None or period.number < content["asked"]
        here = () if period is None else tx.reports(study, period.number, period.number + 1)
        left_out = sum(sum(Counts.from_json(one.content).visits) for one in here)
    decided = IN_ADVANCE if not begun else BLIND if content["blind"] else AFTERWARDS
    before, after = content["left"]
    own = (content["of"], content["name"], decided, content["asked"], left_out)
    who = (content["by"], content["reason"], content["token"])
    return SetAside(*own, max(after - before, 0), link.at, *who)


class _SetAside(Changing):
    change = SetAside
    kind, link = "set-aside", ASIDE
    short = "Set a day, plate or batch aside for all options."
    about = (
        "Set a period, stratum or batch aside for all options: bots, a broken tag, a sale. "
        "Everything is worked out again without it, so a study that has ended may go on; it stays "
        "on record. Name the days of a sale before they begin, and the promise stays as it is; "
        "otherwise it names what it rests on. A period that is set aside need not be recorded. On "
        "a day that is set aside no pulls are handed out. Dropping days because of who won on them "
        "leads to wrong answers. It cannot be undone."
    )
    caution = (
        "Nothing has to be assumed where it was recorded before the day began, or blind where "
        "nobody had seen results. Otherwise the answer holds only if the reason has nothing to do "
        "with which option is better, and says so. It cannot be undone: whoever could take days "
        "out and put them back would choose among results."
    )
    fields = (
        Field("period", str, "Name of a period of visitors, also of one to come.", None),
        Field("stratum", str, "Instead: a day, plate, …, also one to come.", None),
        Field("batch", int, "Instead: the number of a complete batch.", None, {"minimum": 0}),
        Field(
            "blind",
            bool,
            "Whether it was decided without seeing any results of then or later.",
            False,
        ),
    )
    needs_reason = True

    def asks(self, given: Mapping[str, Any]) -> str:
        """Nobody can put it back."""
        what = " and ".join(f"{one} {given[one]}" for one in _NAMED if given.get(one) is not None)
        return what and (
            f"Set {what} aside for all options? Everything is worked out again without it. This "
            "cannot be undone."
        )

    def check(self, scene: Scene, given: dict[str, Any]) -> dict[str, Any]:
        given = self.filled(given)
        named = [name for name in _NAMED if given[name] is not None]
        if len(named) != 1:
            raise InvalidInputError("give one of these: a period, a stratum, or a batch")
        (what,) = named
        traffic, strata = sends_traffic(scene.record), json.loads(scene.record.meta).get(STRATA)
        if traffic != (what == "period"):
            due = "a period" if traffic else "a batch" if strata is None else "a stratum or a batch"
            raise InvalidInputError(f"{what}: in this study {due} can be set aside")
        if what == "stratum" and strata is None:
            raise InvalidInputError(
                "stratum: this study has none; give the number of a batch (surepick export --what "
                "measurements lists them)"
            )
        name = str(given["batch"]) if what == "batch" else as_name(given[what], what)
        of = strata if what == "stratum" else what
        return {"of": of, "name": name, "blind": given["blind"]}

    def apply(self, scene: Scene, given: dict[str, Any], who: Who) -> Step | Act | None:
        """Leave it out; the same act again (its answer was lost, perhaps) changes nothing."""
        for one in scene.storage.read(lambda tx: read(tx, scene.record.id)):
            if (one.of, one.name) == (given["of"], given["name"]):
                return self.done(one.to_dict(), Who(one.reason, one.by, one.token), one.at)
        said = given | {"by": who.by, "reason": who.reason, "token": who.token}
        return (self._period if given["of"] == PERIOD else self._pulls)(scene, said)

    def _period(self, scene: Scene, said: dict[str, Any]) -> Step:
        study, name, (run, at) = scene.record.id, said["name"], scene.run()
        periods, reports = scene.storage.read(lambda tx: (tx.periods(study), tx.reports(study)))
        due = next((one for one in periods if one.name == name), None)
        left = run.state.left()
        said |= {"asked": len(periods), "begun": None, "left": [left, left]}

        def same(tx: Transaction) -> bool:
            names = [(one.number, one.name) for one in tx.periods(study)]
            return names == [(one.number, one.name) for one in periods]

        if due is None or due.number >= at.batch:  # nothing was reported of it
            if at.finished:
                raise RunStateError(f"the study is finished: period {name!r} does not count")
            return Step(at, said, None, at.finished, False, same=same)
        again, survivors = scene.rereported(reports, [name])
        said["left"][1] = again.state.left()

        def write(tx: Transaction, now: StudyProgress) -> StudyProgress:
            first = change_batches(tx, study, due.number, reports, again, survivors)
            return replace(now, first=first)

        return Step(at, said, again, again.stopped, more=write, same=same)

    def _pulls(self, scene: Scene, said: dict[str, Any]) -> Step:
        (run, at), name, batch = scene.run(), said["name"], said["of"] == BATCH
        left = run.state.left()
        said |= {"asked": at.batch, "begun": batch, "left": [left, left], "changes": []}
        if batch:
            number = int(name)
            if number >= at.batch:
                raise UnknownNameError(
                    f"batch {number} is not complete (there are {at.batch}); what is told of it "
                    "can be withdrawn one by one"
                )
            kept = scene.storage.read(lambda tx: tx.batch(scene.record.id, number))
            assert kept is not None
            pulls = range(kept.first, kept.first + kept.size)
            gone = [one.pull for one in scene.told() if one.pull in pulls]
        else:
            told = list(scene.told())
            gone = [one.pull for one in told if one.stratum == name]
            pulls = range(at.first, at.last)  # that are out, or were handed out and failed
            out = scene.storage.read(lambda tx: tx.leases(scene.record.id, pulls)).values()
            said["begun"] = bool(gone) or any(one.stratum == name for one in out)
        if not gone:
            return Step(at, said, None, at.finished, False, same=lambda tx: True)
        measured = scene.measured(gone)
        earlier = scene.storage.read(lambda tx: read_changes(tx, scene.record.id))
        who = Who(said["reason"], said["by"], said["token"])
        made, _ = changes(measured, earlier, dict.fromkeys(gone), who, None)
        del said["changes"]
        step = _REWARDS.changed(scene, measured, made, said)
        if step.run is not None:
            said["left"][1] = step.run.state.left()
        return step

    def act(self, link: Link, scene: Scene) -> Act:
        """What a link is about, with how much is left out by now."""
        made = scene.storage.read(lambda tx: of_link(tx, scene.record.id, link))
        return self.done(made.to_dict(), Who(made.reason, made.by, made.token), made.at)


_REWARDS, SET_ASIDE = ChangeRewards(), _SetAside()
