"""Visitors who are counted segment by segment: one answer for a mix of them, or one for each.

With shares, which are stated beforehand, segments are weighed by them, and there is one answer.
Without shares there is an answer for each segment: a study for each, whose error probability is
that of the whole divided by their number. By a union bound all answers together are right with the
probability that was asked for, whatever segments have to do with each other, and whichever of
them are decided. What such a study is part of is a setting of its own (``segment``).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from surepick.arrays.validate import real
from surepick.errors import InvalidInputError
from surepick.problem.noise import BySegment, YesNo
from surepick.promise import wrong_somewhere
from surepick.study.pulls import as_name
from surepick.study.settings import Prepared, Setting
from surepick.study.traffic.rules import as_share

NAME = "segments"
PART = "segment"  #: where a study says which segment it is about
_TRAFFIC_ONLY = (
    "segments: only a traffic study (traffic=True, --traffic) is told visitors by segment; leave "
    "segments out"
)
_FIELDS = {"of", "name", "all", "delta", "test"}
_SLACK = 1e-12  # of δ, which is divided and summed up again


def as_segments(given: Any) -> dict[str, float] | tuple[str, ...]:
    """Checked: the share of each segment, by its name, or the names alone; also from a text.

    Examples
    --------
    >>> as_segments("phone=70%, desk=30%")
    {'phone': 0.7, 'desk': 0.3}
    >>> as_segments("phone, desk")
    ('phone', 'desk')
    """
    if isinstance(given, str) and "," in given and not set(given) & {*"=%"}:
        given = [name.strip() for name in given.split(",")]
    if isinstance(given, Sequence) and not isinstance(given, str):
        return _as_names(given)
    if isinstance(given, str):
        pairs = [one.rpartition("=") for one in given.split(",")]
        if not all(sign for _, sign, _ in pairs):
            raise InvalidInputError(
                "segments must be names with their shares, such as phone=70%,desk=30%, or names "
                f"alone (phone,desk) for an answer for each; got {given!r:.80}"
            )
        names = [name.strip() for name, _, _ in pairs]
        if len(set(names)) < len(names):
            raise InvalidInputError(f"segments: a name is there twice; got {given!r:.80}")
        shares = (as_share(share, NAME) for _, _, share in pairs)
        given = dict(zip(names, shares, strict=True))
    if isinstance(given, Mapping):
        given = {name: as_share(s, NAME) if isinstance(s, str) else s for name, s in given.items()}
    kind = BySegment.of(given)
    return dict(zip(kind.names, kind.shares, strict=True))


def _as_names(given: Sequence[Any]) -> tuple[str, ...]:
    """Names of segments that have no shares."""
    for name in given:
        if not isinstance(name, str):
            raise InvalidInputError(f"segments: a name is a text; got {name!r:.80}")
    if len(set(given)) < len(given):
        raise InvalidInputError(f"segments: a name is there twice; got {', '.join(given)!r:.80}")
    return BySegment.of(dict.fromkeys(given, 1.0 / max(len(given), 1))).names


@dataclass(frozen=True)
class Segment:
    """Of what test, and of which of its segments, a study gives the answer."""

    of: str  #: the name of the test
    name: str
    all: tuple[str, ...]  #: all segments of the test
    delta: float  #: for all of them together
    #: of which test: drawn when its studies are made. Nobody can put the segments of several tests
    #: together, which would choose among their answers
    test: str

    @classmethod
    def all_of(cls, of: str, names: tuple[str, ...], delta: float) -> tuple[Segment, ...]:
        """The segments of a test that begins now."""
        test = secrets.token_hex(16)
        return tuple(cls(of, name, names, delta, test) for name in names)

    @classmethod
    def read(cls, given: Any) -> Segment:
        """Checked, from what JSON has."""
        if isinstance(given, Segment):
            return given
        if not isinstance(given, Mapping) or set(given) != _FIELDS:
            raise InvalidInputError(
                f"segment must be a dict of of, name, all, delta and test; got {given!r:.80}"
            )
        of, delta = as_name(given["of"], "segment: of"), real(given["delta"], "segment: delta")
        if not 0.0 < delta < 1.0:
            raise InvalidInputError(f"segment: delta must lie between 0 and 1; got {delta!r}")
        if not isinstance(given["all"], list | tuple):
            raise InvalidInputError(
                f"segment: all must be a list of names; got {given['all']!r:.80}"
            )
        names = _as_names(given["all"])
        if given["name"] not in names:
            raise InvalidInputError(f"segment: {given['name']!r:.80} is none of {', '.join(names)}")
        return cls(of, given["name"], names, delta, as_name(given["test"], "segment: test"))

    @property
    def level(self) -> float:
        """δ of this segment: what all together have, divided by their number."""
        return self.delta / len(self.all)

    @property
    def studies(self) -> dict[str, str]:
        """The names of the studies of all segments.

        Examples
        --------
        >>> Segment("shop", "phone", ("phone", "desk"), 0.05, "one").studies
        {'phone': 'shop@phone', 'desk': 'shop@desk'}
        """
        return {name: f"{self.of}@{name}" for name in self.all}

    @property
    def words(self) -> str:
        """What that means for the answer."""
        return (
            f"This is segment {self.name} of {self.of}. {promise_of_all(len(self.all), self.delta)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return vars(self) | {"all": list(self.all)}


def promise_of_all(count: int, delta: float) -> str:
    """What holds of the answers of so many segments together."""
    sure = wrong_somewhere(delta)
    level = f"{delta / count:.6g}"
    rests = "on conditions that each answer lists"
    return (
        f"Each of {count} segments has an answer of its own, with delta {level}. {sure}, {rests}."
    )


def _part(segment: Segment, made: Prepared) -> Prepared:
    """Refuse what is no part of a test by segment."""
    if not made.traffic:
        raise InvalidInputError(_TRAFFIC_ONLY)
    if made.algorithm.delta > segment.level * (1.0 + _SLACK):
        raise InvalidInputError(
            f"segment: delta must be at most {segment.level:g}, which is {segment.delta:g} divided "
            f"by the number of segments; got {made.algorithm.delta:g}"
        )
    if getattr(made.algorithm.asked, "claims", "all") != "all":
        raise InvalidInputError(
            "claims: with 'fdr' a share of the claims may be wrong on average, which says nothing "
            "of all segments together; leave claims out where each segment has an answer"
        )
    if made.past is not None:
        raise InvalidInputError(
            "past: nobody knows of which segment past measurements are; leave past out where each "
            "segment has an answer"
        )
    return made


def _weighed(segments: dict[str, float] | tuple[str, ...], made: Prepared) -> Prepared:
    """The study whose visitors are counted by segment."""
    if isinstance(segments, tuple):
        raise InvalidInputError(
            "segments: without shares there is an answer for each segment, so it takes a study for "
            f"each: surepick.study.SegmentStudies.create(…, segments={list(segments)!r}), or "
            "surepick new. For one answer, give the share of each segment"
        )
    if not made.traffic:
        raise InvalidInputError(_TRAFFIC_ONLY)
    if type(made.problem.noise_kind) is not YesNo:
        raise InvalidInputError(
            "segments: only visitors who say yes or no can be weighed by segment (noise='yes-no', "
            "--rewards yes-no); leave segments out"
        )
    for name, kind in made.problem.numbers.items():
        if type(kind) is not YesNo:
            raise InvalidInputError(
                f"segments: {name!r} is not yes or no, and only such numbers can be weighed by "
                "segment; count the visitors of whom it is too large, for example, or leave "
                "segments out"
            )
    weighed = {NAME: segments}
    further = dict.fromkeys(made.problem.numbers, weighed)
    problem = made.problem.with_noise(weighed).with_further(further)
    made.algorithm.check_problem(problem)
    return replace(made, problem=problem)


SETTING = Setting(
    help="Segments of visitors that reports count by themselves, with the share of each in the mix "
    "that the answer is about: 'phone=70%,desk=30%'. The best option is the one with the best rate "
    "in this mix, whoever comes; rewards must be yes or no. Without shares ('phone,desk') there is "
    "an answer for each segment: a study for each, at `delta` over their number. For traffic "
    "studies.",
    schema={"type": "string"},
    check=as_segments,
    apply=_weighed,
    words=lambda segments: (
        f"Reports are by segment, and the answer is about a mix of {BySegment.of(segments).mix}."
    ),
    write=lambda segments: (
        ", ".join(segments)
        if isinstance(segments, tuple)
        else ", ".join(f"{name}={share!r}" for name, share in segments.items())
    ),
    question="Segments of visitors",
    hint="Phone=70%, desk=30%, for example: reports then have a row for each option and segment, "
    "and the answer is about visitors in this mix, whoever comes. Phone, desk: an answer for each. "
    "Empty: visitors are not told apart.",
    empty="visitors are not told apart",
    pairs=False,
    traffic=True,
)

OF_SEGMENT = Setting(
    help="Which segment of which test a study is about, where each segment has an answer of its "
    "own: the name of the test (of), of the segment (name), of all segments (all), the error "
    "probability of all together (delta), and what tells the test from others of its name (test), "
    "which is drawn when it begins. `segments` without shares makes such studies.",
    schema={"type": "object"},
    check=Segment.read,
    apply=_part,
    words=lambda segment: segment.words,
    write=Segment.to_dict,
    flag=False,
)


def segment_of(meta: Mapping[str, Any]) -> Segment | None:
    """The segment that a study is about, from what is kept with it."""
    found = meta.get(PART)
    known = isinstance(found, Mapping) and set(found) == _FIELDS
    return Segment.read(found) if known else None
