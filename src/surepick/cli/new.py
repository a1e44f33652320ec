"""``surepick new``: a study from a table of options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from surepick.cli.studies import say, shown, study_options
from surepick.errors import InvalidInputError

NOISE_HELP = (
    "Scale of one measurement's noise (its standard deviation; half the range for bounded "
    "rewards). Too small a value voids the guarantee. Or: estimate, by a pilot that measures some "
    "options repeatedly; the guarantee is then approximate."
)


class _Noise(click.ParamType):
    """A number, or the word estimate (None)."""

    name = "number|estimate"

    def convert(self, value: Any, param: Any, ctx: Any) -> float | None:
        if isinstance(value, float) or value == "estimate":
            return value if isinstance(value, float) else None
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor 'estimate'", param, ctx)


@click.command("new")
@study_options
@click.argument("options", type=click.Path(path_type=Path))
@click.option("--features", default=None, help="Columns that describe an option: price,colour.")
@click.option("--formula", default=None, help="Instead: 'price + C(colour)*C(layout)'.")
@click.option("--unstructured", is_flag=True, help="Use no features at all.")
@click.option("--label", default=None, help="Column with the names of the options.")
@click.option(
    "--algorithm",
    default="pooled-peleg",
    show_default=True,
    help="Registry name, perhaps with settings: pooled-peleg:max_batch=96.",
)
@click.option("--delta", default=0.05, show_default=True, help="Error probability.")
@click.option(
    "--epsilon", default=0.0, show_default=True, help="Any option this close to the best will do."
)
@click.option("--max-samples", default=None, type=int, help="Stop after so many pulls.")
@click.option("--noise", type=_Noise(), default="1", show_default=True, help=NOISE_HELP)
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
    delta: float,
    epsilon: float,
    max_samples: int | None,
    noise: float | None,
    seed: int,
) -> None:
    """Start the study NAME: which of the OPTIONS in a table (CSV or Parquet) is best?

    Every row is an option, every column a feature of it; --features chooses columns. Columns of
    text are categories; C(size) makes a category of a column of numbers.
    """
    from surepick.algorithms import get
    from surepick.bench.text import parse
    from surepick.problem.tables import from_table
    from surepick.problem.tables.read import read
    from surepick.study import create_study

    method, settings = parse(algorithm, "algorithm")
    given = {"delta": delta, "epsilon": epsilon, "max_samples": max_samples}
    if noise is None:
        if settings:
            raise InvalidInputError("noise: with estimate, the algorithm cannot have settings")
        configured = get("estimated-noise", inner=method, **given)
    else:
        configured = get(method, **(given | settings))
    unit = 1.0 if noise is None else noise
    made = from_table(options, features, formula, label, unit, unstructured=unstructured)
    problem = made.problem
    cells = _columns(read(options).cells, problem.labels)
    meta = {"source": options.name, "notes": list(made.notes), "columns": cells}
    study = create_study(name, problem, configured, storage, seed=seed, meta=meta)
    batch = study.status()["batch"]["size"]
    content = {
        "study": name,
        "storage": study.storage.url,
        "algorithm": method,
        "noise": noise,
        "options": problem.n_arms,
        "features": list(made.columns),
        "first_batch": batch,
        "notes": list(made.notes),
    }
    lines = [
        f"Study {name!r}: {len(problem.distinct)} different options, {problem.rank} "
        f"coefficients; {method}, delta {study.algorithm.delta:g}, "
        f"noise {'to be estimated' if noise is None else f'{noise:g}'}.",
        *(f"Note: {shown(note)}" for note in made.notes),
        f"The first batch has {batch} measurements. Next: surepick run {name} --exec "
        f"'command {{label}}', or surepick ask {name}",
    ]
    say(as_json, content, "\n".join(lines))


def _columns(cells: dict[str, list[Any]], labels: tuple[str, ...]) -> dict[str, list[Any]]:
    """The table as it is, less the labels: measure commands are given the cells of their row."""
    columns = {name: [_cell(c) for c in column] for name, column in cells.items()}
    return {name: c for name, c in columns.items() if [str(cell) for cell in c] != list(labels)}


def _cell(cell: Any) -> Any:
    if cell is None or isinstance(cell, str | bool | int):
        return cell
    return str(cell)  # numbers of a Parquet file keep all their digits this way
