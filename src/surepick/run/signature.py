"""Signatures of certificates and chain heads: Ed25519, by the service that gave them out.

What is signed is a line of text: what kind of thing it is, and its SHA-256. Keys are written as
64 hexadecimal digits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surepick.errors import CertificateError, InvalidInputError, MissingExtraError
from surepick.verifier.verify import read_certificate

_DIGITS = 64


def signed_text(kind: str, digest: str) -> bytes:
    """What is signed of a certificate or of the head of a chain."""
    return f"surepick {kind} {digest}".encode()


def check_signature(certificate: dict[str, Any] | str | Path, key: str) -> str:
    """Whether a certificate is signed with a key; the key.

    Parameters
    ----------
    certificate
        A certificate that the verifier has found to hold: its digest is then that of its content.
    key
        A public key, or the path of a file with one.
    """
    wanted, body = read_key(key), read_certificate(certificate)
    signature = body.get("signature")
    if not isinstance(signature, dict):
        raise CertificateError("certificate refused: it is not signed")
    if signature.get("key") != wanted:
        raise CertificateError(
            f"certificate refused: it is signed with another key, {signature.get('key')!r:.80}"
        )
    check_signed(signed_text("certificate", str(body.get("digest"))), signature, "certificate")
    return wanted


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
