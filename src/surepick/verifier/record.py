"""A certificate as typed values: read here, once, whatever it came in, and nowhere else.

It may be a dict, JSON text or a file, bare or in an envelope (DSSE), of one study or with a part
for each segment of a test. All of that is settled before anything is looked at: JSON is
unambiguous, an envelope is opened once and what is in it is none, and every digest is that of the
content beside it. Whatever is done with a certificate later is done with what is returned here, so
that nothing can be looked at in one form and worked out from another.

An envelope (DSSE, https://github.com/secure-systems-lab/dsse) holds bytes and signatures of these
bytes. What is signed names the type of the content and its length beside the content itself, so
nothing can be taken for something else. Its statement (in-toto) says what it is about, by name and
SHA-256, and holds the certificate as its predicate.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from surepick.errors import FormatError, InvalidTypeError
from surepick.verifier import exact
from surepick.verifier.exact import Numbers, Wholes, Words, readable

FORMAT, OF_SEGMENTS = "surepick-certificate", "surepick-segments"
VERSION = 1
_FIELDS_OF_SEGMENTS = {"format", "version", "of", "test", "delta", "segments", "digest"}

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:surepick:certificate:v1"
_FIELDS = {"payload", "payloadType", "signatures"}
_STATEMENT = {"_type", "subject", "predicateType", "predicate"}


@readable
@dataclass(frozen=True)
class Part:
    """Of which segment of which test a certificate says that it is."""

    of: str  #: the test
    name: str
    all: tuple[str, ...]  #: the segments that there are
    delta: float  #: the error probability of all together
    test: str  #: what tells it from other tests of that name


@dataclass(frozen=True)
class Envelope:
    """An envelope, opened."""

    signed: bytes  #: what its signatures are signatures of
    signatures: Any  #: as they stand there; whose they are, nobody has looked
    about: Any  #: what its statement is about, as it stands there
    content: Any  #: what it holds, which is no envelope


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
    part = exact.read(Part, body["segment"], "its segment") if "segment" in body else None
    return Certificate(content, digest, part, body.get("signature"), envelope)


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


# -- envelopes ------------------------------------------------------------------------------
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


# -- what is in it ---------------------------------------------------------------------------
@readable
@dataclass(frozen=True, eq=False)
class Told:
    """A further number, by row."""

    sums: Numbers
    spreads: Numbers | None = None


@readable
@dataclass(frozen=True, eq=False)
class Batch:
    """Rows: how often an arm was pulled, or which part of its pulls it is; and the rewards."""

    arms: Wholes
    counts: Wholes
    sums: Numbers
    spreads: Numbers | None = None  #: Σ (reward − mean of the row)²
    parts: Wholes | None = None
    stratum: str | None = None
    after: int | None = None  #: how many batches had been told when it was asked for ahead
    numbers: dict[str, Told] | None = None  #: of the same rows

    @cached_property
    def columns(self) -> set[str]:
        return {name for name in ("spreads", "parts", "numbers") if getattr(self, name) is not None}

    @property
    def rows(self) -> list[tuple[int, int]]:
        """The arm and the part of each row."""
        parts = [0] * len(self.arms) if self.parts is None else self.parts.tolist()
        return list(zip(self.arms.tolist(), parts, strict=True))

    def about(self, number: str) -> Batch:
        """The same with a further number in the place of the reward."""
        told = (self.numbers or {})[number]
        return replace(self, sums=told.sums, spreads=told.spreads, numbers=None)

    @property
    def pulls(self) -> int:
        return sum(self.counts.tolist())

    def of(self, rows: Any) -> Batch:
        """Some of its rows, by their places or a mask."""
        columns = {name: getattr(self, name) for name in ("arms", "counts", "sums", *self.columns)}
        columns.pop("numbers", None)
        return replace(self, **{name: own[rows] for name, own in columns.items()})


@readable
@dataclass(frozen=True)
class Past:
    """What had been measured before."""

    others: ClassVar[bool] = True
    batches: tuple[Batch, ...]
    measurements: int
    chosen: str


@readable
@dataclass(frozen=True)
class Algorithm:
    """What it was measured by, and how that was set."""

    others: ClassVar[bool] = True
    name: str
    settings: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Event:
    """What happened on the way; nobody has to say who they are."""

    reason: str
    by: str | None
    at: float | None

    @property
    def who(self) -> str:
        return "somebody" if self.by is None else self.by


@readable
@dataclass(frozen=True, kw_only=True)
class Turn(Event):
    """Options came, or one went."""

    change: str
    arms: list[int]
    batch: int  #: batches before it
    features: list[int]  #: how many there were before, and are after it

    @property
    def added(self) -> bool:
        return self.change == "added"


@readable
@dataclass(frozen=True, kw_only=True)
class Accepted(Event):
    """What is close enough from some moment on."""

    batch: int  #: batches before it
    changes: int  #: changes of the options before it
    epsilon: list[float]  #: before and after


@readable
@dataclass(frozen=True, kw_only=True)
class Caps(Event):
    """How much might be measured from some moment on."""

    asked: int
    max_samples: int | None
    budget: float | None


@dataclass(frozen=True, kw_only=True)
class Decision(Event):
    """An event for which there must be a reason, and a time."""

    reason: Words
    at: float


@readable
@dataclass(frozen=True, kw_only=True)
class PullCorrection(Decision):
    """A measurement was corrected, or withdrawn."""

    pull: int
    arm: int
    batch: int | None  #: None: nothing of it is left
    asked: int
    old: float | None
    new: float | None
    number: str | None = None  #: the further number that it is about
    aside: int | None = None  #: with which of those that were set aside


@readable
@dataclass(frozen=True)
class Row:
    """A row of a report, before and after."""

    arm: int
    bucket: int | None
    old: list[float]
    new: list[float]


@readable
@dataclass(frozen=True, kw_only=True)
class ReportCorrection(Decision):
    """A report was corrected."""

    period: int
    asked: int
    rows: tuple[Row, ...]


def _corrections(given: Any, where: str) -> tuple[PullCorrection | ReportCorrection, ...]:
    """Of either kind; which of them there may be follows from what was measured."""
    entries = exact.mappings(given, where)
    kinds = [ReportCorrection if "rows" in entry else PullCorrection for entry in entries]
    read = [
        exact.read(kind, one, f"{where}, {n}") for n, (kind, one) in enumerate(zip(kinds, entries))
    ]
    return tuple(read)


exact.READERS["tuple[PullCorrection | ReportCorrection, ...]"] = _corrections


@readable
@dataclass(frozen=True, kw_only=True)
class SetAside(Decision):
    """Something was set aside for all options."""

    of: Words
    name: Words
    decided: str
    left_out: int
    from_: int | None = None  #: which shares may rest on it, of periods
    asked: int | None = None


@readable
@dataclass(frozen=True)
class Unmeasured:
    """A cell of a table that could not be measured."""

    arm: int
    at: int
    reason: str


@readable
@dataclass(frozen=True)
class Order:
    """How pulls were put in order."""

    rule: str
    seed: int


@readable
@dataclass(frozen=True)
class Chain:
    """Of the study that it is from: what it says, the database knows."""

    study: str
    links: int
    head: str
    at: float


@readable
@dataclass(frozen=True)
class Period:
    """A period of traffic; what came in it is a batch."""

    others: ClassVar[bool] = True
    name: str
    shares: Numbers
    settled: int  #: reports before its shares
    after: float | None = None  #: its time


@readable
@dataclass(frozen=True)
class Waits:
    """What is waited for once it is decided."""

    rule: int
    least: float
    decided: int | None  #: reports by then


@readable
@dataclass(frozen=True, kw_only=True)
class Traffic:
    """By which shares visitors were sent."""

    at_least: float
    control: Any
    control_share: float
    periods: tuple[Period, ...]
    waits: Waits
    past: int | None = None
    window: float | None = None  #: seconds that visitors have to respond


@dataclass(frozen=True, kw_only=True, eq=False)
class Record:
    """All that a certificate says; problem, claim, evidence and settings are read by rules."""

    others: ClassVar[bool] = True
    problem: dict[str, Any]
    algorithm: Algorithm
    delta: float
    epsilon: float
    batches: tuple[Batch, ...]
    evidence: dict[str, Any]
    claim: dict[str, Any]
    past: Past | None = None
    stopped: str | None = None
    order: Order | None = None
    corrections: tuple[PullCorrection | ReportCorrection, ...] = ()
    conditions: tuple[dict[str, Any], ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    options: tuple[Turn, ...] = ()
    accepted: tuple[Accepted, ...] = ()
    limits: tuple[Caps, ...] = ()
    traffic: Traffic | None = None
    chain: Chain | None = None
    segment: Part | None = None
