"""Answers, certificates, exports."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Annotated, Literal

from fastapi import Query, Request, Response

from surepick.server import outcomes
from surepick.server.by_helper import json_of, look, streamed, work
from surepick.server.replies import Json
from surepick.server.routing import EVERYONE, READERS, router, spec
from surepick.server.service import service_of
from surepick.server.signing import Signer

routes = router("results")
_TYPES = {
    "csv": "text/csv",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}
_PICTURES = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}


@routes.get("/studies/{name}/answer", **spec(READERS, outcomes.AnswerOf))
async def answer(request: Request, name: str) -> Response:
    """Get the answer of a finished study."""
    return json_of(await look(request, name, "answer"))


@routes.get("/studies/{name}/forecast", **spec(READERS, outcomes.ForecastOf))
async def forecast(request: Request, name: str) -> Response:
    """Forecast how many more measurements a study takes; once for each complete batch."""
    return json_of(await work(request, "forecast", study=name))


@routes.get("/studies/{name}/certificate", **spec(READERS, outcomes.Certificate))
async def certificate(request: Request, name: str) -> Response:
    """Download the certificate: everything needed to check the answer again."""
    signer = service_of(request).signer
    content = await asyncio.to_thread(_signed, signer, await look(request, name, "certificate"))
    return json_of(content, headers=_download(name, "certificate.json"))


def _signed(signer: Signer, certificate: bytes) -> bytes:
    return json.dumps(signer.signed(json.loads(certificate))).encode()


@routes.get("/key", **spec(EVERYONE, outcomes.PublicKey))
async def key(request: Request) -> Json:
    """Get the public key with which certificates and the heads of chains are signed."""
    return Json({"algorithm": "Ed25519", "key": service_of(request).signer.public})


@routes.post("/studies/{name}/verify", **spec(READERS, outcomes.Verdict))
async def check(request: Request, name: str) -> Response:
    """Run the independent verifier on the certificate."""
    return json_of(await work(request, "verify", study=name))


@routes.get(
    "/studies/{name}/export",
    **spec(READERS, media=tuple(_TYPES.values()), description="A file in the format asked for."),
)
async def download(
    request: Request,
    name: str,
    form: Annotated[Literal["csv", "json", "parquet"], Query(alias="format")] = "csv",
    what: Literal[
        "measurements", "options", "events", "corrections", "option-changes", "limits"
    ] = "measurements",
) -> Response:
    """Download what was measured. In CSV, what a spreadsheet takes for a formula is quoted."""
    await service_of(request).studies.use(name, lambda opened: opened.position())  # is it there?
    headers = _download(name, f"{what}.{form}")
    return await streamed(
        request, "export", _TYPES[form], headers, study=name, what=what, form=form
    )


@routes.get(
    "/studies/{name}/picture",
    **spec(READERS, media=tuple(_PICTURES.values()), description="A picture in this format."),
)
async def picture(
    request: Request,
    name: str,
    form: Annotated[Literal["png", "svg", "pdf"], Query(alias="format")] = "png",
) -> Response:
    """Download a picture of where the options stand, for a slide."""
    await service_of(request).studies.use(name, lambda opened: opened.position())  # is it there?
    content = await work(request, "picture", study=name, form=form)
    return Response(content, headers=_download(name, form), media_type=_PICTURES[form])


def _download(name: str, what: str) -> dict[str, str]:
    plain = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)
    return {"Content-Disposition": f'attachment; filename="{plain}.{what}"'}
