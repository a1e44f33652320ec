"""A certificate as typed values: read here, once, whatever it came in, and nowhere else.

It may be a dict, JSON text or a file, bare or in an envelope (DSSE), of one study or with a part
for each segment of a test. All of that is settled before anything is looked at: JSON is
unambiguous, an envelope is opened once and what is in it is none, and every digest is that of the
content beside it. Whatever is done with a certificate later is done with what is returned here, so
that nothing can be looked at in one form and worked out from another.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surepick.errors import FormatError, InvalidTypeError
from surepick.verifier import exact
from surepick.verifier.envelope import Envelope, envelope_in

FORMAT, OF_SEGMENTS = "surepick-certificate", "surepick-segments"
VERSION = 1
_FIELDS_OF_SEGMENTS = {"format", "version", "of", "test", "delta", "segments", "digest"}
_FIELDS_OF_PART = {"of", "name", "all", "delta", "test"}


@dataclass(frozen=True)
class Part:
    """Of which segment of which test a certificate says that it is."""

    of: str  #: the test
    name: str
    all: tuple[str, ...]  #: the segments that there are
    delta: float  #: the error probability of all together
    test: str  #: what tells it from other tests of that name


@dataclass(frozen=True)
class Certificate:
    """One certificate, as it was when its digest was made."""

    body: dict[str, Any]  #: its content, without signatures: what the digest is of
    digest: str
    part: Part | None = None  #: the segment that it is about; None: it is of a whole study
    signature: Any = None  #: of the digest, as it stands there; whose it is, nobody has looked
    envelope: Envelope | None = None  #: that it came in


@dataclass(frozen=True)
class OfSegments:
    """A certificate for each segment of a test."""

    of: str  #: the test
    delta: float  #: the error probability of all together
    test: str  #: what tells it from other tests of that name
    parts: Mapping[str, Certificate]  #: by segment
    envelope: Envelope | None = None


def read(given: Any) -> Certificate | OfSegments:
    """A dict, JSON text or the path of a JSON file, read; what was read already stays as it is."""
    if isinstance(given, Certificate | OfSegments):
        return given
    content = _plain(given)
    envelope = envelope_in(content)
    body = content if envelope is None else envelope.content
    kind = body.get("format") if type(body) is dict else None
    if kind == OF_SEGMENTS:
        return _of_segments(body, envelope)
    if kind != FORMAT:
        raise FormatError("this is not a surepick certificate")
    return _certificate(body, envelope)


def read_one(given: Any) -> Certificate:
    """The certificate of one study."""
    found = read(given)
    if isinstance(found, OfSegments):
        raise FormatError(
            "this has a certificate for each segment of a test: surepick verify checks it, and in "
            "Python surepick.run.verify_segments"
        )
    return found


def read_of_segments(given: Any) -> OfSegments:
    """The certificate of all segments of a test."""
    found = read(given)
    if isinstance(found, Certificate):
        raise FormatError("this is not a surepick certificate of several segments")
    return found


def _plain(given: Any) -> Any:
    """What a file, a text or a dict holds, as JSON has it."""
    if isinstance(given, dict):
        exact.demand_json(given)
        return given
    if not isinstance(given, str | bytes | Path):
        raise InvalidTypeError(
            f"certificate must be a dict, JSON text or a path; got {given!r:.80}"
        )
    if isinstance(given, str) and not given.lstrip().startswith("{"):
        given = Path(given)
    return exact.read_json(given.read_bytes() if isinstance(given, Path) else given)


def _certificate(body: dict[str, Any], envelope: Envelope | None) -> Certificate:
    version = body.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise FormatError(
            f"certificate version {version!s:.80} is not one this verifier reads "
            f"(up to {VERSION}); upgrade surepick"
        )
    digest = exact.demand_unchanged(body)
    content = {name: value for name, value in body.items() if name != "signature"}
    part = _part(body["segment"]) if "segment" in body else None
    return Certificate(content, digest, part, body.get("signature"), envelope)


def _part(given: Any) -> Part:
    """What a certificate says of its segment; whether that can be is asked by ``segments``."""
    part = exact.mapping(given, "its segment")
    if set(part) != _FIELDS_OF_PART:
        exact.refuse("its segment does not say what it has to")
    names = exact.texts(part["all"], "the segments of its test")
    return Part(
        exact.text(part["of"], "the test that its segment is of"),
        exact.text(part["name"], "the name of its segment"),
        tuple(names),
        exact.number(part["delta"], "the error probability of all segments"),
        exact.text(part["test"], "what tells its test from others"),
    )


def _of_segments(body: dict[str, Any], envelope: Envelope | None) -> OfSegments:
    if body.get("version") != 1 or type(body["version"]) is not int:
        raise FormatError(
            f"version {body.get('version')!r:.80} of a certificate of several segments is not one "
            "this verifier reads (up to 1); upgrade surepick"
        )
    if set(body) != _FIELDS_OF_SEGMENTS:
        exact.refuse("it has other fields than one of several segments")
    exact.demand_unchanged(body)
    parts = {
        name: _own(part, name)
        for name, part in exact.mapping(body["segments"], "its segments").items()
    }
    of, delta = exact.text(body["of"], "its test"), exact.number(body["delta"], "its delta")
    test = exact.text(body["test"], "what tells its test from others")
    return OfSegments(of, delta, test, parts, envelope)


def _own(given: Any, name: str) -> Certificate:
    """The certificate of a segment, which stands there as it is: in no envelope."""
    if type(given) is not dict or given.get("format") != FORMAT:
        exact.refuse(f"what it has for segment {name!r:.80} is not a surepick certificate")
    return _certificate(given, None)
