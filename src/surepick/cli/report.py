"""``surepick report``: all about a study on one page."""

from __future__ import annotations

from pathlib import Path

import click

from surepick.cli.plot import as_file
from surepick.cli.studies import local_study_options, open_study, say


@click.command("report", short_help="Write a page about a study, for a colleague.")
@local_study_options
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File; by default NAME.html.",
)
@click.option("--top", default=15, show_default=True, help="Options in the picture; 0 for all.")
def command(name: str, storage: str, as_json: bool, out: Path | None, top: int) -> None:
    """Write one page about a study: the question, the answer, how sure it is, and why.

    With pictures and every measurement inside, so that it can be sent as it is. Needs the extra
    plot.
    """
    from surepick.files import write_whole
    from surepick.report.colleague import study_page

    out = out or Path(f"{as_file(name)}.html")
    content = study_page(open_study(name, storage), top)
    write_whole(out, content)
    say(as_json, {"file": str(out), "bytes": len(content.encode())}, f"Written to {out}")
