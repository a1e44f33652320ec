"""The way to a service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surepick.algorithms.base import Algorithm
from surepick.algorithms.registry import DEFAULT
from surepick.client import requests
from surepick.client.study import RemoteStudy
from surepick.client.transport import Transport
from surepick.problem import Problem
from surepick.study import StudySpec
from surepick.study.described import described


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
        algorithm: Algorithm | str = DEFAULT,
        *,
        table: Any = None,
        **fields: Any,
    ) -> RemoteStudy:
        """Create a study, from a problem or from a table of options.

        Parameters
        ----------
        name, problem, algorithm, table, **fields
            See :func:`surepick.create_study`.
        """
        return self.store(described(name, problem, algorithm, table, fields))

    def store(self, spec: StudySpec) -> RemoteStudy:
        """Create the study that a spec describes."""
        self._transport.follow(requests.store(spec))
        return RemoteStudy(self._transport, spec.name)

    def load_study(self, name: str) -> RemoteStudy:
        """Open a study that is there."""
        study = RemoteStudy(self._transport, name)
        _ = study.finished  # is it there, and may this token see it?
        return study

    def list_studies(self) -> list[str]:
        """The names of the studies that the token is for, in the order of their creation."""
        return self._transport.follow(requests.list_studies())

    def delete_study(self, name: str) -> None:
        """Delete a study with everything that was measured for it."""
        self._transport.follow(requests.delete_study(name))

    def make_token(
        self,
        role: str,
        studies: Sequence[str] | None = None,
        *,
        expires_in: float | None = None,
        note: str = "",
    ) -> str:
        """A new token (``admin``, ``worker`` or ``viewer``); the service does not keep it."""
        return self._transport.follow(requests.make_token(role, studies, expires_in, note))

    def close(self) -> None:
        """Let go of connections; they come back when needed."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"
