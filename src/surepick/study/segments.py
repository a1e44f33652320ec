"""Visitors who are counted segment by segment, and weighed by shares that are stated beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from surepick.errors import InvalidInputError
from surepick.problem.noise import BySegment, YesNo
from surepick.study.prepared import Prepared
from surepick.study.settings import Setting
from surepick.study.traffic.rules import as_share

NAME = "segments"


def as_segments(given: Any) -> dict[str, float]:
    """Checked: the share of each segment, by its name; also from a text.

    Examples
    --------
    >>> as_segments("phone=70%, desk=30%")
    {'phone': 0.7, 'desk': 0.3}
    """
    if isinstance(given, str):
        pairs = [one.rpartition("=") for one in given.split(",")]
        if not all(sign for _, sign, _ in pairs):
            raise InvalidInputError(
                f"segments must be names with their shares, such as phone=70%,desk=30%; got "
                f"{given!r:.80}"
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


def _weighed(segments: dict[str, float], made: Prepared) -> Prepared:
    """The study whose visitors are counted by segment."""
    if not made.traffic:
        raise InvalidInputError(
            "segments: only a traffic study (traffic=True, --traffic) is told visitors by segment; "
            "leave segments out"
        )
    if type(made.problem.noise_kind) is not YesNo:
        raise InvalidInputError(
            "segments: only visitors who say yes or no can be weighed by segment (noise='yes-no', "
            "--rewards yes-no); leave segments out"
        )
    if made.problem.numbers:
        raise InvalidInputError(
            "keep: guardrails are not possible where visitors are weighed by segment; leave keep "
            "or segments out"
        )
    problem = made.problem.with_noise({NAME: segments})
    made.algorithm.check_problem(problem)
    return replace(made, problem=problem)


SETTING = Setting(
    help="Segments of visitors that reports count by themselves, with the share of each in the mix "
    "that the answer is about: 'phone=70%,desk=30%'. The best option is the one with the best rate "
    "in this mix, whoever comes. For traffic studies with yes or no.",
    schema={"type": "string"},
    check=as_segments,
    apply=_weighed,
    words=lambda segments: (
        f"Reports are by segment, and the answer is about a mix of {BySegment.of(segments).mix}."
    ),
    write=lambda segments: ", ".join(f"{name}={share!r}" for name, share in segments.items()),
    question="Segments of visitors",
    hint="Phone=70%, desk=30%, for example: reports then have a row for each option and segment, "
    "and the answer is about visitors in this mix, whoever comes. Empty: visitors are not told "
    "apart.",
    empty="visitors are not told apart",
    pairs=False,
    traffic=True,
)
