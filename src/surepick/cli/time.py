"""``surepick time``: which of several commands is the fastest?"""

from __future__ import annotations

import itertools
import math
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.numbers import Number, Rate
from surepick.cli.options import JSON, argument, file_option, from_signature, option
from surepick.cli.studies import GAVE_UP, UNPROVEN, say, shown
from surepick.errors import InvalidInputError, MeasurementError
from surepick.text import plural

if TYPE_CHECKING:
    from surepick.timing import Beside, Fastest

_SLOWER = 1  # exit code
_BUSY = "For a quantile it should be as busy all the time."
_MARGIN = 0.05  # that is not slower yet, unless another one is given
_EXPORTS = (".json", ".md", ".csv", ".xml")
_PICTURES = (".png", ".pdf", ".svg")


@click.command("time", short_help="Find the fastest of several commands.")
@from_signature
def command(
    commands: tuple[str, ...] = argument(),
    listed: Path | None = file_option(
        None,
        "A file with a command in each line; name: command gives it a name.",
        exists=True,
        flag="--file",
    ),
    names: tuple[str, ...] = option((), "A name for each command, in their order.", flag="--name"),
    parameters: tuple[str, ...] = option(
        (),
        "Replaces {NAME} in commands by each of these values.",
        flag="--parameter",
        metavar="NAME=A,B,…",
    ),
    setup: str | None = option(None, "A command to run once, before everything else."),
    prepare: str | None = option(None, "A command to run before every run; it is not timed."),
    warmup: int = option(1, "First runs of each that do not count."),
    shell: str = option(
        "/bin/sh", "The shell that runs the commands; none: they are run directly."
    ),
    any_exit: bool = option(False, "Count runs that end with another exit code than 0."),
    delta: float = option(0.05, "Accepted risk of error.", Rate()),
    max_runs: int | None = option(
        None,
        "Give up after so many runs of all together; by default 500 for each command.",
        click.IntRange(min=1),
    ),
    max_seconds: float | None = option(
        None, "Give up after this time, also while a command runs.", Number()
    ),
    timeout: float | None = option(
        None,
        "Seconds after which a run is ended, with all that it has started; by default 20 times "
        "the slowest so far, and 10 at least.",
        Number(),
    ),
    hung: str = option(
        "slowest",
        "What a run counts as that was ended: slower than all that do end, or an error.",
        click.Choice(["slowest", "failed"]),
    ),
    not_slower_than: str | None = option(
        None,
        "Instead: are the others slower than this one, by more than --epsilon? Exit code 1 if any "
        "is.",
        metavar="NAME",
    ),
    epsilon: float | None = option(
        None,
        "How much slower than the fastest is quick enough, such as 2% (by default nothing is); "
        "with --not-slower-than: how much slower is not slower yet (by default 5%).",
        Rate(),
    ),
    quantile: float | None = option(
        None,
        "Find the one with the shortest quantile instead: 95% for the time within which 95 of 100 "
        "runs end.",
        Rate(),
    ),
    seed: int | None = option(None, "Of the random order."),
    exports: tuple[Path, ...] = file_option(
        (),
        "Write the result to a file: .json (with all times), .md, .csv or .xml (JUnit); as a "
        "picture: .png, .pdf or .svg.",
        flag="--export",
    ),
    as_json: bool = JSON,
) -> None:
    """Time commands in random order until it is clear which one usually is the fastest.

    \b
    surepick time 'grep -c x big.txt' 'rg -c x big.txt'
    surepick time --name main --name branch './main' './branch' --not-slower-than main

    A run of each is compared with a run of every other; nothing is assumed about how times vary.
    A command that hangs is ended, with all that it has started, and counts as slower than all that
    end (--timeout, --hung).

    The exit code is 0 where it is decided, 7 where it is not, and 5 where a command fails.
    """
    from surepick import timing
    from surepick.timing.clock import called, run_to_end

    for file in exports:
        if file.suffix.lower() not in (*_EXPORTS, *_PICTURES):
            raise InvalidInputError(
                f"export: {file.name} must end in {', '.join((*_EXPORTS, *_PICTURES))}"
            )
    if quantile is not None and not_slower_than is not None:
        raise InvalidInputError("quantile: leave it out with --not-slower-than, or that")
    used = None if shell == "none" else shell
    labelled = _named([*commands, *_lines(listed)], names, parameters)
    raced = [
        timing.Command(label, text, shell=used, prepare=prepare, any_exit=any_exit)
        for label, text in labelled
    ]
    own: dict[str, Any] = {"delta": delta, "max_runs": max_runs, "max_seconds": max_seconds}
    own |= {"warmup": warmup, "seed": seed, "timeout": timeout, "hung": hung}
    try:
        if setup is not None:
            most = math.inf if max_seconds is None else max_seconds
            run_to_end(called(setup, used or "/bin/sh"), "the setup", most)
        with _Progress(len(raced)) as progress:
            if not_slower_than is None:
                found: Fastest | Beside = timing.fastest(
                    raced, epsilon=epsilon or 0.0, quantile=quantile, progress=progress.told, **own
                )
            else:
                margin = _MARGIN if epsilon is None else epsilon
                found = timing.not_slower(
                    raced, not_slower_than, epsilon=margin, progress=progress.told, **own
                )
    except MeasurementError as error:
        click.echo(f"error: {error}", err=True)
        raise SystemExit(GAVE_UP) from None
    for file in exports:
        _export(found, file)
    said = found.to_dict() | {"commands": dict(labelled)}
    say(as_json, said, "\n".join([_aligned(found), "", str(found), *_machine(found, used)]))
    raise SystemExit(_code(found))


def _code(found: Any) -> int:
    from surepick.timing import Fastest

    if isinstance(found, Fastest):
        return 0 if found.decided else UNPROVEN
    if found.slower:
        return _SLOWER
    return UNPROVEN if found.undecided else 0


def _lines(file: Path | None) -> list[str]:
    if file is None:
        return []
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _named(
    commands: Sequence[str], names: Sequence[str], parameters: Sequence[str]
) -> list[tuple[str, str]]:
    if names and len(names) != len(commands):
        raise InvalidInputError(
            f"name: there are {plural(len(commands), 'command')} and {plural(len(names), 'name')}; "
            "give one for each, or none"
        )
    labelled = []
    for number, text in enumerate(commands):
        own = re.match(r"([\w .+-]{1,40}): +(\S.*)", text)
        label, text = (own[1], own[2]) if own else (text, text)
        labelled.append((names[number] if names else label, text))
    values = {}
    for one in parameters:
        key, equals, listed = one.partition("=")
        if not equals or not key.strip():
            raise InvalidInputError(f"parameter: expected NAME=A,B,…; got {one!r:.80}")
        values[key.strip()] = listed.split(",")
    found = []
    for label, text in labelled:
        used = [key for key in values if f"{{{key}}}" in text]
        for chosen in itertools.product(*(values[key] for key in used)):
            filled, name = text, label
            for key, value in zip(used, chosen):
                filled = filled.replace(f"{{{key}}}", value)
                name = name.replace(f"{{{key}}}", value)
            if used and name == label and label != text:
                name = f"{label} ({', '.join(chosen)})"
            found.append((filled if label == text else name, filled))
    if len(found) < 2:
        raise InvalidInputError(
            f"commands: there must be two at least to find the fastest; got {len(found)}"
        )
    return found


def _export(found: Any, file: Path) -> None:
    import json

    from surepick.files import write_whole

    form = file.suffix.lower()
    if form in _PICTURES:
        from surepick.report.times import draw

        write_whole(file, draw(found, form[1:]))
    elif form == ".json":
        write_whole(file, json.dumps(found.to_dict(), indent=1) + "\n")
    elif form == ".xml":
        write_whole(file, _junit(found))
    else:
        write_whole(file, found.markdown() if form == ".md" else found.csv())


def _junit(found: Any) -> str:
    """A case for each command that was compared; for the fastest of all, one."""
    from surepick.report.gates import FAILED, PASSED, UNDECIDED, Case, junit
    from surepick.timing import Fastest

    if isinstance(found, Fastest):
        outcome = PASSED if found.decided else UNDECIDED
        return junit("time", [Case("which is the fastest", outcome, str(found))])
    took = {row.name: row.median for row in found.rows}
    outcomes = ((found.slower, FAILED), (found.not_slower, PASSED), (found.undecided, UNDECIDED))
    cases = [
        Case(f"{name} is not slower than {found.than}", outcome, str(found), took[name])
        for names, outcome in outcomes
        for name in names
    ]
    return junit("time", cases)


def _aligned(found: Any) -> str:
    head, rows = found.table()
    cells = [[shown(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = []
    for row in cells:
        first, *rest = (
            cell.ljust(n) if not i else cell.rjust(n)
            for i, (cell, n) in enumerate(zip(row, widths))
        )
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)


def _machine(found: Any, shell: str | None) -> list[str]:
    from surepick.timing.clock import start_up
    from surepick.timing.result import seconds

    said = []
    start, least = start_up(shell), min(row.least for row in found.rows)
    if start > 0.2 * least:
        what = "starting the shell" if shell else "starting a process"
        said.append(
            f"Note: about {seconds(start)} of each run is {what}. It is the same for all, but it "
            f"makes ratios look smaller{'. --shell none is quicker' if shell else ''}."
        )
    steady = found.answer.quantile is None
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    if load > cores:
        said.append(
            f"Note: the machine is busy (load {load:.1f} on {plural(cores, 'processor')}). Times "
            "vary more then, and it takes more runs. "
            + ("What was shown holds all the same." if steady else _BUSY)
        )
    return said


class _Progress:
    """A line that says how far it is, while it runs; none where nobody looks."""

    def __init__(self, options: int) -> None:
        self._options, self._shown = options, False
        self._live = sys.stderr.isatty()

    def __enter__(self) -> _Progress:
        return self

    def told(self, runs: int, left: tuple[str, ...]) -> None:
        if self._live:
            self._shown = True
            text = f"\r{plural(runs, 'run')}, {len(left)} of {self._options} not decided "
            click.echo(text, nl=False, err=True)

    def __exit__(self, *_: object) -> None:
        if self._shown:
            click.echo("\r" + " " * 60 + "\r", nl=False, err=True)
