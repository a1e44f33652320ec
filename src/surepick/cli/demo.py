"""``surepick demo``: a small study from beginning to end, on simulated visitors."""

from __future__ import annotations

import csv
import io
import json
import time
from itertools import count, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.options import DELTA, JSON, from_signature, option
from surepick.cli.screen import console_of, table_of
from surepick.cli.studies import shown
from surepick.text import plural, typed

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from surepick.study import Pull, Study

_NAME = "layouts"
_PARTS = {
    "headline": {"short": 0.5, "long": 0.0},
    "picture": {"photo": 0.6, "drawing": 0.2, "none": 0.0},
    "button": {"round": 0.4, "square": 0.0},
}
"""What a layout is made of, and what each part adds to the mark that visitors give on average."""
_BASE, _SCATTER = 5.0, 0.5
_AT_ONCE = 8
"""Visitors between two looks at the race."""
_PAUSE = 0.2
"""Seconds between two looks, so that somebody at a terminal can follow it."""


@click.command("demo", short_help="Watch a small study find the best page layout.")
@from_signature
def command(
    delta: float = DELTA,
    seed: int = option(0, "Seed of the order, and of visitors."),
    out: Path = option("results", "Folder."),
    as_json: bool = JSON,
) -> None:
    """Find the best of twelve page layouts from the marks of simulated visitors.

    Leaves the table of layouts, the study, its answer, a certificate and, with the extra plot, a
    picture and a page about it in the folder: all that a study of yours would have.
    """
    from surepick.arrays.validate import risk

    risk(delta, "delta")
    console = console_of(120, stderr=as_json)
    out.mkdir(parents=True, exist_ok=True)
    study = _begun(out, delta, seed)
    _tell_the_story(console, study)
    _race(console, study, seed)
    files = _kept(study, out)
    answer = study.answer
    if as_json:
        click.echo(json.dumps(answer.to_dict()))
        return
    best = max(_layouts(), key=_mean)
    truth = "It is the best one" if answer.label == best else f"WRONG: {best} is the best one"
    after = plural(answer.samples, "visitor")
    console.print(
        f"\n[bold green]Answer: {answer.label}[/bold green], after {after}. "
        f"{answer.plain}\n({truth}: this is a simulation, so the truth is known.)\n"
    )
    console.print(f"In {shown(str(out))}/ you will find {', '.join(files)}. Next, try:")
    storage = f"sqlite:///{shown(str(out))}/demo.db"
    console.print(f"  {typed('verify', shown(str(out / 'certificate.json')))}", soft_wrap=True)
    console.print(f"  {typed('status', _NAME, '--storage', storage)}", soft_wrap=True)
    console.print(f"  {typed('new', 'mine', shown(str(out / 'layouts.csv')))}", soft_wrap=True)


def _layouts() -> dict[str, dict[str, str]]:
    parts = [dict(zip(_PARTS, values)) for values in product(*_PARTS.values())]
    return {"-".join(each.values()): each for each in parts}


def _mean(label: str) -> float:
    return _BASE + sum(_PARTS[part][value] for part, value in _layouts()[label].items())


def _begun(out: Path, delta: float, seed: int) -> Study:
    """A new study of a table that is written first, as a user's would be."""
    import surepick as sp
    from surepick.files import write_whole

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["label", *_PARTS])
    writer.writerows([label, *parts.values()] for label, parts in _layouts().items())
    write_whole(out / "layouts.csv", text.getvalue())
    for old in out.glob("demo.db*"):
        old.unlink()
    storage = f"sqlite:///{out}/demo.db"
    settings: dict[str, Any] = {"delta": delta, "seed": seed}
    return sp.create_study(
        _NAME, table=out / "layouts.csv", features=list(_PARTS), storage=storage, **settings
    )


def _tell_the_story(console: Console, study: Study) -> None:
    console.print(
        f"[bold]Which of {study.problem.n_arms} page layouts do visitors like best?[/bold] Each "
        "visitor sees one layout and rates it, and no two visitors agree."
    )
    rows = [[label, *parts.values()] for label, parts in _layouts().items()]
    console.print(table_of(["label", *_PARTS], rows, left=_PARTS))


def _race(console: Console, study: Study, seed: int) -> None:
    """Measure until there is an answer; the screen is that of ``surepick status --watch``."""
    import numpy as np
    from rich.live import Live

    from surepick.cli.status import look, screen

    rng, seen = np.random.default_rng(seed), look(study, patient=True)
    with Live(screen(study, seen, 0), console=console, auto_refresh=False, transient=True) as live:
        for number in count(1):
            study.tell_many([(pull.id, _mark(pull, rng)) for pull in study.ask(_AT_ONCE)])
            if study.finished:
                break
            if console.is_terminal:
                # A forecast takes a second: a new one now and then, the rest at every look.
                seen = look(study, patient=True) if number % 5 == 0 else seen | study.status()
                live.update(screen(study, seen, 0), refresh=True)
                time.sleep(_PAUSE)
    console.print(screen(study, look(study, patient=True), 0))


def _mark(pull: Pull, rng: np.random.Generator) -> float:
    return _mean(pull.label) + _SCATTER * float(rng.standard_normal())


def _kept(study: Study, out: Path) -> list[str]:
    """Write what can be shown to others; what was written."""
    from surepick.errors import MissingExtraError
    from surepick.files import write_whole
    from surepick.report.colleague import study_page
    from surepick.report.picture import draw, view
    from surepick.run.verify import verify

    answer = study.answer
    write_whole(out / "answer.json", json.dumps(answer.to_dict(), indent=2) + "\n")
    write_whole(out / "certificate.json", json.dumps(answer.certificate(), indent=1) + "\n")
    verify(out / "certificate.json")
    said = ["the table (layouts.csv)", "the answer (answer.json)", "its proof (certificate.json)"]
    try:
        png = draw(view(study), ["png"])["png"]
    except MissingExtraError:
        return said
    write_whole(out / "demo.png", png)
    write_whole(out / "demo.html", study_page(study, png=png))
    return [*said, "a picture (demo.png)", "a page for a colleague (demo.html)"]
