"""The command line: a verb is loaded when it is called.

It lives in the file of its name, or beside a verb that is like it; those that do something to a
study, and nothing else, are made from what acts declare.
"""

from __future__ import annotations

import importlib
import json
import sys

import click

from surepick import __version__
from surepick.errors import (
    ServiceError,
    StorageError,
    StudyExistsError,
    SurepickError,
    TellConflictError,
    UnknownPullError,
    UnknownStudyError,
)

# Every verb, by what people do. Those in the first list of a group are explained by --help.
_GROUPS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Start": (("new", "time", "demo"), ("plan", "lookback")),
    "Measure": (("ask", "tell", "run"), ("fail", "split", "record")),
    "Look": (("status", "answer"), ("judges", "list", "plot", "notify")),
    "Change": (
        ("correct",),
        (
            "withdraw",
            "set-aside",
            "accept",
            "add",
            "retire",
            "limit",
            "act",
            "pause",
            "resume",
            "stop",
            "delete",
        ),
    ),
    "Share": (("report",), ("verify", "stamp", "export", "copy", "serve", "mcp")),
    "Research": ((), ("bench", "reproduce", "leaderboard")),
}
_VERBS = tuple(verb for group in _GROUPS.values() for verbs in group for verb in verbs)
# Those about no study, which print other things than what programs wait for.
_STUDY_VERBS = frozenset(_VERBS) - frozenset(
    ("verify", "stamp", "time", "plan", "lookback", "bench", "reproduce", "leaderboard")
    + ("demo", "serve", "mcp")
)
# Verbs of acts, made from what these declare.
_ACTS = ("correct", "withdraw", "set-aside", "accept", "add", "retire", "limit")
_ACTS += ("pause", "resume", "stop")
# Verbs that live beside others.
_BESIDE = {"fail": "tell", "plot": "report", "mcp": "serve", "act": "acts"}
_BESIDE |= {"copy": "manage", "delete": "manage", "list": "manage"}
_ALL = "surepick.all"  # whether every verb is explained
_CALLERS_MISTAKES = (StudyExistsError, TellConflictError, UnknownPullError, UnknownStudyError)
_CODES = """\b
Exit codes:
  0    done; for answer, run and verify: the answer is also proven
  1    a check failed (verify), something is slower (time --not-slower-than),
       or some of the work failed (bench, plan)
  2    the input is wrong; the message says what would be accepted
  3    a file, a database or a service cannot be used
  4    not yet: the study has no answer (answer), or all that is open is with other
       workers (ask)
  5    measurements failed too often (run); finished ones are kept
  6    the study is finished: there is nothing left to measure (ask)
  7    there is an answer, or a valid record, but nothing is proven: the study
       was stopped early, or its promise was withdrawn (answer, run, verify),
       or it is not clear which is fastest (time)
  130  interrupted
"""


class _Verbs(click.Group):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ALL] = "--all" in args[:2]  # also behind --help
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        everything = ctx.meta.get(_ALL, True)
        for title, (first, others) in _GROUPS.items():
            explained = [*first, *(others if everything else ())]
            rows = [(verb, self._short_help(ctx, verb)) for verb in explained]
            if not everything and others:
                rows.append(("", f"also: {', '.join(others)}"))
            with formatter.section(title):
                formatter.write_dl(rows, col_max=12)
        if not everything:
            formatter.write_paragraph()
            formatter.write_text("surepick --all explains every verb, surepick VERB --help one.")

    def _short_help(self, ctx: click.Context, verb: str) -> str:
        command = self.get_command(ctx, verb)
        assert command is not None
        return command.get_short_help_str(limit=80)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_VERBS]  # in their order

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _ACTS or cmd_name not in _VERBS:  # the latter perhaps of a plugin
            from surepick.cli import acts

            return acts.verb(cmd_name) if acts.known(cmd_name) else None
        home = importlib.import_module(f"surepick.cli.{_BESIDE.get(cmd_name, cmd_name)}")
        return getattr(home, f"{cmd_name}_command" if cmd_name in _BESIDE else "command")


def _explain(ctx: click.Context) -> None:
    click.echo(ctx.get_help(), color=ctx.color)
    ctx.exit()


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_CODES)
@click.version_option(__version__)
@click.option(
    "--all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, option, value: _explain(ctx) if value else None,
    help="Show this message with every verb.",
)
def cli() -> None:
    """Find the best of many options from few noisy measurements, and prove it."""


def main() -> None:
    """Entry point: errors of ours become one line and an exit code."""
    try:
        # The result is an int only where a verb ended by ctx.exit(code).
        code = cli(prog_name="surepick", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except SurepickError as error:
        trouble = isinstance(error, StorageError | ServiceError)
        trouble &= not isinstance(error, _CALLERS_MISTAKES)
        sys.exit(_report(error, 3 if trouble else 2))
    except OSError as error:
        sys.exit(_report(error, 3))


def _report(problem: Exception, code: int) -> int:
    """Say what went wrong: a line for people, and with --json (of studies) one for programs."""
    click.echo(f"error: {problem}", err=True)
    if "--json" in sys.argv[1:] and sys.argv[1] in _STUDY_VERBS:
        click.echo(json.dumps({"error": str(problem), "type": type(problem).__name__}))
    return code
