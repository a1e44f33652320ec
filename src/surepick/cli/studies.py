"""What the verbs about studies share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from surepick.errors import InvalidInputError
from surepick.text import plural, typed

if TYPE_CHECKING:
    from surepick.algorithms.base import Algorithm
    from surepick.client import Client, Here
    from surepick.problem import Problem
    from surepick.study import SegmentStudies, Study

STORAGE = "sqlite:///surepick.db"
STRATUM_HELP = "In a study with strata: the plate, operator, … for these measurements."
EXPLAIN_HELP = "Also the exact sentence of the certificate, with the theorem behind it."
NOT_YET, GAVE_UP, FINISHED, UNPROVEN = 4, 5, 6, 7  # exit codes; surepick --help explains them


def study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """NAME, --storage or --server, and --json; :func:`open_study` opens it, wherever it is."""
    return local_study_options(server_options(command))


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--server and --token-file, for :func:`at_server`."""
    return _server_option(_token_file_option(command))


def local_study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """NAME, --storage and --json, for verbs that need the database itself."""
    command = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(
        command
    )
    command = storage_option(command)
    return click.argument("name")(command)


def _keep(ctx: click.Context, option: click.Parameter, value: Any) -> Any:
    """For :func:`open_study`: no verb needs to know where its study is."""
    ctx.meta[f"surepick.{option.name}"] = value
    return value


_server_option = click.option(
    "--server",
    default=None,
    expose_value=False,
    callback=_keep,
    help="Instead of a storage: address of surepick serve.",
)
_token_file_option = click.option(
    "--token-file",
    default=None,
    expose_value=False,
    callback=_keep,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the token for the server; also taken from SUREPICK_TOKEN.",
)
storage_option = click.option(
    "--storage",
    default=STORAGE,
    show_default=True,
    envvar="SUREPICK_STORAGE",
    help="Where studies are kept: sqlite:///file.db or postgresql+psycopg://user@host/database; "
    "also taken from SUREPICK_STORAGE.",
)


def open_study(name: str, storage: str) -> Study:
    """The study of this name: in a database or, with --server, at a service.

    One at a service has all methods of :class:`~surepick.study.StudyCore`, and no others.
    """
    return cast("Study", place_of(storage).load_study(name))


def limit_in_words(problem: Problem, limit: str) -> str:
    """A limit as people say it."""
    from surepick.algorithms.limits.limit import parse_limit

    return parse_limit(limit).said_of(problem)


def open_studies(name: str, storage: str) -> Study | SegmentStudies:
    """The study of this name; or, where each segment has an answer, all studies of the test."""
    from surepick.errors import UnknownStudyError

    try:
        return open_study(name, storage)
    except UnknownStudyError as unknown:
        from surepick.study import SegmentStudies

        there = place_of(storage)
        names = there.list_studies()
        if not any(one.startswith(f"{name}@") for one in names):
            raise unknown from None
        return SegmentStudies.among(name, names, there.load_study)


def place_of(storage: str) -> Client | Here:
    """Where studies are: a service, if --server names one, or else a database."""
    from surepick.client import Here

    return at_server() or Here(storage)


def at_server() -> Client | None:
    """The way to the service that --server names; None where there is none."""
    ctx = click.get_current_context(silent=True)
    server = None if ctx is None else ctx.meta.get("surepick.server")
    if ctx is None or server is None:
        return None
    if ctx.get_parameter_source("storage") is ParameterSource.COMMANDLINE:
        raise InvalidInputError("server: not with --storage; a study is in one of the two")
    from surepick.client import Client

    token, file = os.environ.get("SUREPICK_TOKEN", ""), ctx.meta["surepick.token_file"]
    if file is not None:
        token = file.read_text(encoding="utf-8").strip()
    if not token:
        raise InvalidInputError("a server needs a token: --token-file FILE, or SUREPICK_TOKEN")
    return Client(server, token)


def say(as_json: bool, content: dict[str, Any], text: str) -> None:
    """The result, for programs or for people."""
    click.echo(json.dumps(content) if as_json else text)


def state_of(study: Study) -> str:
    """Where a study stands, behind "is", and what to type next."""
    if study.finished:
        return f"finished: {typed('answer', study.name)}"
    return f"paused: {typed('resume', study.name)}" if study.progress().paused else "under way"


def end_of(study: Study) -> list[str]:
    """Where a study stands, as a sentence."""
    return [f"The study is {state_of(study)}."]


def shown(text: str) -> str:
    """A label as it can be printed: without characters that a terminal would obey."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def bar(still_in: bool, share: float | None) -> str:
    """How much of the evidence that rules an option out is there."""
    if not still_in:
        return "ruled out"
    if share is None:
        return ""
    full = int(10 * share)
    return f"{'█' * full}{'░' * (10 - full)} {min(99, int(100 * share)):>3} %"


def spent(cost: float | None) -> str:
    """What measurements cost, in brackets; nothing where all cost the same."""
    return "" if cost is None else f" (cost {cost:,.6g})"


def spent_of(limits: dict[str, Any]) -> str:
    """What is spent of a budget and what is left; nothing where there is none."""
    if limits["budget"] is None:
        return ""
    of = "" if limits["in_money"] else " measurements"
    return (
        f"Spent {limits['spent']:,.6g} of {limits['budget']:,.6g}{of}, {limits['left']:,.6g} left"
    )


def said_of_uncounted(count: int) -> list[str]:
    """What is said of measurements that came for batches that were not complete at the end."""
    belong, they, are = ("belongs", "it", "is") if count == 1 else ("belong", "they", "are")
    text = (
        f"{count:,} more {belong} to a batch that was not complete at the end; {they} {are} stored"
    )
    return [f"{text} but not counted."] if count else []


def _far_off(algorithm: Algorithm) -> bool:
    """Whether nobody has set a limit, and it ends by itself."""
    from surepick.study.spec import MOST_SAMPLES

    return algorithm.ends and algorithm.max_samples == MOST_SAMPLES


def ends_at(algorithm: Algorithm) -> str:
    """When it ends at the latest."""
    said = []
    if algorithm.each_once:
        said.append(f"when all {algorithm.measured_on():,} items were met at the latest")
    if algorithm.budget is not None:
        said.append(f"when {algorithm.budget:,.12g} is spent (--budget)")
    if algorithm.max_samples is not None and not _far_off(algorithm):
        most = f"after {plural(algorithm.max_samples, 'measurement')} at the latest (--max-samples)"
        said.append(most)
    return f"It ends {', and '.join(said)}."
