"""The command line: one file per verb, loaded when its verb is called."""

from __future__ import annotations

import importlib
import sys

import click

from surepick.errors import SurepickError

_VERBS = ("demo", "plan", "bench", "reproduce", "verify")


class _Verbs(click.Group):
    """Verbs by name; each lives in the file of that name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        return importlib.import_module(f"surepick.cli.{cmd_name}").command


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="surepick")
def cli() -> None:
    """Find the best of many options from few noisy measurements, and prove it."""


def main() -> None:
    """Entry point: errors of ours become one line and exit code 2."""
    try:
        # The result is an int only where a verb ended by ctx.exit(code).
        code = cli(prog_name="surepick", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except SurepickError as problem:
        click.echo(f"error: {problem}", err=True)
        sys.exit(2)
    except OSError as problem:
        click.echo(f"error: {problem}", err=True)
        sys.exit(3)
