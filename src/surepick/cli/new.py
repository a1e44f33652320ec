"""``surepick new``: a study from a table of options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from surepick.algorithms.registry import DEFAULT
from surepick.cli.studies import say, shown, study_options

NOISE_HELP = (
    "Scale of one measurement's noise (its standard deviation; half the range for bounded "
    "rewards). Too small a value voids the guarantee. Or: estimate, by a pilot that measures some "
    "options repeatedly; the guarantee is then approximate."
)


class _Noise(click.ParamType):
    """A number, or the word estimate."""

    name = "number|estimate"

    def convert(self, value: Any, param: Any, ctx: Any) -> float | str:
        if isinstance(value, float) or value == "estimate":
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor 'estimate'", param, ctx)


@click.command("new", short_help="Start a study: which of the options in a table is best?")
@study_options
@click.argument("options", type=click.Path(path_type=Path))
@click.option("--features", default=None, help="Columns that describe an option: price,colour.")
@click.option("--formula", default=None, help="Instead: 'price + C(colour)*C(layout)'.")
@click.option("--unstructured", is_flag=True, help="Use no features at all.")
@click.option("--label", default=None, help="Column with the names of the options.")
@click.option(
    "--algorithm",
    default=DEFAULT,
    show_default=True,
    help=f"Registry name, perhaps with settings: {DEFAULT}:max_batch=96.",
)
@click.option("--delta", default=0.05, show_default=True, help="Error probability.")
@click.option(
    "--epsilon", default=0.0, show_default=True, help="Any option this close to the best will do."
)
@click.option("--max-samples", default=None, type=int, help="Stop after so many pulls.")
@click.option("--noise", type=_Noise(), default="1", show_default=True, help=NOISE_HELP)
@click.option(
    "--check-fit",
    default=None,
    type=float,
    help="Measure more, so that a misfit of the linear model of this size would probably be "
    "noticed; 1 is as large as the noise.",
)
@click.option(
    "--past",
    default=None,
    type=click.Path(path_type=Path),
    help="Measurements made before: a table with the columns label and reward.",
)
@click.option(
    "--past-chosen",
    default=None,
    metavar="in-advance|by-results",
    help="How it was decided what to measure then; see above.",
)
@click.option("--seed", default=0, show_default=True, help="For algorithms that draw.")
def command(
    name: str,
    storage: str,
    as_json: bool,
    options: Path,
    features: str | None,
    formula: str | None,
    unstructured: bool,
    label: str | None,
    algorithm: str,
    noise: float | str,
    **fields: Any,
) -> None:
    """Start the study NAME: which of the OPTIONS in a table (CSV or Parquet) is best?

    Every row is an option, every column a feature of it; --features chooses columns. Columns of
    text are categories; C(size) makes a category of a column of numbers.

    Measurements made before (--past) count as evidence if what was measured, and how often, was
    decided without looking at rewards: --past-chosen in-advance. If somebody went on measuring what
    looked good, averages are biased; with by-results they only guide what is measured first,
    which is safe however wrong they are.
    """
    from surepick.study import OptionTable, StudySpec, store
    from surepick.text import parse

    method, settings = parse(algorithm, "algorithm")
    spec = StudySpec(
        name=name,
        table=OptionTable.of(
            options, features=features, formula=formula, label=label, unstructured=unstructured
        ),
        algorithm=method,
        settings=settings,
        noise=noise,
        **fields,
    )
    study = store(spec, storage)
    made, estimated = spec.prepared, noise == "estimate"
    problem = made.problem
    batch = study.status()["batch"]["size"]
    content = {
        "study": name,
        "storage": study.storage.url,
        "algorithm": method,
        "noise": None if estimated else noise,
        "options": problem.n_arms,
        "features": list(made.columns),
        "first_batch": batch,
        "notes": list(made.notes),
    }
    lines = [
        f"Study {name!r}: {len(problem.distinct)} different options, {problem.rank} "
        f"coefficients; {method}, delta {study.algorithm.delta:g}, "
        f"noise {'to be estimated' if estimated else f'{noise:g}'}.",
        *(f"Note: {shown(note)}" for note in made.notes),
        f"The past measurements are enough. Next: surepick answer {name}"
        if study.finished
        else f"The first batch has {batch} measurements. Next: surepick run {name} --exec "
        f"'command {{label}}', or surepick ask {name}",
    ]
    say(as_json, content, "\n".join(lines))
