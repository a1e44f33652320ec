"""Time stamps by RFC 3161: a stranger's word that a file was there at some moment.

A time-stamp authority signs the digest of a file together with the time, so neither who made the
file nor whoever keeps it can say later that it is older than it is. A stamp is a file of its own,
the authority's whole reply (usually ``.tsr``), which common tools check as well. Nothing here talks
to anybody: a stamp is checked against certificates of authorities that the caller trusts.
"""

from __future__ import annotations

import datetime
import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from surepick.errors import CertificateError, InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGESTS: dict[str, Callable[[bytes], Any]] = {  # those that authorities sign, by their numbers
    "2.16.840.1.101.3.4.2.1": hashlib.sha256,
    "2.16.840.1.101.3.4.2.2": hashlib.sha384,
    "2.16.840.1.101.3.4.2.3": hashlib.sha512,
}
_GRANTED = 0
_TIMESTAMP_EXTRA = "time stamps need rfc3161-client: pip install 'surepick[timestamp]'"


class Request(NamedTuple):
    """What an authority is asked for."""

    content: bytes  #: the query, to be sent as ``application/timestamp-query``
    nonce: int  #: a number drawn for it, which the reply has to repeat


def request_for(content: bytes) -> Request:
    """A query for a stamp of this content; the authority sees its SHA-256 only."""
    library = _library()
    asked = library.TimestampRequestBuilder().data(content)
    asked = asked.hash_algorithm(library.HashAlgorithm.SHA256).cert_request(cert_request=True)
    made = asked.nonce(nonce=True).build()
    return Request(made.as_bytes(), made.nonce)


def received(reply: bytes, content: bytes, request: Request) -> datetime.datetime:
    """The time that a reply names, if it answers this request about this content.

    Who signed it is not looked at: :func:`check_stamp` does that, whenever it is wanted.
    """
    found = _read(reply)
    _demand_about(found, content)
    if found.tst_info.nonce != request.nonce:
        raise CertificateError("time stamp refused: it answers another request")
    return found.tst_info.gen_time


def check_stamp(stamp: bytes, content: bytes, trusted: bytes) -> datetime.datetime:
    """When a content was there, by an authority that is trusted.

    Parameters
    ----------
    stamp
        The reply of the authority.
    content
        What it is about, byte by byte.
    trusted
        Certificates in PEM: of the root that the authority's own one comes from, and of those
        between, where the stamp does not bring them.

    Returns
    -------
    datetime.datetime
        The time that the authority names, in UTC.

    Raises
    ------
    CertificateError
        Where the stamp is about another content, or no trusted authority signed it.
    """
    library, found = _library(), _read(stamp)
    _demand_about(found, content)
    builder = library.VerifierBuilder()
    for one in _certificates(trusted):
        builder = builder.add_root_certificate(one)
    try:
        builder.build().verify_message(found, content)
    except (library.VerificationError, ValueError) as error:
        raise CertificateError(
            f"time stamp refused: no authority that you trust signed it ({error})"
        ) from None
    return found.tst_info.gen_time


def _read(reply: bytes) -> Any:
    """A reply that grants a stamp."""
    try:
        found = _library().decode_timestamp_response(reply)
        granted = found.status == _GRANTED
        _ = granted and found.tst_info  # read only now
    except ValueError:
        raise CertificateError("time stamp refused: it is not a reply as of RFC 3161") from None
    if not granted:
        said = "; ".join(found.status_string or []) or f"status {found.status}"
        raise CertificateError(f"time stamp refused: the authority granted none ({said:.200})")
    return found


def _demand_about(found: Any, content: bytes) -> None:
    imprint = found.tst_info.message_imprint
    digest = _DIGESTS.get(imprint.hash_algorithm.dotted_string)
    if digest is None:
        raise CertificateError(
            "time stamp refused: it is about a digest other than SHA-256, SHA-384 and SHA-512"
        )
    if digest(content).digest() != imprint.message:
        raise CertificateError("time stamp refused: it is about another file, or another version")


def _certificates(trusted: bytes) -> list[Any]:
    from cryptography.x509 import load_pem_x509_certificates  # pyright: ignore[reportMissingImports]

    try:
        found = load_pem_x509_certificates(trusted)
    except ValueError:
        found = []
    if not found:
        raise InvalidInputError(
            "authority: a file with certificates in PEM is needed (-----BEGIN CERTIFICATE-----), "
            "such as the root that the authority publishes"
        )
    return list(dict.fromkeys(found))


def _library() -> Any:
    try:
        import rfc3161_client  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtraError(_TIMESTAMP_EXTRA) from None
    return rfc3161_client
