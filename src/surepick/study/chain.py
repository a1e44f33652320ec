"""The chain of what happened to a study: a log that cannot be rewritten without being noticed.

From its creation to its answer, every step of a study adds a link: that it was created, then for
each batch that it was proposed, and what was told for it, in the end the answer. A link contains
SHA-256 digests of what the database keeps about the step, the database's time, and the digest of
the link before. Whoever changes something that happened would have to change all links after it,
and with them the last digest, the head of the chain; whoever noted a head once can tell.

Links are written in the transaction that does what they are about, with the study locked: there is
one for each step, or neither. So every study has a chain that begins with its creation; one whose
chain is gone was changed, and nothing goes on from it. Rewards of a batch that is open come into it
with the batch. What is corrected or withdrawn adds a link that says what was there before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any, NoReturn

from surepick.errors import StudyDamagedError
from surepick.run import Answer
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import BatchRecord, Link, Period, Report, StudyRecord, Tell
from surepick.study.traffic.rules import sends_traffic


def sha(text: str) -> str:
    """Of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of(content: Any) -> str:
    """Of values that can be written as JSON."""
    return sha(json.dumps(content, sort_keys=True, separators=(",", ":")))


_PIECE = 10_000  # rewards that are read together
_FIRST = "0" * 64  # stands for the digest before the first link
_GONE = "its chain is gone, from its creation on; go on from a backup"
_CREATED = "created"
_PROPOSED, _TOLD, _ANSWERED = "proposed", "told", "answered"
_SPLIT, REPORTED = "split", "reported"  # of traffic: shares were stored, a period was reported
#: what a study does by itself; all other links are about what people do to it
STEPS = frozenset({_CREATED, _PROPOSED, _TOLD, _ANSWERED, _SPLIT})


# -- adding links --------------------------------------------------------------------------
def append(tx: Transaction, study: int, kind: str, content: dict[str, Any], now: float) -> Link:
    """Add a link to the chain of a study that is locked."""
    last = tx.last_link(study)
    if last is None and kind != _CREATED:
        raise StudyDamagedError(f"study number {study} was changed: {_GONE}")
    number, before = (0, _FIRST) if last is None else (last.number + 1, last.digest)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    link = Link(number, kind, text, now, _digest(before, number, kind, text, now))
    tx.add(study, link)
    return link


def begin(tx: Transaction, study: StudyRecord, past: str | None, now: float) -> None:
    """A study was created."""
    append(tx, study.id, _CREATED, _creation(study, past), now)


def propose(tx: Transaction, study: int, batch: BatchRecord, run: str, now: float) -> None:
    """A batch was proposed, and the run kept as it then stood."""
    content = {"batch": batch.number, "pulls": digest_of(_asked(batch)), "run": sha(run)}
    append(tx, study, _PROPOSED, content, now)


def tell(
    tx: Transaction, study: StudyRecord, batch: BatchRecord, now: float, run: str | None = None
) -> None:
    """All of a batch was told; ``run`` is kept, where the next batch had been proposed before."""
    content = {"batch": batch.number, "rewards": _rewards(tx, study.id, batch)}
    append(tx, study.id, _TOLD, content | ({} if run is None else {"run": sha(run)}), now)


def effect(run: str | None, finished: bool) -> dict[str, Any]:
    """What an act leads to: the run as it then stands, if it is another one, and the end."""
    return {"finished": finished} | ({} if run is None else {"run": sha(run)})


def split(tx: Transaction, study: int, period: Period, now: float) -> None:
    """Shares of a period were stored."""
    append(tx, study, _SPLIT, {"period": period.number, "shares": _shares(period)}, now)


def answer(tx: Transaction, study: int, found: Answer, run: str, now: float) -> None:
    """The study came to its end."""
    append(tx, study, _ANSWERED, {"answer": digest_of(found.to_dict()), "run": sha(run)}, now)


# -- looking -------------------------------------------------------------------------------
def head(tx: Transaction, study: StudyRecord) -> dict[str, Any]:
    """The head of the chain, for whoever wants to note it."""
    last = tx.last_link(study.id)
    if last is None:
        _damaged(study, _GONE)
    return {"study": study.name, "links": last.number + 1, "head": last.digest, "at": last.at}


def head_of(storage: Storage, study: StudyRecord) -> dict[str, Any]:
    """The head of a study's chain, read in a transaction of its own."""
    return storage.read(lambda tx: head(tx, study))


def check_chain(storage: Storage, study: StudyRecord, noted: str | None = None) -> dict[str, Any]:
    """The head of a chain that is whole, as the database still is what its links say; or an error.

    ``noted`` is the head as somebody noted it some time ago: it must be one of the links.
    """
    return storage.read(lambda tx: _check(tx, study, noted))


def ends_with(tx: Transaction, study: StudyRecord, run: str) -> bool:
    """Whether a run that a study goes on from is the one that its chain ends with.

    The chain is followed, but what its links are about is not read again: the run stands for all of
    it, so that going on takes time in proportion to what is new.
    """
    said = [json.loads(link.content).get("run") for link in _linked(tx, study)]
    last = next((one for one in reversed(said) if one is not None), None)
    return last is None or sha(run) == last


def check_log(tx: Transaction, study: StudyRecord) -> None:
    """Whether what a study was asked and told is what its chain says; its run is left aside."""
    _check_contents(tx, study, _linked(tx, study), run_too=False)


def _linked(tx: Transaction, study: StudyRecord) -> list[Link]:
    """The links, each of which has the digest of all before it."""
    links, before = tx.links(study.id), _FIRST
    if not links:
        _damaged(study, _GONE)
    for place, link in enumerate(links):
        due = _digest(before, place, link.kind, link.content, link.at)
        begins = link.kind == _CREATED
        if link.number != place or link.digest != due or begins != (place == 0):
            _damaged(study, f"link {place} of its chain was changed")
        before = link.digest
    return links


def _check(tx: Transaction, study: StudyRecord, noted: str | None) -> dict[str, Any]:
    links = _linked(tx, study)
    if noted is not None and noted not in [link.digest for link in links]:
        _damaged(study, f"its chain does not contain {noted}: what happened before was changed")
    _check_contents(tx, study, links)
    return head(tx, study)


def _check_contents(
    tx: Transaction, study: StudyRecord, links: list[Link], run_too: bool = True
) -> None:
    walk = _Walk(tx, study, links)
    for link in links:
        what = walk.wrong(link)
        if what:
            _damaged(study, f"{what} is no longer what link {link.number} of its chain says")
    at = tx.progress(study.id)
    if (at.batch, at.finished) != (walk.told, walk.ended):
        _damaged(study, "it does not stand where its chain ends")
    if run_too:
        _check_run(tx, study, walk.run)
    if not sends_traffic(study):
        _check_present(tx, study, walk)
    elif len(tx.periods(study.id)) != walk.split or len(tx.reports(study.id)) != walk.told:
        _damaged(study, "it has periods or reports beyond its chain")


class _Walk:
    """From link to link: how far the study had come, and what the database keeps of it."""

    def __init__(self, tx: Transaction, study: StudyRecord, links: list[Link]) -> None:
        self._tx, self._study = tx, study
        self.proposed = self.told = self.split = 0  # batches so far, and shares of periods
        self.run: str | None = None  # digest of the run that was kept last
        self.ended = self.cut = False  # cut: it ended while a batch was open
        acts = [one for one in reversed(links) if one.kind not in STEPS]
        said = [(one.number, json.loads(one.content)) for one in acts]
        self._changes = [one for one in said if "changes" in one[1] or "was" in one[1]]

    def wrong(self, link: Link) -> str:
        """What the database has that is not as a link says; empty: nothing."""
        tx, study = self._tx, self._study
        kind, content = link.kind, json.loads(link.content)
        self.run = content.get("run", self.run)
        if kind == _CREATED:
            fine = content == _creation(study, tx.past(study.id))
            return "" if fine else "what it was created with"
        if kind == _PROPOSED:
            batch, self.proposed = self._batch(content, self.proposed), self.proposed + 1
            fine = batch is not None and content["pulls"] == digest_of(_asked(batch))
            after = batch and (batch.number if batch.after is None else batch.after)
            return "" if fine and after == self.told else f"batch {self.proposed - 1}"
        if kind == _TOLD:
            batch, self.told = self._batch(content, self.told), self.told + 1
            due = batch and self._rewards_before(link.number, batch)
            fine = due is not None and content["rewards"] == due
            return "" if fine and self.told <= self.proposed else f"batch {self.told - 1}, as told,"
        if kind in (_SPLIT, REPORTED):
            for one in (*content.get("before", ()), content):  # what needed no report, and it
                if not self._period_fine(link, one):
                    return f"period {one['period']}"
            return ""
        if kind == _ANSWERED:
            self.ended, self.cut = True, self.told < self.proposed
            return ""
        if "finished" in content:  # an act, and what it led to
            self.cut = content["finished"] and self.told < self.proposed
            self.ended = content["finished"]
        return ""  # also of a later version: its digest was looked at

    def _rewards_before(self, number: int, batch: BatchRecord) -> str | None:
        """The digest of the rewards of a batch, as they were before the acts that came later."""
        later = [one for content in self._later(number) for one in _changes(content)]
        pulls = range(batch.first, batch.first + batch.size)
        own = [one for one in later if one["pull"] in pulls]
        if not own:
            return _rewards(self._tx, self._study.id, batch)
        told = {one.pull: one for one in _told_of(self._tx, self._study.id, batch)}
        found = _undone(told, own)
        return None if found is None else _of_rows(_row(one) for _, one in sorted(found.items()))

    def _later(self, number: int) -> list[dict[str, Any]]:
        """What acts after this link say that changed rewards or reports, newest first."""
        return [content for place, content in self._changes if place > number]

    def _period_fine(self, link: Link, content: dict[str, Any]) -> bool:
        """Whether the shares, or the report, of the next period are what a link says."""
        here = (self._study.id, number := content["period"], number + 1)
        period = next(iter(self._tx.periods(*here)), None)
        if link.kind == _SPLIT:
            self.split += 1
            return period is not None and content["shares"] == _shares(period)
        self.told = self.proposed = self.told + 1
        told = next(iter(self._tx.reports(*here)), None)
        told = told and _report_before(told, self._later(link.number))
        return (
            (period is not None and told is not None)
            and (number, content["name"]) == (self.told - 1, period.name)
            and content["report"] == digest_of(asdict(told))
        )

    def _batch(self, content: dict[str, Any], number: int) -> BatchRecord | None:
        return self._tx.batch(self._study.id, number) if content["batch"] == number else None


# Acts that change rewards or reports in place say so: ``changes`` has what was told for each pull
# and what counts now, ``period`` with ``was`` and ``now`` the report of a period.
def _changes(content: dict[str, Any]) -> list[dict[str, Any]]:
    """What an act did to rewards, newest first."""
    return content.get("changes", [])[::-1]


def _undone(rows: dict[int, Tell], later: Iterable[dict[str, Any]]) -> dict[int, Tell] | None:
    """The rewards as they were before these changes, newest first; None where they do not fit."""
    rows = dict(rows)
    for one in later:
        pull, there = one["pull"], rows.pop(one["pull"], None)
        if _counts(there, one.get("number")) != one["now"]:
            return None
        if one["was"] is not None:
            value, worker, at, token, *numbers = one["was"]
            own = (value, worker, at, token, one["stratum"], *numbers)
            rows[pull] = Tell(pull, one["arm"], *own)
    return rows


def _counts(tell: Tell | None, number: str | None) -> float | None:
    """What counts of a pull: its reward, or a further number."""
    if tell is None or number is None:
        return None if tell is None else tell.value
    return json.loads(tell.numbers or "{}").get(number)


def _report_before(told: Report, later: Iterable[dict[str, Any]]) -> Report | None:
    """A report as it was before these acts, newest first; None where they do not fit."""
    for content in later:
        if "was" in content and content["period"] == told.period:
            if told.content != content["now"]:
                return None
            told = replace(told, content=content["was"])
    return told


def _check_run(tx: Transaction, study: StudyRecord, run: str | None) -> None:
    at, kept = tx.progress(study.id), tx.snapshot(study.id)
    if run is not None and kept is not None and (kept[0] != at.batch or sha(kept[1]) != run):
        _damaged(study, "the run that it keeps is not the one that its chain ends with")


def _check_present(tx: Transaction, study: StudyRecord, walk: _Walk) -> None:
    """What is kept of the present: the open batch, and nothing beyond it."""
    at = tx.progress(study.id)
    batch, last = tx.batch(study.id, at.batch), tx.batch(study.id, at.batch - 1)
    first = 0 if last is None else last.first + last.size
    size = 0 if batch is None else batch.size
    if (at.first, at.size, at.finished) != (first, size, batch is None or walk.cut):
        _damaged(study, "it does not stand at its last batch")
    numbers = range(at.batch + 1, max(at.batch + 1, walk.proposed) + 1)  # and one that is not there
    ahead = [0 if one is None else one.size for one in (tx.batch(study.id, n) for n in numbers)]
    if len(tx.rewards(study.id, at.last, 2**62).pulls) or ahead[-1] or sum(ahead) != at.ahead:
        _damaged(study, "it has measurements beyond its last batch")
    ends = (at.first, at.first + at.size, at.last)
    told = tuple(len(tx.rewards(study.id, *part).pulls) for part in pairwise(ends))
    if told != (at.told, at.early) or at.told > at.size:
        _damaged(study, "as many rewards as its open batch is said to have are not there")


def _damaged(study: StudyRecord, what: str) -> NoReturn:
    raise StudyDamagedError(f"study {study.name!r} was changed: {what}")


# -- digests -------------------------------------------------------------------------------
def _digest(before: str, number: int, kind: str, content: str, at: float) -> str:
    return sha(json.dumps([before, number, kind, content, at], separators=(",", ":")))


def _creation(study: StudyRecord, past: str | None) -> dict[str, Any]:
    kept = {name: value for name, value in asdict(study).items() if name != "id"}
    return {"study": digest_of(kept), "past": None if past is None else sha(past)}


def _shares(period: Period) -> str:
    """Of a period when its shares were stored; it may get its name later."""
    return digest_of({name: value for name, value in asdict(period).items() if name != "name"})


def _asked(batch: BatchRecord) -> dict[str, Any]:
    """What was asked for; how many options are left after it is no part of that."""
    less = ("survivors", "after") if batch.after is None else ("survivors",)  # in turn: as ever
    return {name: value for name, value in asdict(batch).items() if name not in less}


def _rewards(tx: Transaction, study: int, batch: BatchRecord) -> str:
    """Of every reward of a batch: pull, arm, value, who told it, when, and its stratum."""
    return _of_rows(map(_row, _told_of(tx, study, batch)))


def _told_of(tx: Transaction, study: int, batch: BatchRecord) -> Iterator[Tell]:
    """The rewards of a batch, in the order of the pulls; a large batch is read in pieces."""
    last = batch.first + batch.size
    for first in range(batch.first, last, _PIECE):
        yield from tx.told(study, first, min(first + _PIECE, last))


def _row(tell: Tell) -> str:
    row = [tell.pull, tell.arm, tell.value, tell.worker, tell.at]
    if tell.numbers is not None:
        return json.dumps([*row, tell.stratum, tell.numbers])
    return json.dumps(row if tell.stratum is None else [*row, tell.stratum])


def _of_rows(rows: Iterable[str]) -> str:
    found = hashlib.sha256()
    for row in rows:
        found.update(row.encode() + b"\n")
    return found.hexdigest()
