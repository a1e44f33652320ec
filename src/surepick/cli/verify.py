"""``surepick verify``: check a certificate, independently of the algorithm that made it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import click

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("verify")
@click.argument("certificate", type=_FILE)
@click.option(
    "--arms",
    type=_FILE,
    help="Where the certificate only refers to its arms: their array (.npy), or the table of "
    "options (CSV or Parquet) that the study was made from.",
)
@click.option("--candidates", type=_FILE, help="With --arms arms.npy: the candidates, if others.")
@click.option("--features", default=None, help="With a table: as for surepick new.")
@click.option("--formula", default=None, help="With a table: as for surepick new.")
@click.option("--unstructured", is_flag=True, help="With a table: as for surepick new.")
@click.option("--label", default=None, help="With a table: as for surepick new.")
@click.option(
    "--replay/--no-replay",
    default=None,
    help="Make the run again: every batch must be what the algorithm asks for after those before. "
    "By default where it takes a few seconds at most.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    certificate: Path,
    arms: Path | None,
    candidates: Path | None,
    features: str | None,
    formula: str | None,
    unstructured: bool,
    label: str | None,
    replay: bool | None,
    as_json: bool,
) -> None:
    """Recompute why every other candidate is ruled out, and make the run again.

    The exit code is 0 when the certificate holds and 1 when it does not. A certificate of very
    many arms does not contain them: give them with --arms.
    """
    from surepick import verify
    from surepick.errors import CertificateError, FormatError

    settings = {
        "features": features,
        "formula": formula,
        "label": label,
        "unstructured": unstructured,
    }
    problem = _problem(arms, candidates, settings)
    try:
        result = verify(certificate, problem, replay=replay)
    except (CertificateError, FormatError) as refusal:
        click.echo(
            json.dumps({"holds": False, "reason": str(refusal)}) if as_json else str(refusal),
            err=not as_json,
        )
        raise SystemExit(1) from None
    if as_json:
        click.echo(json.dumps({"holds": True, **dataclasses.asdict(result)}))
        return
    if result.guarantee in ("pac", "eps-pac"):
        verdict = f"Holds: candidate {result.label!r} is {result.statement}."
    else:
        verdict = f"The record is sound, but promises nothing: {result.statement}."
    click.echo(
        f"{verdict}\n"
        f"{result.checked} comparisons recomputed; error probability spent {result.risk:.3g} "
        f"of {result.delta:g}.\n"
        f"Replay: {result.replay}."
    )


def _problem(arms: Path | None, candidates: Path | None, settings: dict[str, Any]) -> Any:
    """What the certificate refers to: a problem, the file of its arms, or None."""
    from surepick.errors import InvalidInputError

    table = arms is not None and arms.suffix != ".npy"
    if candidates is not None and (arms is None or table or candidates.suffix != ".npy"):
        raise InvalidInputError("--candidates must be a .npy file, beside --arms with another")
    if any(settings.values()) and not table:
        raise InvalidInputError(
            "--features, --formula, --label and --unstructured belong to a table given by --arms"
        )
    if table:
        from surepick.problem.tables import from_table

        return from_table(arms, **settings).problem
    if candidates is None:
        return arms
    import numpy as np

    from surepick.problem import Problem

    return Problem(np.load(arms, mmap_mode="r"), np.load(candidates, mmap_mode="r"))  # pyright: ignore[reportArgumentType]
