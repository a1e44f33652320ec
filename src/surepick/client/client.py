"""The way to a service."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from surepick.algorithms.registry import DEFAULT
from surepick.client.study import RemoteStudy
from surepick.client.transport import Transport
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem import Problem


class Client:
    """A service's studies: create, load, list, delete.

    Parameters
    ----------
    url
        Where ``surepick serve`` is reached: ``https://surepick.example.org``.
    token
        Who asks; its role and studies decide what is allowed.
    patience
        Seconds for which requests are tried again while the service is away or busy.
    timeout
        Seconds without an answer after which a connection counts as lost.
    verify
        File with the certificate to trust, where the service's is not signed by a known authority.

    Examples
    --------
    A worker::

        study = surepick.Client("http://127.0.0.1:8421", token).load_study("layouts")
        while not study.finished:
            for pull in study.ask(worker="lab-1", wait=60):
                study.tell(pull.id, measure(pull.label), "lab-1")
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        patience: float = 300.0,
        timeout: float = 30.0,
        verify: bool | str = True,
    ) -> None:
        self._transport = Transport(url, token, patience=patience, timeout=timeout, verify=verify)

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._transport.url

    def create_study(
        self,
        name: str,
        problem: Problem | None = None,
        algorithm: str = DEFAULT,
        *,
        table: str | os.PathLike[str] | None = None,
        features: Sequence[str] | str | None = None,
        formula: str | None = None,
        label: str | None = None,
        unstructured: bool = False,
        noise: float | str | None = None,
        delta: float = 0.05,
        epsilon: float = 0.0,
        max_samples: int | None = None,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        meta: Mapping[str, Any] | None = None,
    ) -> RemoteStudy:
        """Create a study, from a problem or from a table of options.

        Parameters
        ----------
        name
            What the study is called; it must not be taken.
        problem
            What can be measured and chosen.
        algorithm, settings
            Registry name, and settings beyond the common ones.
        table
            Instead of a problem: path of a CSV file with a row for each option.
        features, formula, label, unstructured
            What in the table describes an option; see :func:`surepick.problem.tables.from_table`.
        noise
            Scale of one measurement's noise, or ``"estimate"``; by default the problem's, or 1.
        delta, epsilon, max_samples, seed, meta
            See :func:`surepick.create_study`.
        """
        if (problem is None) == (table is None):
            raise InvalidInputError("give either a problem or a table")
        body: dict[str, Any] = {
            "name": name,
            "algorithm": algorithm,
            "delta": delta,
            "epsilon": epsilon,
            "max_samples": max_samples,
            "settings": dict(settings or {}),
            "seed": seed,
            "meta": dict(meta or {}),
            "key": uuid.uuid4().hex,  # by which this request is recognised if it comes twice
        }
        if problem is not None:
            if not isinstance(problem, Problem):
                raise InvalidTypeError(f"problem must be a surepick.Problem; got {problem!r:.80}")
            body["problem"] = _as_body(problem)
            body["noise"] = problem.noise if noise is None else noise
        else:
            assert table is not None
            if isinstance(features, str):
                features = [part.strip() for part in features.split(",") if part.strip()]
            body["source"] = Path(table).name
            body["noise"] = 1.0 if noise is None else noise
            body["table"] = {
                "csv": Path(table).read_text(encoding="utf-8-sig"),
                "features": None if features is None else list(features),
                "formula": formula,
                "label": label,
                "unstructured": unstructured,
            }
        self._transport.post("/api/v1/studies", body)
        return RemoteStudy(self._transport, name)

    def load_study(self, name: str) -> RemoteStudy:
        """Open a study that is there."""
        study = RemoteStudy(self._transport, name)
        _ = study.finished  # is it there, and may this token see it?
        return study

    def list_studies(self) -> list[str]:
        """The names of the studies that the token is for, in the order of their creation."""
        return [study["name"] for study in self._transport.get("/api/v1/studies")["studies"]]

    def delete_study(self, name: str) -> None:
        """Delete a study with everything that was measured for it."""
        path = f"/api/v1/studies/{quote(name, safe='')}"
        self._transport.send("DELETE", path, gone_is_done=True)

    def make_token(
        self,
        role: str,
        studies: Sequence[str] | None = None,
        *,
        expires_in: float | None = None,
        note: str = "",
    ) -> str:
        """A new token (``admin``, ``worker`` or ``viewer``); the service does not keep it."""
        body: dict[str, Any] = {"role": role, "note": note, "expires_in": expires_in}
        body["studies"] = None if studies is None else list(studies)
        return self._transport.post("/api/v1/tokens", body)["token"]

    def close(self) -> None:
        """Let go of connections; they come back when needed."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"


def _as_body(problem: Problem) -> dict[str, Any]:
    """A problem as the service takes it: plain lists."""
    other = problem.transductive
    return {
        "arms": problem.arms.tolist(),
        "labels": list(problem.labels),
        "candidates": problem.candidates.tolist() if other else None,
        "candidate_labels": list(problem.candidate_labels) if other else None,
    }
