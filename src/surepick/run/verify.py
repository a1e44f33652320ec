"""Certificates checked twice: by the independent verifier, then by making their run again."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surepick import plugins
from surepick.arrays import limits
from surepick.errors import CertificateError
from surepick.run.made import comes_out_alike
from surepick.run.stated import promise_stated, rewards_stated

if TYPE_CHECKING:
    from surepick.verifier.record import Certificate
    from surepick.verifier.verify import Verification

_PATIENCE = 3.0  # seconds that a replay may take that nobody asked for


def verify(
    certificate: dict[str, Any] | str | Path | Certificate,
    problem: Any = None,
    *,
    replay: bool | None = None,
) -> Verification:
    """Check a certificate.

    First by :func:`surepick.verifier.verify.verify`, which shares no code with the algorithms;
    then, with ``replay``, by running the algorithm again on what was measured: every batch must be
    what it asks for after the batches before.

    Parameters
    ----------
    certificate
        A dict, JSON text, or the path of a JSON file.
    problem
        What a certificate of very many arms refers to instead of containing it: the
        :class:`surepick.Problem`, or its arms as an array or the path of a ``.npy`` file. Arms,
        candidates and labels are compared with the certificate; the noise is the certificate's.
    replay
        True: replay, and refuse what comes out differently. False: do not. By default it is done
        where it takes no more than a few seconds; what comes out differently is refused, unless the
        certificate was made by another release, or is about very many arms and was made on
        another kind of machine.

    Returns
    -------
    Verification
        What was verified; ``replay`` says whether the run was made again, and how that came out.
        It counts as false (``complete``) where a replay was asked for and could not be made in
        full, and where one gave other pulls than the certificate, which says that it was made
        elsewhere.

    Raises
    ------
    CertificateError
        When the certificate does not hold, or is about other arms than those given.

    Examples
    --------
    >>> import surepick as sp
    >>> answer = sp.identify(sp.Problem([[1.0], [2.0]]), lambda arm: float(arm))
    >>> checked = sp.verify(answer.certificate())
    >>> checked.candidate, checked.replayed, checked.replay
    (1, True, 'every batch is what the algorithm asks for')
    """
    from surepick.verifier.record import read_one  # few verbs need it
    from surepick.verifier.verify import names_unknown
    from surepick.verifier.verify import verify as verify_alone

    record = read_one(certificate)
    body = record.body
    if names_unknown(body):  # of other packages, which have verifiers of their own
        plugins.load()
    found = verify_alone(record, problem)
    plain = promise_stated(body, found.stated).plain()
    found = dataclasses.replace(found, plain=plain, rewards=rewards_stated(body))
    if replay is False:
        return found
    from surepick.run import replay as again

    try:
        outcome = again.replay(body, problem, None if replay else _PATIENCE)
    except again.NotPossible as why:
        return dataclasses.replace(found, replay=f"not done: {why}", complete=not replay)
    except again.Different as why:
        alike = comes_out_alike(body, _entries(body))
        if replay or alike:
            hint = "" if alike else _ELSEWHERE
            raise CertificateError(f"certificate refused: replayed, {why}{hint}") from None
        said = f"not possible here: {why}{_ELSEWHERE}"
        return dataclasses.replace(found, replay=said, complete=False)
    if outcome == again.ROUNDED:  # as good as can be told of what need not come out alike
        if comes_out_alike(body, _entries(body)):
            raise CertificateError(f"certificate refused: replayed, {again.MOVED}")
        return dataclasses.replace(found, replay=f"not exactly: {outcome}", complete=False)
    if outcome != again.EXACT:  # drawn at random, or corrected since: it says how far it goes
        return dataclasses.replace(found, replay=f"in part: {outcome}", complete=not replay)
    return dataclasses.replace(found, replayed=True, replay=outcome)


def _entries(body: dict[str, Any]) -> int:
    """How many numbers the features of a certificate's arms are."""
    arms = body["problem"]["arms"]
    if isinstance(arms, dict):  # very many, which it only refers to
        return limits.EMBEDDED_TABLE + 1
    return len(arms) * max(len(arms[0]), 1) if len(arms) else 0


_ELSEWHERE = (
    ". It may have been made by another version, or on another kind of processor, where rounding "
    "led to other designs: replay it there"
)
