"""Rewards that turn out to be wrong: corrected, or withdrawn.

As long as its batch is open, a reward is simply replaced; one that is withdrawn is measured again.
Further numbers of a measurement are corrected one by one, and withdrawn and brought back with it.
Once it has been counted, everything is worked out again from the log: every batch as it was asked
for, with the rewards that count now. A batch may then have fewer pulls than were asked for; bets on
it are made on what is left.

Why that keeps the guarantee: bets need pulls, rivals and stakes that are fixed before a block's
rewards are seen, and rewards whose noise is centred given all that. Rivals and stakes are worked
out again from the earlier blocks as they now are; the pulls are those that were asked for. If which
rewards are looked at again has nothing to do with them (nor with whom somebody favours), what
counts now is as good a measurement as any other, and what was withdrawn is missing at random.

A link says for every pull what was told, and what counts instead (nothing, where it was withdrawn).
What counts now is in the log of tells.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surepick.arrays.validate import real
from surepick.errors import InvalidInputError, NotAllowedError, UnknownPullError
from surepick.storage.contract import Transaction
from surepick.storage.records import Lease, Link, StudyProgress, Tell
from surepick.study.acts.base import Act, ActKind, Field, Measured, Record, Scene, Step, Who
from surepick.study.pulls import as_pull, said_by

CORRECTED, WITHDRAWN = "corrected", "withdrawn"
ASIDE = "set aside"  # with all of its day, plate or batch: see :mod:`surepick.study.acts.aside`
KINDS = (CORRECTED, WITHDRAWN, ASIDE)


@dataclass(frozen=True)
class Change(Record):
    """What became of a reward, or of a further number, after it was told.

    Examples
    --------
    >>> import surepick as sp
    >>> study = sp.create_study("changed", sp.Problem([[1.0], [2.0]]), storage="memory://")
    >>> (pull,) = study.ask()
    >>> _ = study.tell(pull.id, 42.0)
    >>> change = study.correct(pull.id, 4.2, reason="the point was forgotten")
    >>> change.old, change.new, change.counted
    (42.0, 4.2, False)
    """

    pull: int
    arm: int
    batch: int  #: the batch that the pull belongs to
    asked: int  #: the batch that was open, and so the last that was asked for, at the time
    old: float | None  #: the reward before; None: it had been withdrawn
    new: float | None  #: the reward that counts from now on; None: it was withdrawn
    at: float  #: the database's clock
    by: str | None  #: who changed it, if that was said
    reason: str
    token: str | None = None  #: id of the token it was changed with; None: on this machine
    stratum: str | None = None  #: the day, plate, … of the pull
    number: str | None = None  #: the further number that it is about; None: the reward
    numbers: str | None = None  #: all further numbers as they are from now on, as JSON
    aside: int | None = None  #: with which of all things that were set aside; None: by itself

    @property
    def counted(self) -> bool:
        """Whether its batch was complete: then everything was worked out again."""
        return self.batch < self.asked

    @property
    def said(self) -> str:
        """What was done, as a sentence."""
        return self.in_words()

    def in_words(self, label: str | None = None) -> str:
        """What was done, as a sentence, which may name the option."""
        pull = f"Measurement {self.pull}" if label is None else f"Measurement {self.pull} ({label})"
        pull += f", {self.number}" if self.number is not None else ""
        if self.new is not None:
            before = (
                " (it was withdrawn before)" if self.old is None else f" instead of {self.old:g}"
            )
            return f"{pull}: {self.new:g} now counts{before}."
        again = "" if self.counted else "; it will be handed out again"
        return f"{pull}: {self.old:g} no longer counts{again}."

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"counted": self.counted}

    def certified(self, skipped: Sequence[int]) -> dict[str, Any]:
        """As certificates list it, which do not have the batches of these numbers."""
        names = ("pull", "arm", "old", "new", "at", "reason")
        who = said_by(self.by, self.token)
        batch, asked = (n - sum(one < n for one in skipped) for n in (self.batch, self.asked))
        own = {name: getattr(self, name) for name in names}
        own["batch"] = None if self.batch in skipped else batch
        own |= {} if self.number is None else {"number": self.number}
        own |= {} if self.aside is None else {"aside": self.aside}
        return own | {"asked": asked, "by": who}


def read(tx: Transaction, study: int) -> list[Change]:
    """All changes of a study, in order, with those of what was set aside."""
    links = tx.links(study, KINDS)
    places = {one.number: i for i, one in enumerate(one for one in links if one.kind == ASIDE)}
    return [replace(one, aside=places.get(link.number)) for link in links for one in of_link(link)]


def of_link(link: Link) -> list[Change]:
    """The changes that a link of the chain is about."""
    content = json.loads(link.content)
    return [_change(one, content, link.at) for one in content.get("changes", ())]


def _change(one: dict[str, Any], content: dict[str, Any], at: float) -> Change:
    was, now, number = one["was"], one["now"], one.get("number")
    old, numbers = None, one.get("numbers")  # of a reward that came back
    if was is not None:
        old, numbers = was[0], was[4] if len(was) > 4 else None
    if number is not None:
        kept = json.loads(numbers or "{}")
        old, numbers = kept.get(number), _with_number(numbers, number, now)
    own = (one["pull"], one["arm"], one["batch"], content["asked"], old, now, at)
    who = (content["by"], content["reason"], content["token"])
    return Change(*own, *who, one["stratum"], number, numbers)


def _with_number(numbers: str | None, name: str, value: float) -> str:
    """Further numbers as they are kept, with another one of this name."""
    return json.dumps(json.loads(numbers or "{}") | {name: value}, sort_keys=True)


class ChangeRewards(ActKind):
    """Other rewards count for some pulls, or none at all."""

    needs_reason = True
    caution = (
        "The guarantee stands if you would have made this change whatever the reading had been. "
        "For example, you checked every reading of one day, one device or one list, or every "
        "reading that was pointed out, and corrected what had been written down wrongly. Measuring "
        "again because a reading looks wrong is different: it needs a rule from the start "
        "(surepick new … --again)."
    )

    def details(self, content: dict[str, Any], link: Link, scene: Scene) -> dict[str, Any]:
        return self._labelled(of_link(link), scene)

    def _labelled(self, made: list[Change], scene: Scene) -> dict[str, Any]:
        return {"changes": [one.to_dict() | {"label": scene.label(one.arm)} for one in made]}

    def words(self, details: dict[str, Any]) -> str:
        """What became of each pull, up to ten."""
        some = details["changes"][:10]
        said = [Change.from_dict(one).in_words(one["label"]) for one in some]
        more = len(details["changes"]) - 10
        return " ".join(said + ([f"… and {more} more."] if more > 0 else []))

    def records(self, act: Act) -> list[Change]:
        return [Change.from_dict(one) for one in act.details["changes"]]

    def result(self, act: Act | None, given: Mapping[str, Any]) -> Any:
        """The change of a pull; of a token, all of them."""
        made = [] if act is None else self.records(act)
        return made if given.get("pull") is None else made[0]

    def apply(self, scene: Scene, given: dict[str, Any], who: Who) -> Step | Act | None:
        """Let other rewards count for these pulls (None: no reward at all).

        A change that was made before is not made again: a request may be repeated when its answer
        was lost.
        """
        values: dict[int, float | None] = given["values"]
        if not values:
            return None
        measured = scene.measured(list(values))
        earlier = scene.storage.read(lambda tx: read(tx, scene.record.id))
        made, known = changes(measured, earlier, values, who, given.get("number"))
        if not made:
            return self.done(self._labelled(known, scene), who, known[0].at)
        return self.changed(scene, measured, made, {})

    def changed(
        self, scene: Scene, measured: Measured, made: list[Change], said: dict[str, Any]
    ) -> Step:
        """The step that makes these changes; a link says so with what else there is to say."""
        at, tells = measured.at, measured.tells
        before = {one.pull: tells[one.pull] for one in made if one.pull in tells}
        run, survivors, finished = None, [], at.finished
        counted = [one for one in made if one.counted]
        if counted:
            run, survivors = scene.recounted(counted)
            finished = run.stopped
        number = scene.record.id

        def write(tx: Transaction, now: StudyProgress) -> StudyProgress:
            for batch, left in enumerate(survivors):
                tx.close_batch(number, batch, left)
            return _change_rewards(tx, number, made, before, now)

        def same(tx: Transaction) -> bool:
            return tx.tells(number, [one.pull for one in made]) == before

        content = _content(made, before) | said
        return Step(at, content, run, finished, more=write, same=same)


def changes(
    measured: Measured,
    made: list[Change],
    values: dict[int, float | None],
    who: Who,
    number: str | None,
) -> tuple[list[Change], list[Change]]:
    """What has to be changed, and where nothing has: the changes that were made before."""
    earlier = {one.pull: one for one in made}
    same = {one.pull: one for one in made if one.number == number}
    new, known = [], []
    for pull, value in values.items():
        tell, last = measured.tells.get(pull), earlier.get(pull)
        arm = tell.arm if tell is not None else last.arm if last is not None else -1
        batch = int(np.searchsorted(measured.firsts, pull, side="right")) - 1
        gone = last is not None and last.new is None and last.counted
        if tell is None and not gone:
            waits = (
                ": it was withdrawn, and is waiting to be measured again"
                if last is not None
                else ""
            )
            raise UnknownPullError(f"measurement {pull} has no reward{waits}; nothing was changed")
        if tell is None and last is not None and last.aside is not None and value is not None:
            raise InvalidInputError(
                f"measurement {pull} was set aside with others, and does not count; nothing was "
                "changed"
            )
        if tell is None and number is not None:
            raise UnknownPullError(
                f"measurement {pull} was withdrawn, {number} with it; correct the reward first, "
                "and all of it counts again. Nothing was changed"
            )
        old = None if tell is None else tell.value
        numbers = tell.numbers if tell is not None else last.numbers if last is not None else None
        if number is not None:
            old = json.loads(numbers or "{}").get(number)
        if old == value:
            if pull not in same:
                what = "reward" if number is None else number
                raise InvalidInputError(
                    f"measurement {pull} already has the {what} {value!r}; nothing was changed"
                )
            known.append(same[pull])
            continue
        if number is not None and value is not None:
            numbers = _with_number(numbers, number, value)
        known_as = tell or last
        stratum = None if known_as is None else known_as.stratum
        said = (0.0, who.by, who.reason, who.token, stratum, number, numbers)
        new.append(Change(pull, arm, batch, measured.at.batch, old, value, *said))
    return new, known


def _content(made: Sequence[Change], before: dict[int, Tell]) -> dict[str, Any]:
    """What the link of an act says; ``before`` are the rewards as they were."""
    first = made[0]
    return {
        "asked": first.asked,
        "by": first.by,
        "token": first.token,
        "reason": first.reason,
        "changes": [
            {
                "pull": one.pull,
                "arm": one.arm,
                "batch": one.batch,
                "stratum": one.stratum,
                "was": _told(before.get(one.pull)),
                "now": one.new,
            }
            | _of_number(one, one.pull in before)
            for one in made
        ],
    }


def _of_number(one: Change, there: bool) -> dict[str, str]:
    """Which further number changed; or all of them, where a reward comes back."""
    if one.number is not None:
        return {"number": one.number}
    return {} if there or one.numbers is None else {"numbers": one.numbers}


def _told(tell: Tell | None) -> list[Any] | None:
    if tell is None:
        return None
    more = [] if tell.numbers is None else [tell.numbers]
    return [tell.value, tell.worker, tell.at, tell.token, *more]


def _change_rewards(
    tx: Transaction, number: int, made: list[Change], before: dict[int, Tell], now: StudyProgress
) -> StudyProgress:
    there = [one for one in made if one.pull in before]
    gone = [one for one in there if one.new is None]
    back = [one for one in made if one.pull not in before and one.new is not None]
    tx.change(number, *(_corrected(before[one.pull], one) for one in there if one.new is not None))
    tx.drop(number, Tell, [one.pull for one in gone])
    for one in back:
        value = float(one.new or 0.0)
        own = (one.by, now.now, one.token, one.stratum, one.numbers)
        tx.add(number, Tell(one.pull, one.arm, value, *own))
    again = [one for one in gone if not one.counted]  # to be measured once more
    for one in again:
        free = Lease(one.pull, one.arm, None, now.now, since=now.now, stratum=one.stratum)
        tx.add(number, free)
    early = sum(one.pull >= now.first + now.size for one in again)
    return replace(now, told=now.told - len(again) + early, early=now.early - early)


def _corrected(tell: Tell, change: Change) -> Tell:
    """What counts of a pull once its reward, or a further number, is changed."""
    assert change.new is not None
    if change.number is not None:
        return replace(tell, numbers=change.numbers)
    return replace(tell, value=change.new)


class _Correct(ChangeRewards):
    kind, link = "correct", CORRECTED
    short = "Correct a reward that was entered wrongly."
    about = (
        "Let another reward, or another further number, count for a pull that was told wrongly. As "
        "long as its batch is open, it is replaced; afterwards everything is worked out again from "
        "what was measured. Old and new reward, who, when and why are kept."
    )
    own = True
    fields = (
        Field("pull", int, "Number of the pull.", limits={"minimum": 0}, example=0),
        Field(
            "reward",
            float | str,
            "The correct reward; where two options are compared, the label of the better one or "
            "'tie'.",
            example=4.2,
        ),
        Field(
            "number",
            str,
            "The further number that 'reward' is about, such as latency; left out: the reward.",
            None,
            {"maxLength": 200},
        ),
    )

    def of_worker(self, scene: Scene, given: Mapping[str, Any], who: Who) -> None:
        """A judge who hit the wrong key may say so at once: of the last comparison told, alone.

        So which comparison is looked at again depends on the slip, not on what it leads to.
        """
        if scene.problem.pairing is None:
            raise NotAllowedError(
                "correct: a worker's token allows it only where options are compared two at a "
                "time; ask somebody with an admin's token"
            )
        mine = [one for one in scene.told() if (one.worker, one.token) == (who.by, who.token)]
        last = max(mine, key=lambda one: (one.at, one.pull), default=None)
        if last is None or last.pull != as_pull(given.get("pull")):
            raise NotAllowedError(
                "correct: a worker's token allows it only for the last comparison that came with "
                "it, under the same name (by); ask somebody with an admin's token"
            )

    def check(self, scene: Scene, given: dict[str, Any]) -> dict[str, Any]:
        given = self.filled(given | {"pull": as_pull(given.get("pull"))})
        number, value = given["number"], given["reward"]
        if number is not None:
            value = scene.check_number(given["pull"], number, real(value, number))
        else:
            value = scene.check_reward(
                given["pull"], value if scene.paired else real(value, "reward")
            )
        return {"values": {given["pull"]: value}, "number": number}


class _Withdraw(ChangeRewards):
    kind, link = "withdraw", WITHDRAWN
    short = "Take back a reward, or all that came with a token."
    about = (
        "Take back the reward of a pull, or all rewards that came with one token. As long as its "
        "batch is open, a pull is measured again; afterwards everything is worked out again from "
        "what is left."
    )
    fields = (
        Field("pull", int, "Number of the pull.", None, {"minimum": 0}, 0),
        Field("token", str, "Instead of a pull: the id of a token.", None, {"maxLength": 16}),
    )

    def check(self, scene: Scene, given: dict[str, Any]) -> dict[str, Any]:
        given = self.filled(given)
        if (given["pull"] is None) == (given["token"] is None):
            raise InvalidInputError("give either a pull, or the id of a token")
        pulls = [] if given["pull"] is None else [as_pull(given["pull"])]
        if given["token"] is not None:
            pulls = [tell.pull for tell in scene.told() if tell.token == given["token"]]
        return {"values": dict.fromkeys(pulls)}


CORRECT, WITHDRAW = _Correct(), _Withdraw()
