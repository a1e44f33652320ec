"""Answers, certificates, exports."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response

from surepick.run.forecast import FORECAST_SECONDS
from surepick.server import outcomes
from surepick.server.by_helper import json_of, look, streamed, work
from surepick.server.replies import Json
from surepick.server.routing import EVERYONE, READERS, router, spec
from surepick.server.service import service_of

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
async def forecast(
    request: Request,
    name: str,
    seconds: Annotated[
        float,
        Query(gt=0, le=FORECAST_SECONDS, description="Processor time it may take."),
    ] = FORECAST_SECONDS,
    epsilon: Annotated[
        float | None,
        Query(gt=0, le=1e300, description="As if so much were accepted from now on."),
    ] = None,
) -> Response:
    """Forecast how many more measurements a study takes; once for each complete batch."""
    return json_of(await work(request, "forecast", study=name, seconds=seconds, epsilon=epsilon))


@routes.get("/studies/{name}/certificate", **spec(READERS, outcomes.Certificate))
async def certificate(request: Request, name: str) -> Response:
    """Download the certificate: everything needed to check the answer again."""
    signer, found = service_of(request).signer, await look(request, name, "certificate")
    content = await asyncio.to_thread(lambda: _json(signer.signed(json.loads(found))))
    return json_of(content, headers=_download(name, "certificate.json"))


@routes.get("/studies/{name}/envelope", **spec(READERS, outcomes.Envelope))
async def envelope(request: Request, name: str) -> Response:
    """Download the certificate in an envelope (DSSE), whose signature common tools check."""
    signer, found = service_of(request).signer, await look(request, name, "certificate")
    content = await asyncio.to_thread(lambda: _json(signer.enveloped(json.loads(found), name)))
    return json_of(content, headers=_download(name, "certificate.dsse.json"))


def _json(content: Any) -> bytes:
    return json.dumps(content).encode()


@routes.get("/key", **spec(EVERYONE, outcomes.PublicKey))
async def key(request: Request) -> Json:
    """Get the public key with which certificates and the heads of chains are signed."""
    signer = service_of(request).signer
    return Json({"algorithm": "Ed25519", "key": signer.public, "pem": signer.pem})


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


@routes.get(
    "/studies/{name}/report",
    **spec(READERS, media=("text/html",), description="A page to hand on."),
)
async def report(request: Request, name: str) -> Response:
    """Download a page about the study, for a colleague."""
    await service_of(request).studies.use(name, lambda opened: opened.position())  # is it there?
    content = await work(request, "report", study=name)
    return Response(content, headers=_download(name, "html"), media_type="text/html")


def _download(name: str, what: str) -> dict[str, str]:
    plain = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)
    return {"Content-Disposition": f'attachment; filename="{plain}.{what}"'}
