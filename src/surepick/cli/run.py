"""``surepick run``: measure with a command or a function until there is an answer."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surepick.algorithms.findings import PROVEN
from surepick.cli.options import file_option, from_signature, option
from surepick.cli.studies import (
    GAVE_UP,
    STRATUM_HELP,
    UNPROVEN,
    open_study,
    say,
    shown,
    study_options,
)
from surepick.errors import AccessError, InvalidInputError
from surepick.text import plural, typed

if TYPE_CHECKING:
    from surepick.study import StudyCore
    from surepick.study.workers.measure import Measure
    from surepick.study.workers.work import Work


@click.command("run", short_help="Measure until the study is finished.")
@study_options
@from_signature
def command(
    name: str,
    storage: str,
    as_json: bool,
    line: str | None = option(None, "Command that prints one number.", flag="--exec"),
    function: str | None = option(None, "Instead: a Python function, module:name.", flag="--call"),
    known: Path | None = file_option(
        None,
        "Scores that are known already, in a study of a finite set of items (new --complete): a "
        "table with the columns label, item and reward. They are taken from there when needed.",
        exists=True,
    ),
    workers: int = option(1, "Measurements at a time."),
    per_minute: float | None = option(
        None, "Most measurements that begin in a minute, of all workers on this machine."
    ),
    timeout: float = option(60.0, "Seconds for a measurement."),
    retries: int = option(2, "Retries of a measurement that failed."),
    worker: str | None = option(None, "Name of these workers.  [default: host and process]"),
    stratum: str | None = option(None, STRATUM_HELP),
    log: Path | None = file_option(
        None,
        "File for the output of all measurements, a line of JSON each.  "
        "[default: NAME.measurements.jsonl]",
    ),
) -> None:
    """Measure until the study is finished: --exec 'measure.sh {label}' or --call module:function.

    The command is started without a shell. {label}, {arm}, {pull} and, in a study with items,
    {item} in it are replaced; its environment has SUREPICK_LABEL, SUREPICK_ARM, SUREPICK_PULL,
    SUREPICK_ATTEMPT, SUREPICK_ITEM, in a study with strata SUREPICK_STRATUM, one
    SUREPICK_FEATURE_column for each column of the table, and all of them as JSON in
    SUREPICK_FEATURES. Where a label may begin with a dash, write: measure.sh -- {label}

    A command that fails, takes too long (it is killed, with all it started) or does not print
    exactly one finite number has failed, and is started again later. A function gets an object
    with label, arm, pull, attempt and features, perhaps in several threads at once, and returns a
    number. It may be a coroutine function, which is cancelled when its time is up.

    When a service says that there are too many calls (status 429: in the error of a function, or in
    the last line that a command says), all workers wait, as long as it asks for or longer each
    time, and the call is made again; --per-minute keeps it from coming to that. What may pass (lost
    connections, time-outs, status 500 and above) is tried again after a while. What would fail
    again (a wrong key, an address that is not there, a mistake in the function) is not: it ends
    the work at once, and says what to do. In a study of a finite set of items (new --complete) a
    cell that cannot be measured counts as the lowest score, and is listed, as soon as something
    else works.

    After Ctrl-C nothing new is started and what is being measured is still told (again: it is
    given up). Several of these may run at the same time, on several machines with a shared
    database, or with --server.

    The exit code is 0 when the answer is proven, and 7 when the study ended without a proof (at a
    limit, say). It is 5 when a measurement failed more often than --retries allows, or nothing but
    failures came back; all that was measured is kept, and the same command goes on from there.
    """
    from surepick.arrays.validate import A_MONTH, positive
    from surepick.study.workers.bar import Bar
    from surepick.study.workers.run import pace_of
    from surepick.study.workers.work import Workers

    if (line is None) == (function is None) and (line is not None or known is None):
        raise InvalidInputError("give either --exec 'command {label}' or --call module:function")
    positive(timeout, "timeout", A_MONTH)
    study: StudyCore = open_study(name, storage)
    pace = pace_of(study, per_minute)
    measure = _measure(study, line, function, known, timeout)
    log = log or Path(re.sub(r"[^\w.-]", "_", name) + ".measurements.jsonl")
    with log.open("ab", buffering=0) as file, Bar(study) as progress:

        def keep(record: dict[str, Any]) -> None:
            try:
                file.write(json.dumps(record).encode() + b"\n")
            except OSError as error:
                raise OSError(
                    f"the log of measurements {str(log)!r} cannot be written: {error.strerror}; "
                    "make room, or name another file with --log (recorded rewards are kept)"
                ) from error

        crew = Workers(
            study,
            measure,
            workers=workers,
            retries=retries,
            name=worker,
            keep=keep,
            on_change=progress.show,
            stratum=stratum,
            pace=pace,
        )
        with _signals_to(crew.interrupt):
            work = crew.run()
    _conclude(study, work, log, as_json)


def _measure(
    study: StudyCore, line: str | None, function: str | None, known: Path | None, timeout: float
) -> Measure:
    from surepick.study.workers.known import Known, Nothing, known_scores
    from surepick.study.workers.measure import Call, Command

    items = study.algorithm.measured_on()
    if known is not None and items is None:
        raise InvalidInputError("known: only studies with items (new --complete) have known scores")
    if known is not None and not study.algorithm.each_once:
        raise InvalidInputError(
            "known: items come up again and again in this study (new --items), and a score that is "
            "known would count as a new measurement each time; make the study with --complete, "
            "where each counts once"
        )
    scores = None
    if known is not None and items is not None:
        scores = known_scores(known, study.problem, items)
    if line is not None:
        measure: Measure = Command(line, timeout)
    else:
        measure = Nothing() if function is None else Call(function, timeout)
    return measure if scores is None else Known(scores, measure)


@contextmanager
def _signals_to(handler: Callable[..., None]) -> Iterator[None]:
    both = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(one, handler) for one in both]
    try:
        yield
    finally:
        for one, old in zip(both, before):
            signal.signal(one, old)


def _conclude(study: StudyCore, work: Work, log: Path, as_json: bool) -> None:
    cost = None
    if study.problem.costs is not None:
        with suppress(AccessError):  # who compares options does not see where the study stands
            cost = study.status()["cost"]
    content = {
        "study": study.name,
        "finished": work.finished,
        "told": work.told,
        "failed": work.failed,
        "refused": work.refused,
        "lowest": work.lowest,
        "cost": cost,
        "stopped": work.stopped or None,
        "log": str(log),
    }
    again = " and were tried again" if work.finished and work.failed > work.lowest else ""
    failed = f", {work.failed:,} failed{again}" if work.failed else ""
    failed += f", {work.refused:,} refused and made again later" if work.refused else ""
    text = f"{plural(work.told, 'measurement')}{failed}. What they printed is in {log}"
    if cost is not None:
        text += f"\nCost of all measurements so far: {cost:,.6g}"
    if work.lowest:
        text += (
            f"\n{plural(work.lowest, 'cell')} could not be measured and count as the worst score; "
            f"the answer lists them. To change one: "
            f"{typed('correct', study.name, more='PULL SCORE --reason WHY')}"
        )
    if work.finished:
        text += f"\nFinished: {typed('answer', study.name)}"
    say(as_json, content, text)
    if work.finished:
        if not _proven(study):
            click.echo("The answer is not proven; it explains why.", err=True)
            raise SystemExit(UNPROVEN)
        return
    click.echo(f"Stopped: {shown(work.stopped)}", err=True)
    click.echo("Everything measured so far is kept: run it again to continue.", err=True)
    raise SystemExit(130 if work.stopped == "interrupted" else GAVE_UP)


def _proven(study: Any) -> bool:
    """Whether the answer is proven; a worker's token may see that, but not the answer."""
    try:
        return bool(study.answer.guarantee)
    except AccessError:
        pass
    try:
        return study.status()["promise"]["kind"] in PROVEN
    except AccessError:  # who compares options may not even see that
        return True
