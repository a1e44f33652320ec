"""Answers, certificates, exports."""

from __future__ import annotations

import dataclasses
import re
from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response

from surepick.errors import CertificateError, FormatError
from surepick.run import verify
from surepick.server import outcomes
from surepick.server.replies import Json
from surepick.server.routes.studies import read
from surepick.server.routing import EVERYONE, READERS, router, spec
from surepick.server.service import service_of
from surepick.study import Study, export

routes = router("results")
_TYPES = {
    "csv": "text/csv",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


@routes.get("/studies/{name}/answer", **spec(READERS, outcomes.AnswerOf))
async def answer(request: Request, name: str) -> Json:
    """Get the answer of a finished study."""

    def work(study: Study) -> dict[str, Any]:
        content = study.answer.to_dict()
        return {"finished": True, "study": name, **content, "checks": study.checks().to_dict()}

    return Json(await read(request, name, work))


@routes.get("/studies/{name}/certificate", **spec(READERS, outcomes.Certificate))
async def certificate(request: Request, name: str) -> Json:
    """Download the certificate: everything needed to check the answer again."""
    content = await read(request, name, lambda study: study.answer.certificate())
    signed = service_of(request).signer.signed(content)
    return Json(signed, headers=_download(name, "certificate.json"))


@routes.get("/key", **spec(EVERYONE, outcomes.PublicKey))
async def key(request: Request) -> Json:
    """Get the public key with which certificates and the heads of chains are signed."""
    return Json({"algorithm": "Ed25519", "key": service_of(request).signer.public})


@routes.post("/studies/{name}/verify", **spec(READERS, outcomes.Verdict))
async def check(request: Request, name: str) -> Json:
    """Run the independent verifier on the certificate."""

    def work(study: Study) -> dict[str, Any]:
        try:
            found = verify(study.answer.certificate(), study.problem)
        except (CertificateError, FormatError) as error:
            return {"valid": False, "message": str(error)}
        message = (
            f"{found.checked} comparisons recomputed; error probability spent "
            f"{found.risk:.3g} of {found.delta:g}"
        )
        return {"valid": True, "message": message, **dataclasses.asdict(found)}

    return Json(await read(request, name, work))


@routes.get(
    "/studies/{name}/export",
    **spec(READERS, media=tuple(_TYPES.values()), description="A file in the format asked for."),
)
async def download(
    request: Request,
    name: str,
    form: Annotated[Literal["csv", "json", "parquet"], Query(alias="format")] = "csv",
    what: Literal["measurements", "options", "events"] = "measurements",
) -> Response:
    """Download what was measured. In CSV, what a spreadsheet takes for a formula is quoted."""
    content = await read(
        request, name, lambda study: export.content(export.rows(study, what), form)
    )
    return Response(content, media_type=_TYPES[form], headers=_download(name, f"{what}.{form}"))


def _download(name: str, what: str) -> dict[str, str]:
    plain = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)
    return {"Content-Disposition": f'attachment; filename="{plain}.{what}"'}
