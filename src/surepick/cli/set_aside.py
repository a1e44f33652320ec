"""``surepick set-aside``: a day, plate or batch that does not count, for any option."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from surepick.cli.studies import open_studies, say, shown, study_options
from surepick.text import typed

if TYPE_CHECKING:
    from surepick.study import Study
    from surepick.study.acts.aside import SetAside


@click.command("set-aside", short_help="Set a day, plate or batch aside for all options.")
@study_options
@click.option("--period", default=None, help="Name of a period of visitors, also of one to come.")
@click.option("--stratum", default=None, help="Instead: a day, plate, …, also one to come.")
@click.option("--batch", type=int, default=None, help="Instead: the number of a complete batch.")
@click.option(
    "--reason", required=True, help="Reason; stored with the study and shown in the certificate."
)
@click.option(
    "--blind", is_flag=True, help="It was decided without seeing any results of then or later."
)
@click.option("--by", default=None, help="Who decides it.")
def command(
    name: str,
    storage: str,
    as_json: bool,
    period: str | None,
    stratum: str | None,
    batch: int | None,
    reason: str,
    blind: bool,
    by: str | None,
) -> None:
    """Set a period, stratum or batch aside for all options: bots, a broken tag, a sale.

    Everything is worked out again as if it had not been, so a study that has ended may go on. What
    is set aside stays on record. Name the days of a sale before they begin, and the answer promises
    what it would have. Otherwise it says what it rests on: with --blind that nobody had seen
    results, as you claim; else that your reason has nothing to do with which option is better.
    Dropping days because of who won on them leads to wrong answers.

    A period that is set aside need not be recorded. On a day that is set aside no pulls are handed
    out.
    """
    from surepick.study import SegmentStudies
    from surepick.study.acts.aside import CAUTION

    study = open_studies(name, storage)
    given = {"period": period, "stratum": stratum, "batch": batch, "blind": blind, "by": by}
    if isinstance(study, SegmentStudies):
        done = study.set_aside(str(period or ""), reason=reason, blind=blind, by=by)
        studies = {one: study.studies[one] for one in done}
    else:
        done, studies = {name: study.set_aside(reason=reason, **given)}, {name: study}
    lines = [line for one, made in done.items() for line in _said(studies[one], made)]
    content = {one: made.to_dict() for one, made in done.items()}
    own = content if isinstance(study, SegmentStudies) else content[name]
    say(as_json, own, "\n".join([*lines, CAUTION]))


def _said(study: Study, made: SetAside) -> list[str]:
    state = f"finished: {typed('answer', study.name)}" if study.finished else "under way"
    return [shown(made.said), f"{shown(study.name)} is {state}."]
