"""Signatures of certificates and chain heads: Ed25519, by the service that gave them out.

What is signed is a line of text: what kind of thing it is, and its SHA-256. Keys are written as
64 hexadecimal digits. A certificate can also be put into an envelope (DSSE), whose signature is
checked by tools that know nothing of surepick.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from surepick.errors import CertificateError, InvalidInputError, MissingExtraError
from surepick.verifier.record import (
    PAYLOAD_TYPE,
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    Certificate,
    Envelope,
    OfSegments,
    read,
    signed_bytes,
)

_DIGITS = 64


def signed_text(kind: str, digest: str) -> bytes:
    """What is signed of a certificate or of the head of a chain."""
    return f"surepick {kind} {digest}".encode()


def check_signature(
    certificate: dict[str, Any] | str | Path | Certificate | OfSegments, key: str
) -> str:
    """Whether a certificate is signed with a key; the key.

    The signature is of its digest, or of all of the envelope that it came in. Where there is one
    for each segment of a test, and no envelope around all, every one must be signed.

    Parameters
    ----------
    certificate
        A certificate, whose digest is found to be that of its content.
    key
        A public key, or the path of a file with one.
    """
    wanted, found = read_key(key), read(certificate)
    if found.envelope is not None:
        _check_envelope(found.envelope, wanted)
    elif isinstance(found, OfSegments):
        for part in found.parts.values():
            _check_digest(part, wanted)
    else:
        _check_digest(found, wanted)
    return wanted


def _check_digest(certificate: Certificate, wanted: str) -> None:
    signature = certificate.signature
    if not isinstance(signature, dict):
        raise CertificateError("certificate refused: it is not signed")
    if signature.get("key") != wanted:
        raise CertificateError(
            f"certificate refused: it is signed with another key, {signature.get('key')!r:.80}"
        )
    check_signed(signed_text("certificate", certificate.digest), signature, "certificate")


def envelope_of(
    certificate: dict[str, Any], name: str, key: str, sign: Callable[[bytes], bytes]
) -> dict[str, Any]:
    """A certificate in an envelope.

    Parameters
    ----------
    certificate
        Its own signature, if it has one, is left out.
    name
        What it is about: the name of a study.
    key
        The public key, by which the envelope names who signed.
    sign
        Signs bytes with the private one.
    """
    bare = {field: value for field, value in certificate.items() if field != "signature"}
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": canonical_digest(bare)}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": bare,
    }
    content = json.dumps(statement, allow_nan=False).encode()
    payload = base64.b64encode(content).decode()
    envelope: dict[str, Any] = {"payload": payload, "payloadType": PAYLOAD_TYPE}
    value = base64.b64encode(sign(signed_bytes(PAYLOAD_TYPE, content))).decode()
    return envelope | {"signatures": [{"keyid": key, "sig": value}]}


def canonical_digest(certificate: dict[str, Any]) -> str:
    """SHA-256 of a certificate in the canonical form of RFC 8785.

    However a tool writes numbers and orders fields, it comes to the same digest.
    """
    try:
        import rfc8785
    except ImportError:
        raise MissingExtraError("envelopes need rfc8785: pip install 'surepick[server]'") from None
    return hashlib.sha256(rfc8785.dumps(certificate)).hexdigest()


def _check_envelope(envelope: Envelope, wanted: str) -> None:
    signatures = envelope.signatures if isinstance(envelope.signatures, list) else []
    named = [one for one in signatures if isinstance(one, dict) and one.get("keyid") == wanted]
    if not named:
        raise CertificateError("envelope refused: it is not signed with this key")
    try:
        value = base64.b64decode(named[0]["sig"], validate=True).hex()
        about = envelope.about[0]["digest"]["sha256"]
    except (KeyError, IndexError, TypeError, ValueError):
        raise CertificateError("envelope refused: it is malformed") from None
    check_signed(envelope.signed, {"key": wanted, "value": value}, "envelope")
    if len(envelope.about) != 1 or about != canonical_digest(envelope.content):
        raise CertificateError("envelope refused: its statement is about another certificate")


def check_signed(text: bytes, signature: dict[str, Any], what: str) -> None:
    """Whether a text was signed with the key that a signature names."""
    try:
        from cryptography.exceptions import InvalidSignature  # pyright: ignore[reportMissingImports]
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtraError(
            "signatures need cryptography: pip install 'surepick[server]'"
        ) from None
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature["key"]))
        public.verify(bytes.fromhex(signature["value"]), text)
    except (InvalidSignature, ValueError, TypeError, KeyError):
        raise CertificateError(f"{what} refused: its signature does not match its key") from None


def read_key(key: str) -> str:
    """A public key: given, or in a file.

    What has the digits of a key is one; a file of such a name can be given as ``./NAME``.
    """
    found = key.strip().lower()
    if not _is_key(found) and Path(key).is_file():
        found = Path(key).read_text(encoding="utf-8", errors="replace").strip().lower()
    if not _is_key(found):
        raise InvalidInputError(
            f"signed-by: {key!r:.80} is neither a key of {_DIGITS} hexadecimal digits nor a file "
            "that contains one; a service shows its key at /api/v1/key"
        )
    return found


def _is_key(text: str) -> bool:
    return len(text) == _DIGITS and all(digit in "0123456789abcdef" for digit in text)
