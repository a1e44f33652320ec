"""``surepick verify``: check a certificate, or everything that a study has kept."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.options import JSON, argument, from_signature, option
from surepick.cli.studies import EXPLAIN_HELP, NOT_YET, STORAGE, UNPROVEN, shown
from surepick.errors import InvalidInputError
from surepick.text import plural

if TYPE_CHECKING:
    from surepick.verifier.record import Certificate, OfSegments

_AS_NEW = "With a table: as for surepick new."
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("verify")
@from_signature
def command(
    certificate: str = argument(metavar="CERTIFICATE|STUDY"),
    arms: Path | None = option(
        None,
        "Where the certificate only refers to its arms: their array (.npy), or the table of "
        "options (CSV or Parquet) that the study was made from.",
        _FILE,
    ),
    candidates: Path | None = option(
        None, "With --arms arms.npy: the candidates, if they are not the arms.", _FILE
    ),
    features: str | None = option(None, _AS_NEW),
    formula: str | None = option(None, _AS_NEW),
    unstructured: bool = option(False, _AS_NEW),
    label: str | None = option(None, _AS_NEW),
    replay: bool | None = option(
        None,
        "Repeat the run: every batch must be what the algorithm asks for after the earlier ones, "
        "and every measurement of a study must have been handed out in its recorded order. By "
        "default only if this takes a few seconds. With --replay the exit code is 1 if the run "
        "cannot be repeated in full.",
        flag="--replay/--no-replay",
    ),
    signed_by: str | None = option(
        None,
        "The certificate must be signed with this key: the key that GET /api/v1/key of the "
        "service shows, or a file that contains it.",
        metavar="KEY",
    ),
    stamped: Path | None = option(
        None,
        "A time stamp (RFC 3161) of this very file, as surepick stamp writes it.",
        _FILE,
        metavar="STAMP",
    ),
    authority: Path | None = option(
        None,
        "With --stamped: certificates of the time-stamp authorities that you trust.",
        _FILE,
        metavar="PEM",
    ),
    storage: str | None = option(
        None,
        f"With the name of a study: where it is kept.  [default: {STORAGE}]",
        envvar="SUREPICK_STORAGE",
    ),
    head: str | None = option(
        None,
        "With the name of a study: an earlier head of its chain, which must still be part of the "
        "chain.",
    ),
    explain: bool = option(False, EXPLAIN_HELP),
    as_json: bool = JSON,
) -> None:
    """Work out again why every other option is ruled out, and make the run again.

    The exit code is 0 when the certificate holds and proves what it says, 1 when it does not hold,
    and 7 when the record is in order but proves nothing, as of a study that was stopped early. A
    certificate of very many arms does not contain them: give them with --arms. Given the name of a
    study instead of a file, everything that its database keeps is compared with the chain of what
    happened, and the certificate of its answer is checked; 4 where it has no answer yet.
    """
    from surepick.algorithms.findings import PROVEN
    from surepick.errors import CertificateError, FormatError, StudyDamagedError

    is_file = Path(certificate).is_file()
    if is_file and head is not None:
        raise InvalidInputError("--head belongs to a study, and this is a certificate")
    if (stamped is None) != (authority is None):
        raise InvalidInputError("--stamped and --authority belong together; give both")
    if stamped is not None and not is_file:
        raise InvalidInputError("--stamped is about the file of a certificate, not about a study")
    try:
        if is_file:
            given = {
                "arms": arms,
                "candidates": candidates,
                "features": features,
                "formula": formula,
            }
            given |= {"unstructured": unstructured, "label": label}
            content, text = _check_file(
                Path(certificate), given, replay, (signed_by, stamped, authority), explain
            )
        elif Path(certificate).is_dir():
            raise click.BadParameter(f"{certificate!r} is a directory.")
        elif Path(certificate).suffix == ".json":
            raise click.BadParameter(f"File {certificate!r} does not exist.")
        else:
            content, text = _check_study(certificate, storage or STORAGE, head, replay, explain)
    except (CertificateError, FormatError, StudyDamagedError) as refusal:
        click.echo(
            json.dumps({"holds": False, "reason": str(refusal)}) if as_json else str(refusal),
            err=not as_json,
        )
        raise SystemExit(1) from None
    complete = content.get("complete", True)
    click.echo(json.dumps({"holds": complete, **content}) if as_json else text)
    if "guarantee" not in content:
        raise SystemExit(NOT_YET)
    if not complete:
        raise SystemExit(1)
    if content["guarantee"] not in PROVEN:
        raise SystemExit(UNPROVEN)


def _check_file(
    path: Path,
    given: dict[str, Any],
    replay: bool | None,
    trusted: tuple[str | None, Path | None, Path | None],
    explain: bool,
) -> tuple[dict[str, Any], str]:
    """Whatever is in the file: all that is said of it is about these bytes, read once."""
    from surepick.verifier.record import OfSegments, read

    signed_by, stamped, authority = trusted
    written = path.read_bytes()
    record = read(written)
    if isinstance(record, OfSegments):
        if any(given.values()):
            raise InvalidInputError(
                "--arms and what belongs to it are for a certificate that only refers to its arms; "
                "those of segments contain them"
            )
        content, text = _check_segments(record, replay, explain)
    else:
        content, text = _check_one(record, given, replay, explain)
    if signed_by is not None:
        from surepick.run.signature import check_signature

        content["signed_by"] = check_signature(record, signed_by)
        text += (
            f"\nSigned by {content['signed_by']}. Whoever holds that key gave it out as it is; "
            "that its numbers are true, no signature shows."
        )
    if stamped is not None and authority is not None:
        from surepick.run.time_stamp import check_stamp

        at = check_stamp(stamped.read_bytes(), written, authority.read_bytes())
        content["stamped"] = at.isoformat()
        text += (
            f"\nThis file was there at {at:%Y-%m-%d %H:%M:%S} UTC, by its time stamp, and is the "
            "same since. What happened before, and whether it is true, no stamp shows."
        )
    return content, text


def _check_one(
    record: Certificate, given: dict[str, Any], replay: bool | None, explain: bool
) -> tuple[dict[str, Any], str]:
    from surepick import verify

    arms, candidates = given.pop("arms"), given.pop("candidates")
    result = verify(record, _problem(arms, candidates, given), replay=replay)
    return dataclasses.asdict(result), _said(result, explain)


def _check_segments(
    record: OfSegments, replay: bool | None, explain: bool
) -> tuple[dict[str, Any], str]:
    from surepick.algorithms.findings import PROVEN
    from surepick.run import verify_segments

    found = verify_segments(record, replay=replay)
    own = {name: dataclasses.asdict(one) for name, one in found.segments.items()}
    lines = [
        f"{shown(name)}: {shown(line)}"
        for name, one in found.segments.items()
        for line in _said(one, explain).split("\n")
    ]
    kinds = [one.guarantee for one in found.segments.values()]
    worst = next((kind for kind in kinds if kind not in PROVEN), kinds[0])
    content = {"of": found.of, "delta": found.delta, "complete": bool(found), "guarantee": worst}
    return content | {"segments": own}, "\n".join([*lines, shown(found.plain)])


def _check_study(
    name: str, storage: str, head: str | None, replay: bool | None, explain: bool
) -> tuple[dict[str, Any], str]:
    from surepick import verify
    from surepick.cli.studies import open_study
    from surepick.study.chain import check_chain
    from surepick.study.desk.opened import check_handed_out

    with open_study(name, storage) as study:
        found = check_chain(study.storage, study.desk.record, head)
        text = (
            f"The database is unchanged: all {plural(found['links'], 'link')} of its chain "
            "fit. Write down the head of the chain, to check against it later: "
            f"{found['head']}."
        )
        content: dict[str, Any] = {"study": name, "chain": found}
        if replay is not False and check_handed_out(study.storage, study.desk.record):
            content["order"] = True
            text += "\nWhat to measure was handed out in the random order fixed at the beginning."
        if study.finished:
            result = verify(study.answer.certificate(), study.problem, replay=replay)
            content |= dataclasses.asdict(result)
            said = _said(result, explain)
            text = f"{text}\n{said}" if result.complete else f"{said}\n{text}"
        elif replay:  # which was asked for, and cannot be made
            content |= {"complete": False, "replay": "not done: there is no answer yet"}
            text = f"NOT fully verified. There is no answer yet, so no run was repeated.\n{text}"
    return content, text


def _said(result: Any, explain: bool) -> str:
    from surepick.run.verify import explained, verdict

    return "\n".join(map(shown, verdict(result) + (explained(result) if explain else [])))


def _problem(arms: Path | None, candidates: Path | None, settings: dict[str, Any]) -> Any:
    """What the certificate refers to: a problem, the file of its arms, or None."""
    table = arms is not None and arms.suffix != ".npy"
    if candidates is not None and (arms is None or table or candidates.suffix != ".npy"):
        raise InvalidInputError("--candidates must be a .npy file, and --arms another one")
    if any(settings.values()) and not table:
        raise InvalidInputError(
            "--features, --formula, --label and --unstructured belong to a table given by --arms"
        )
    if table:
        from surepick.problem.tables import from_table

        return from_table(arms, **settings).problem
    if candidates is None or arms is None:
        return arms
    import numpy as np

    from surepick.problem import Problem

    return Problem(np.load(arms, mmap_mode="r"), np.load(candidates, mmap_mode="r"))
