"""Certificates in an envelope that others can open: DSSE, with a statement of in-toto inside.

An envelope holds bytes and signatures of these bytes (https://github.com/secure-systems-lab/dsse).
What is signed names the type of the content and its length beside the content itself, so nothing
can be taken for something else. The statement says what it is about, by name and SHA-256, and holds
the certificate as its predicate.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from surepick.errors import FormatError
from surepick.verifier import exact

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:surepick:certificate:v1"
_FIELDS = {"payload", "payloadType", "signatures"}
_STATEMENT = {"_type", "subject", "predicateType", "predicate"}


@dataclass(frozen=True)
class Envelope:
    """An envelope, opened."""

    signed: bytes  #: what its signatures are signatures of
    signatures: Any  #: as they stand there; whose they are, nobody has looked
    about: Any  #: what its statement is about, as it stands there
    content: Any  #: what it holds, which is no envelope


def envelope_in(content: Any) -> Envelope | None:
    """What a file holds, opened where it is an envelope of a certificate; None: it is none."""
    if not _is_envelope(content):
        return None
    if content.keys() != _FIELDS:
        extra = sorted(content.keys() - _FIELDS)[0]
        raise FormatError(f"this envelope is ambiguous: it has {extra!a:.80} beside its content")
    kind, payload = content["payloadType"], _bytes(content["payload"])
    if kind != PAYLOAD_TYPE:
        raise FormatError(f"this envelope holds {kind!r:.80}, not {PAYLOAD_TYPE}")
    statement = exact.read_json(payload)
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT_TYPE:
        raise FormatError(f"the content of this envelope is not a statement ({STATEMENT_TYPE})")
    if statement.get("predicateType") != PREDICATE_TYPE:
        raise FormatError(
            f"the statement in this envelope is about {statement.get('predicateType')!r:.80}, "
            f"not about a certificate ({PREDICATE_TYPE})"
        )
    if statement.keys() != _STATEMENT:
        raise FormatError("the statement in this envelope has other fields than it has to have")
    held = statement["predicate"]
    if _is_envelope(held):
        raise FormatError("this is an envelope in an envelope; take the outer one off")
    signed = signed_bytes(kind, payload)
    return Envelope(signed, content["signatures"], statement["subject"], held)


def _is_envelope(body: Any) -> bool:
    """Whether this is an envelope, of whatever content."""
    return isinstance(body, dict) and body.keys() >= _FIELDS


def _bytes(payload: Any) -> bytes:
    try:
        return base64.b64decode(payload, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise FormatError("the content of this envelope is not in base64") from None


def signed_bytes(kind: str, payload: bytes) -> bytes:
    """What the signatures of an envelope are signatures of."""
    name = kind.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)
