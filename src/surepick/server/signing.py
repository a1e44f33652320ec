"""The key with which the service signs what it gives out.

It is made at the first start, in a file of its own that only the service can read. It is not kept
in the database: who can change that must not be able to sign.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from surepick.errors import InvalidInputError, MissingExtraError
from surepick.run.signature import envelope_of, signed_text

_log = logging.getLogger(__name__)


class Signer:
    """Signs with the key in a file, which is made where there is none.

    Without ``cryptography`` (of the extra ``server``) nothing is signed.
    """

    def __init__(self, path: Path) -> None:
        self._key: Any = None
        self.public: str | None = None  #: the public key, in hexadecimal; None: nothing is signed
        try:
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # pyright: ignore[reportMissingImports]
        except ImportError:
            _log.warning(
                "certificates are not signed: cryptography is missing; "
                "pip install 'surepick[server]'"
            )
            return
        self._key = Ed25519PrivateKey.from_private_bytes(_secret(path))
        self.public = self._key.public_key().public_bytes_raw().hex()

    def sign(self, kind: str, digest: str) -> dict[str, str] | None:
        """The signature of something of this kind with this digest."""
        if self._key is None or self.public is None:
            return None
        value = self._key.sign(signed_text(kind, digest)).hex()
        return {"algorithm": "Ed25519", "key": self.public, "value": value}

    def signed(self, certificate: dict[str, Any]) -> dict[str, Any]:
        """A certificate with a signature of its digest."""
        signature = self.sign("certificate", certificate["digest"])
        return certificate if signature is None else certificate | {"signature": signature}

    def enveloped(self, certificate: dict[str, Any], name: str) -> dict[str, Any]:
        """A certificate in an envelope (DSSE), signed for tools that know nothing of surepick."""
        if self._key is None or self.public is None:
            raise MissingExtraError(
                "nothing is signed here: cryptography is missing; pip install 'surepick[server]'"
            )
        return envelope_of(certificate, name, self.public, self._key.sign)

    @property
    def pem(self) -> str | None:
        """The public key as files hold it."""
        if self._key is None:
            return None
        from cryptography.hazmat.primitives import serialization as kinds  # pyright: ignore[reportMissingImports]

        form = kinds.Encoding.PEM, kinds.PublicFormat.SubjectPublicKeyInfo
        return self._key.public_key().public_bytes(*form).decode()

    def signed_head(self, chain: dict[str, Any] | None) -> dict[str, Any] | None:
        """The head of a chain with a signature."""
        signature = None if chain is None else self.sign("chain", chain["head"])
        return chain if signature is None else {**(chain or {}), "signature": signature}


def default_path(storage: str) -> Path:
    """Where the key is if nobody says: beside an SQLite database, else with the user's data."""
    if storage.startswith("sqlite:///"):
        return Path(storage.removeprefix("sqlite:///").partition("?")[0] + ".signing-key")
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "surepick" / "signing-key"


def _secret(path: Path) -> bytes:
    """The private key in a file; made once, whichever process comes first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written whole under another name first: nobody finds a file with half a key in it.
    made = path.with_name(f"{path.name}.{os.getpid()}.new")
    if not path.exists():
        handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(os.urandom(32).hex() + "\n")
        try:
            os.link(made, path)
        except FileExistsError:
            pass
        finally:
            made.unlink()
    try:
        secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except ValueError:
        secret = b""
    if len(secret) != 32:
        raise InvalidInputError(
            f"signing_key: {str(path)!r} is not a key of this service (64 hexadecimal digits); "
            "name another file, which is created if it does not exist"
        )
    return secret
