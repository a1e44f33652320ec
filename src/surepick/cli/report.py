"""``surepick report`` and ``surepick plot``: a study as a page, and as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from surepick.cli.options import file_option, from_signature, option
from surepick.cli.studies import local_study_options, open_study, say
from surepick.errors import InvalidInputError


@click.command("report", short_help="Write a page about a study, for a colleague.")
@local_study_options
@from_signature
def command(
    name: str,
    storage: str,
    as_json: bool,
    out: Path | None = file_option(None, "File; by default NAME.html."),
    top: int = option(15, "Options in the picture; 0 for all."),
) -> None:
    """Write one page about a study: the question, the answer, how sure it is, and why.

    With pictures and every measurement inside, so that it can be sent as it is. Needs the extra
    plot.
    """
    from surepick.files import write_whole
    from surepick.report.colleague import study_page

    out = out or Path(f"{_as_file(name)}.html")
    content = study_page(open_study(name, storage), top)
    write_whole(out, content)
    say(as_json, {"file": str(out), "bytes": len(content.encode())}, f"Written to {out}")


@click.command("plot", short_help="Draw where the options stand, for a slide.")
@local_study_options
@from_signature
def plot_command(
    name: str,
    storage: str,
    as_json: bool,
    out: Path | None = file_option(
        None, "File; its extension (.png, .pdf or .svg) sets the format. By default NAME.png."
    ),
    top: int = option(15, "Options to show; 0 for all."),
) -> None:
    """Draw where the options stand, how much was measured of each, and how the race went.

    Lines say between what the difference to the leader (the baseline, the control) lies; they hold
    at any time, however often one looks. Needs the extra plot.
    """
    from surepick.files import write_whole
    from surepick.report.picture import FORMATS, draw, view

    out = out or Path(f"{_as_file(name)}.png")
    form = out.suffix[1:].lower()
    if form not in FORMATS:
        raise InvalidInputError(f"out: {out.name} must end in .png, .pdf or .svg")
    seen = view(open_study(name, storage), top)
    write_whole(out, draw(seen, [form])[form])
    say(as_json, {"file": str(out), "title": seen.title}, f"{seen.title}\nDrawn in {out}")


def _as_file(name: str) -> str:
    """The name of a study as one of a file."""
    return "".join(c if c.isalnum() or c in "-_ ." else "_" for c in name).strip(". ") or "study"
