"""What every study offers, be it in a database here or with a service."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from surepick.algorithms.base import Algorithm
from surepick.arrays.validate import real
from surepick.problem import Problem
from surepick.run import Answer
from surepick.run.forecast import FORECAST_SECONDS, Ahead
from surepick.run.standing import Standing
from surepick.storage.records import Event, Rewards, StudyProgress
from surepick.study.acts import Act
from surepick.study.acts.accept import Accepted
from surepick.study.acts.aside import SetAside
from surepick.study.acts.limits import LimitChange, as_sent
from surepick.study.acts.options import NewOptions, OptionChange
from surepick.study.acts.reports import ReportChange, sent_report
from surepick.study.acts.rewards import Change
from surepick.study.checks.checks import Checks
from surepick.study.pulls import OneReward, Pull, Rewarded, Told, as_pull
from surepick.study.shown import shown
from surepick.study.traffic.results import Recorded, Split
from surepick.study.workers.measure import Measurement
from surepick.text import plural


class StudyCore(ABC):
    """The public core of :class:`surepick.Study` and :class:`surepick.client.RemoteStudy`.

    Examples
    --------
    Code that takes this works with both:

    >>> def left(study: StudyCore) -> int:
    ...     return study.progress().size - study.progress().told
    >>> import surepick as sp
    >>> left(sp.create_study("core", sp.Problem([[1.0], [2.0]]), storage="memory://")) > 0
    True
    """

    name: str

    def _repr_html_(self) -> str:
        from surepick import notebook

        now = self.status()
        head = f"{self.name}: {plural(now['samples'], 'measurement')}"
        left = f"{len(now['survivors']):,} of {now['options']:,} options still in the race"
        said = self.answer.plain if now["finished"] else left
        warnings = (notebook.text(f"Warning: {words}") for words in now["warnings"])
        table = Standing.from_dict(now["standing"]).table()
        return notebook.panel(head, notebook.text(said), table, *warnings)

    # -- what it was created with ----------------------------------------------------------
    @property
    @abstractmethod
    def problem(self) -> Problem:
        """The problem; do not change it."""

    @property
    @abstractmethod
    def algorithm(self) -> Algorithm:
        """The algorithm and its settings."""

    @property
    @abstractmethod
    def meta(self) -> dict[str, Any]:
        """What it was given to keep when it was created."""

    @abstractmethod
    def definition(self) -> dict[str, Any]:
        """What it was created with, as JSON-ready values."""

    @property
    def strata(self) -> str | None:
        """What strata are called (``"day"``, ``"plate"``, …); None where there are none."""
        return self.meta.get("strata")

    def features_of(self, arm: int) -> dict[str, Any]:
        """The cells of an option's row in the table that the study was made from."""
        return self.features_by_arm([arm])[arm]

    def features_by_arm(self, arms: Iterable[int]) -> dict[int, dict[str, Any]]:
        """The cells of several options' rows; the table is read once for all of them."""
        columns = (self.meta.get("columns") or {}).items()
        pairing = self.problem.pairing if columns else None
        if pairing is not None:  # those of both
            rows = {arm: zip(("first", "second"), pairing.of(arm)) for arm in set(arms)}
            return {
                arm: {which: {name: cells[i] for name, cells in columns} for which, i in row}
                for arm, row in rows.items()
            }
        return {arm: {name: cells[arm] for name, cells in columns} for arm in set(arms)}

    def shown(self, pulls: Iterable[Pull], pictures_from: Sequence[str] = ()) -> list[Any]:
        """What judges see of the two options of each pull; None where a pull is of one option.

        ``first``, ``second`` and ``both`` (what is the same for the two) list texts, files
        and links, without the names of the options. Pictures of other sites are links, but for
        those of the sites in ``pictures_from``.
        """
        problem, meta = self.problem, self.meta
        pairing, labels = problem.pairing, problem.candidate_labels
        if pairing is None:
            return [None for _ in pulls]
        seen = (pictures_from,)
        return [shown(meta, labels, pairing.of(one.arm), one.item, *seen) for one in pulls]

    # -- ask, tell, fail -------------------------------------------------------------------
    @abstractmethod
    def ask(
        self,
        n: int = 1,
        worker: str | None = None,
        lease: float = 300.0,
        *,
        wait: float = 0.0,
        stratum: str | int | None = None,
        same: bool = False,
    ) -> list[Pull]:
        """Up to ``n`` pulls to measure, leased for ``lease`` seconds."""

    def tell(
        self,
        pull_id: int,
        reward: OneReward,
        worker: str | None = None,
        *,
        strict: bool = False,
        label: str | None = None,
    ) -> Told:
        """Hand in the reward of a pull; once this returns, it is kept.

        The first reward told for a pull counts. The same again is fine. Another one is
        refused with ``TellConflictError``, unless it comes from a worker who was too late:
        see :class:`Told`. A pull may be told after its lease has run out, as long as nobody else
        has been given it.

        Parameters
        ----------
        pull_id
            The ``id`` of what :meth:`ask` returned.
        reward
            A finite number. Where two options are compared: the label of the better one, or
            ``"tie"`` (or 1, 0 and 0.5 for the first, the second and neither). Where measurements
            have further numbers: a dict of all, ``{"reward": 0.9, "latency": 31.0}``.
        worker
            Who measured it; not needed in the process that asked.
        strict
            Refuse a reward that is far from all that was measured before; otherwise it is accepted,
            and :attr:`Told.warning` says so.
        label
            Which option was measured: the reward is refused where its pull was for another one.
        """
        told = self.tell_many([(pull_id, reward, label)], worker, strict=strict)
        return told[0].or_refuse(reward)

    @abstractmethod
    def tell_many(
        self,
        rewards: Rewarded,
        worker: str | None = None,
        *,
        strict: bool = False,
    ) -> list[Told]:
        """Hand in many rewards at once: all are recorded, or (on an error) none."""

    @abstractmethod
    def fail(
        self, pull_id: int, reason: str = "", worker: str | None = None, *, final: bool = False
    ) -> bool:
        """Say that a pull could not be measured: it goes back in line; or never can be."""

    @abstractmethod
    def keep(self, held: Mapping[str, Sequence[int]], lease: float = 300.0) -> dict[str, list[int]]:
        """Say which pulls are still being measured: their workers have them for longer.

        Parameters
        ----------
        held
            The numbers of the pulls, by the names of the workers that have them.
        lease
            Seconds from now until they may be given to others.

        Returns
        -------
        dict
            Who has which pulls now, by name (through a service: of those with the same token).
        """

    @abstractmethod
    def canary(self) -> Measurement | None:
        """The cell of a complete table that is to be measured again next; None: none by now.

        ``study.act("ask-again", pull=…, score=…)`` keeps what it gives, which counts for no option;
        ``study.run`` and ``surepick run`` do so by themselves.
        """

    # -- what people do to it --------------------------------------------------------------
    @abstractmethod
    def act(self, kind: str, /, *, reason: str = "", by: str | None = None, **fields: Any) -> Any:
        """Do something to the study: an act of any kind, also of one that is not built in.

        The other methods that change a study (:meth:`correct`, :meth:`add`, :meth:`pause`, …) are
        calls of this one. What was done before is not done again.

        Parameters
        ----------
        kind
            Its name; :func:`surepick.study.acts.kinds` lists them with their fields.
        reason
            Why; anybody who sees the certificate can read it.
        by
            Who does it.
        **fields
            What acts of this kind need.
        """

    @abstractmethod
    def acts(self, *kinds: str) -> list[Act]:
        """What was done to the study, in order: who, when, why; all of it, or of some kinds."""

    @abstractmethod
    def _records(self, *kinds: str) -> list[Any]:
        """What acts of these kinds changed, in order, as records of their own."""

    def correct(
        self,
        pull_id: int,
        value: float | str,
        *,
        number: str | None = None,
        reason: str,
        by: str | None = None,
    ) -> Change:
        """Let another reward count for a pull that was told, as the first one was wrong.

        As long as its batch is open, it is simply replaced; afterwards everything is worked out
        again. Old and new reward, who, when and why are kept, exported and part of the certificate.

        The guarantee stands if which rewards are looked at again depends neither on the rewards
        nor on whom somebody favours, or if every reading that was pointed out is looked up and
        what had been written down wrongly is put right. To measure again what looks wrong takes a
        rule from the start (``again=True``, see :mod:`surepick.study.again`).

        Parameters
        ----------
        pull_id, value
            Which pull, and what was really measured; where two options are compared, the label of
            the better one, or ``"tie"``. A reward that was withdrawn counts again, with its further
            numbers.
        number
            The further number that was wrong (``"latency"``), instead of the reward.
        reason, by
            Why, and who does it; see :meth:`act`.
        """
        paired = isinstance(value, str) and self.problem.pairing is not None
        said = value if paired else real(value, number or "reward")
        fields: dict[str, Any] = {"pull": as_pull(pull_id), "reward": said}
        fields |= {} if number is None else {"number": number}
        return self.act("correct", reason=reason, by=by, **fields)

    def withdraw(self, pull_id: int, *, reason: str, by: str | None = None) -> Change:
        """Take back the reward of a pull: it does not count at all; see :meth:`correct`.

        As long as its batch is open, the pull is measured again. Afterwards its batch has one
        reward less, and everything is worked out again.
        """
        return self.act("withdraw", pull=as_pull(pull_id), reason=reason, by=by)

    def withdraw_token(self, token: str, *, reason: str, by: str | None = None) -> list[Change]:
        """Withdraw all rewards that came with one token of a service; its id, not its secret."""
        return self.act("withdraw", token=token, reason=reason, by=by)

    def set_aside(
        self,
        *,
        period: str | None = None,
        stratum: str | None = None,
        batch: int | None = None,
        reason: str,
        blind: bool = False,
        by: str | None = None,
    ) -> SetAside:
        """Set a day, plate or batch aside for all options: bots, a broken tag, a sale.

        Everything is worked out again without it: a study that had ended may go on, options that
        had been ruled out may be back in. What is set aside stays on record, and the certificate
        lists it. Set a period or stratum aside before it begins (the days of a sale, say), and the
        promise stays as it is. Otherwise the promise says what it rests on: with ``blind`` that it
        was decided without seeing results, as whoever does it claims; else that the reason has
        nothing to do with which option is better. Never drop a day because of who won on it. It
        cannot be undone.

        Parameters
        ----------
        period, stratum, batch
            One of them: the name of a period of visitors or of a stratum (a day, a plate, …), also
            of one to come; or the number of a complete batch. A period that is set aside need not
            be reported.
        reason
            Why; anybody who sees the certificate can read it.
        blind
            Whether it was decided without seeing any results of then or later: by the number of
            visits alone, for example.
        by
            Who decides it.
        """
        given = {"period": period, "stratum": stratum, "batch": batch}
        fields = {name: one for name, one in given.items() if one is not None}
        return self.act("set-aside", reason=reason, by=by, blind=blind, **fields)

    def corrections(self) -> list[Change]:
        """All rewards that were corrected or withdrawn, in the order in which that was done."""
        return self._records("correct", "withdraw")

    def add(self, options: Any, *, reason: str = "", by: str | None = None) -> OptionChange:
        """Add options; the answer is then the best of all that were not retired.

        They come with the next batch: what is open is finished first. In a study of traffic they
        have a share in the next period that is split. A study that has ended goes on. The
        guarantee stands, even if they are added because of what was seen so far.

        Parameters
        ----------
        options
            A table (a CSV or Parquet file, a DataFrame) with the columns of the study's own; a
            category may have levels that no option had before. For a study that was made from a
            problem: a :class:`surepick.Problem` with the same features (any behind those are new
            ones), or labels, where options have no features.
        reason, by
            Why, and who does it; see :meth:`act`.
        """
        return self.act("add", reason=reason, by=by, **NewOptions.of(options).to_dict())

    def retire(self, label: str, *, reason: str, by: str | None = None) -> OptionChange:
        """Retire an option: it is not measured any more, and cannot be the answer.

        The batch that is open is finished first; in a study of traffic, periods that have their
        shares. Unless the option had been ruled out, all that had
        been are back in the race: they may be the best of those that are left. So a study that
        has ended may go on.

        Parameters
        ----------
        label
            Which option.
        reason, by
            Why, and who does it; see :meth:`act`.
        """
        return self.act("retire", label=label, reason=reason, by=by)

    def accept(self, epsilon: float, *, reason: str, by: str | None = None) -> Accepted:
        """Accept from now on whatever is within epsilon of the best.

        For options that turn out to be nearly alike. It may be done after looking at everything,
        as often as one likes with larger ones: what shows that an option is close enough is
        measured later. The batch that is open is finished first.

        Parameters
        ----------
        epsilon
            How much worse than the best the answer may be, in the unit of rewards.
        reason, by
            Why, and who does it; see :meth:`act`.
        """
        return self.act("accept", epsilon=epsilon, reason=reason, by=by)

    def option_changes(self) -> list[OptionChange]:
        """All options that were added or retired, in the order in which that was done."""
        return self._records("add", "retire")

    def limit(
        self,
        *,
        max_samples: int | float | str | None = None,
        budget: float | str | None = None,
        reason: str = "",
        by: str | None = None,
    ) -> LimitChange:
        """Change how much may be measured in all, and what it may cost.

        What was asked for is measured in any case. A study that has ended because a limit was
        reached goes on, if the new one is higher. The guarantee does not depend on limits.

        Parameters
        ----------
        max_samples, budget
            The most measurements, and the most that they may cost (where options have no costs,
            each costs 1). None leaves a limit as it is, ``"none"`` takes it away.
        reason, by
            Why, and who does it; see :meth:`act`.
        """
        given = {"max_samples": as_sent(max_samples), "budget": as_sent(budget)}
        return self.act("limit", reason=reason, by=by, **given)

    def limit_changes(self) -> list[LimitChange]:
        """All changes of the limits, in the order in which they were made."""
        return self._records("limit")

    def pause(self, reason: str = "", by: str | None = None) -> bool:
        """Hand out nothing until :meth:`resume`; pulls that are out can still be told.

        Returns False where it was paused already, or is finished.
        """
        return self.act("pause", reason=reason, by=by)

    def resume(self, reason: str = "", by: str | None = None) -> bool:
        """Hand out pulls again; False where it was not paused."""
        return self.act("resume", reason=reason, by=by)

    def stop(self, reason: str = "", by: str | None = None) -> Answer:
        """End the study now, for good, and say what is known.

        The answer is the option that looks best, without a guarantee that it is. What does hold is
        said in its guarantee: with which probability the best is among the options that are left.
        Rewards of a batch that is not complete are kept, but not counted.
        """
        self.act("stop", reason=reason, by=by)
        return self.answer

    # -- traffic ---------------------------------------------------------------------------
    @abstractmethod
    def split(self, visits: int | None = None, period: str | None = None) -> Split:
        """By which shares to send visitors: those of the period under way, or of the next one.

        They are stored before they are shown, stay the same while the period lasts, and follow
        from earlier reports alone. A period ends by the clock or by a number of visitors, never by
        how they respond.

        Parameters
        ----------
        visits
            Also show the shares as whole numbers of so many visits.
        period
            The period's name. A new one begins a new period, although earlier ones are not
            recorded yet; without a name the newest of those that are not is meant.
        """

    @abstractmethod
    def periods(self) -> list[dict[str, Any]]:
        """All periods that have their shares, in order, as JSON-ready values.

        Of each its ``number``, its name (``period``), when it began and ended (``since``,
        ``until``, in seconds by the database's clock; now, where it runs), its ``shares`` by label,
        how many seconds visitors have to respond (``window``), and whether it is ``recorded``.
        """

    def record(self, report: Any, period: str, *, check: bool = False) -> Recorded:
        """Take in what came of a period; once this returns, it is kept, and counts once.

        Every visitor belongs to the period in which the option was assigned, whenever the
        response came. Periods are recorded in their order; the same report again changes nothing.

        Parameters
        ----------
        report
            ``{label: (visits, successes)}``, with bounded rewards ``(visits, sum, squares)``, with
            numbers of unknown scale ``{label: {bucket: (visits, sum)}}``; or a table (a CSV or
            Parquet file, a DataFrame) with such columns.
        period
            Its name.
        check
            Only look whether it could be recorded; what is wrong is said as otherwise.
        """
        return self.act("record", period=period, check=check, **sent_report(report))

    def correct_report(
        self, period: str, report: Any, *, reason: str, by: str | None = None
    ) -> ReportChange:
        """Let another report count for a period that was recorded, as the first one was wrong.

        Everything is worked out again: a study that had ended may go on, and one that goes on may
        end. Old and new numbers, who, when and why are kept, exported and part of the certificate.

        The guarantee stands if which reports, and which of their numbers, are looked at again
        depends neither on the numbers nor on whom somebody favours.

        Parameters
        ----------
        period, report
            The name of the period, and what really came of it; see :meth:`record`.
        reason, by
            Why, and who does it; see :meth:`act`.
        """
        sent = sent_report(report)
        return self.act("correct-report", period=period, reason=reason, by=by, **sent)

    def report_changes(self) -> list[ReportChange]:
        """All corrections of reports, in the order in which they were made."""
        return self._records("correct-report")

    # -- measuring with a function ---------------------------------------------------------
    @abstractmethod
    def run(
        self: StudyCore,
        measure: Callable[[Measurement], Any],
        workers: int = 1,
        progress: bool = False,
        *,
        timeout: float = math.inf,
        retries: int = 2,
        name: str | None = None,
        stratum: str | None = None,
        per_minute: float | None = None,
    ) -> Answer:
        """Measure with a Python function until the study is finished; the answer."""

    # -- where it stands -------------------------------------------------------------------
    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether there is an answer."""

    @property
    @abstractmethod
    def answer(self) -> Answer:
        """The answer, once finished."""

    @abstractmethod
    def progress(self) -> StudyProgress:
        """Where the study stands, in a few numbers."""

    @abstractmethod
    def standing(self) -> Standing:
        """What is known now about every option.

        Who leads, and of each option what it is estimated to be worth, how far it is behind and
        between which ends, and the p-value of "this one is the best". All of it holds at any time,
        however often one looks. ``standing()["estimate"]`` is a column, ``standing().frame()`` a
        pandas DataFrame.
        """

    @abstractmethod
    def forecast(self, seconds: float = FORECAST_SECONDS, *, epsilon: float | None = None) -> Ahead:
        """How many more measurements the study will take: an interval that holds for 8 of 10.

        Copies of the study go on from where it stands, on truths that are likely by now; it is done
        once for each complete batch. Where nothing can be said yet, the ends are None, and ``why``
        says why.

        Parameters
        ----------
        seconds
            Processor time it may take. Of a large study that may be too little: ``slow`` says so.
        epsilon
            As if this were accepted from now on (:meth:`accept`).
        """

    @abstractmethod
    def status(self) -> dict[str, Any]:
        """Where the study stands, with the checks and the outlook, as JSON-ready values."""

    @abstractmethod
    def checks(self) -> Checks:
        """Whether what the study rests on holds: the model, the noise scale, rewards that stay."""

    @abstractmethod
    def rewards(self) -> Rewards:
        """Every reward that counts, with pull, arm and time, in the order of the pulls."""

    @abstractmethod
    def events(self, *kinds: str) -> list[Event]:
        """Everything else that was said: duplicates, conflicts, late tells, failures."""

    @abstractmethod
    def history(self) -> list[dict[str, int]]:
        """A row for each complete batch: its number, samples so far, survivors after it."""

    @abstractmethod
    def judgements(self) -> dict[str, Any]:
        """Who judged what, where options are compared two at a time, as JSON-ready values.

        ``standings`` has each option's share of wins, with ends that hold for all of them together
        at any time; ``won`` and ``met`` say how often the option of a row won against that of a
        column, and met it; ``judges`` how often each of them judged, preferred the first or the
        second, and agreed with others on the same two options. A judge who seems to prefer a side
        is pointed out.
        """

    @abstractmethod
    def export(self, path: str | Path, form: str | None = None, what: str = "measurements") -> Path:
        """Write what was measured to a file: CSV, JSON or Parquet, by its ending or ``form``."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_study(study: StudyCore) -> Checks:
    """Look at everything that was measured so far; the same as ``study.checks()``.

    Parameters
    ----------
    study
        Here or at a service.

    Examples
    --------
    >>> import surepick as sp
    >>> study = sp.create_study("checked", sp.Problem([[1.0], [2.0]]), storage="memory://")
    >>> check_study(study).warnings
    []
    """
    return study.checks()
