"""Certificates in an envelope that others can open: DSSE, with a statement of in-toto inside.

An envelope holds bytes and signatures of these bytes (https://github.com/secure-systems-lab/dsse).
What is signed names the type of the content and its length beside the content itself, so nothing
can be taken for something else. The statement says what it is about, by name and SHA-256, and holds
the certificate as its predicate.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from surepick.errors import FormatError
from surepick.verifier import exact

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:surepick:certificate:v1"


def is_envelope(body: Any) -> bool:
    """Whether this is an envelope, of whatever content."""
    return isinstance(body, dict) and {"payload", "payloadType", "signatures"} <= body.keys()


def payload_of(envelope: dict[str, Any]) -> bytes:
    """The bytes that an envelope holds."""
    try:
        return base64.b64decode(envelope["payload"], validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise FormatError("the content of this envelope is not in base64") from None


def statement_of(envelope: dict[str, Any]) -> dict[str, Any]:
    """The statement about a certificate that an envelope holds."""
    if envelope["payloadType"] != PAYLOAD_TYPE:
        raise FormatError(
            f"this envelope holds {envelope['payloadType']!r:.80}, not {PAYLOAD_TYPE}"
        )
    statement = exact.read_json(payload_of(envelope))
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT_TYPE:
        raise FormatError(f"the content of this envelope is not a statement ({STATEMENT_TYPE})")
    if statement.get("predicateType") != PREDICATE_TYPE:
        raise FormatError(
            f"the statement in this envelope is about {statement.get('predicateType')!r:.80}, "
            f"not about a certificate ({PREDICATE_TYPE})"
        )
    return statement


def signed_bytes(envelope: dict[str, Any]) -> bytes:
    """What the signatures of an envelope are signatures of."""
    kind, payload = str(envelope["payloadType"]).encode(), payload_of(envelope)
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
