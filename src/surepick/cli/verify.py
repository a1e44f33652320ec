"""``surepick verify``: check a certificate, independently of the algorithm that made it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click


@click.command("verify")
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(certificate: Path, as_json: bool) -> None:
    """Recompute why every other candidate is ruled out.

    The exit code is 0 when the certificate holds and 1 when it does not.
    """
    from surepick import verify
    from surepick.errors import CertificateError, FormatError

    try:
        result = verify(certificate)
    except (CertificateError, FormatError) as problem:
        click.echo(
            json.dumps({"holds": False, "reason": str(problem)}) if as_json else str(problem),
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
        f"of {result.delta:g}."
    )
