"""``surepick run``: measure with a command or a function until there is an answer."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surepick.algorithms.findings import PROVEN
from surepick.cli.studies import (
    GAVE_UP,
    STRATUM_HELP,
    UNPROVEN,
    open_remote_study,
    open_study,
    say,
    shown,
    study_options,
)
from surepick.errors import AccessError, InvalidInputError
from surepick.text import plural, typed

if TYPE_CHECKING:
    from surepick.study import StudyCore
    from surepick.study.workers.work import Work


@click.command("run", short_help="Measure until the study is finished.")
@study_options
@click.option("--server", default=None, help="Instead of a storage: address of surepick serve.")
@click.option(
    "--token-file",
    default=None,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the token for the server; also taken from SUREPICK_TOKEN.",
)
@click.option("--exec", "line", default=None, help="Command that prints one number.")
@click.option("--call", "function", default=None, help="Instead: a Python function, module:name.")
@click.option("--workers", default=1, show_default=True, help="Measurements at a time.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds for a measurement.")
@click.option("--retries", default=2, show_default=True, help="Retries of a pull that failed.")
@click.option("--worker", default=None, help="Name of these workers.  [default: host and process]")
@click.option("--stratum", default=None, help=STRATUM_HELP)
@click.option(
    "--log",
    default=None,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for the output of all measurements, a line of JSON each.  "
    "[default: NAME.measurements.jsonl]",
)
def command(
    name: str,
    storage: str,
    as_json: bool,
    server: str | None,
    token_file: Path | None,
    line: str | None,
    function: str | None,
    workers: int,
    timeout: float,
    retries: int,
    worker: str | None,
    stratum: str | None,
    log: Path | None,
) -> None:
    """Measure until the study is finished: --exec 'measure.sh {label}' or --call module:function.

    The command is started without a shell. {label}, {arm}, {pull} and, in a study with items,
    {item} in it are replaced; its environment has SUREPICK_LABEL, SUREPICK_ARM, SUREPICK_PULL,
    SUREPICK_ATTEMPT, SUREPICK_ITEM, in a study with strata SUREPICK_STRATUM, one
    SUREPICK_FEATURE_column for each column of the table, and all of them as JSON in
    SUREPICK_FEATURES. Where a label may begin with a dash, write: measure.sh -- {label}

    A command that fails, takes too long (it is killed, with all it started) or does not print
    exactly one finite number has failed; its pull is tried again later. A function gets an object
    with label, arm, pull, attempt and features, perhaps in several threads at once, and returns a
    number.

    After Ctrl-C nothing new is started and what is being measured is still told (again: it is
    given up). Several of these may run at the same time, on several machines with a shared
    database, or with --server.

    The exit code is 0 when the answer is proven, and 7 when the study ended without a proof (at a
    limit, say). It is 5 when a pull failed more often than --retries allows, or when nothing but
    failures came back; all that was measured is kept, and the same command goes on from there.
    """
    from surepick.arrays.validate import positive
    from surepick.study.workers.bar import Bar
    from surepick.study.workers.measure import Call, Command
    from surepick.study.workers.work import Workers

    if (line is None) == (function is None):
        raise InvalidInputError("give either --exec 'command {label}' or --call module:function")
    positive(timeout, "timeout")
    if server is None:
        study: StudyCore = open_study(name, storage)
    else:
        study = open_remote_study(name, server, token_file)
    measure = Command(line, timeout) if line is not None else Call(str(function), timeout)
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
        )
        with _signals_to(crew.interrupt):
            work = crew.run()
    _conclude(study, work, log, as_json)


@contextmanager
def _signals_to(handler: Callable[..., None]) -> Iterator[None]:
    """Ctrl-C and being terminated."""
    both = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(one, handler) for one in both]
    try:
        yield
    finally:
        for one, old in zip(both, before):
            signal.signal(one, old)


def _conclude(study: StudyCore, work: Work, log: Path, as_json: bool) -> None:
    content = {
        "study": study.name,
        "finished": work.finished,
        "told": work.told,
        "failed": work.failed,
        "stopped": work.stopped or None,
        "log": str(log),
    }
    again = " and were tried again" if work.finished else ""
    failed = f", {work.failed:,} failed{again}" if work.failed else ""
    text = f"{plural(work.told, 'measurement')}{failed}. What they printed is in {log}"
    if work.finished:
        text += f"\nFinished: {typed('answer', study.name)}"
    say(as_json, content, text)
    if work.finished:
        if not _proven(study):
            click.echo("The answer is not proven; it explains why.", err=True)
            raise SystemExit(UNPROVEN)
        return
    click.echo(f"Stopped: {shown(work.stopped)}", err=True)
    raise SystemExit(130 if work.stopped == "interrupted" else GAVE_UP)


def _proven(study: Any) -> bool:
    """Whether the answer is proven; a worker's token may see that, but not the answer."""
    try:
        return bool(study.answer.guarantee)
    except AccessError:
        return study.status()["promise"]["kind"] in PROVEN
