"""Certificates of tests with an answer for each segment, checked part by part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surepick.promise import SHOWN, wrong_somewhere
from surepick.run.verify import verify

if TYPE_CHECKING:
    from surepick.verifier.record import OfSegments
    from surepick.verifier.verify import Verification


@dataclass(frozen=True)
class SegmentsVerified:
    """A certificate of several segments that holds."""

    of: str  #: the name of the test
    delta: float  #: that any answer is wrong has at most this probability
    segments: dict[str, Verification]

    @property
    def proven(self) -> bool:
        """Whether every segment has an answer with a guarantee."""
        return all(one.guarantee in SHOWN for one in self.segments.values())

    def __bool__(self) -> bool:
        return all(self.segments.values())

    @property
    def plain(self) -> str:
        """What holds of all of them together."""
        if not self.proven:
            return "Some segments have no guarantee, so there is none for all together."
        sure = wrong_somewhere(self.delta)
        return (
            f"All {len(self.segments)} segments together: {sure[:1].lower()}{sure[1:]}, as their "
            f"error probabilities add up to no more than {self.delta:g}."
        )


def verify_segments(
    certificate: dict[str, Any] | str | Path | OfSegments, *, replay: bool | None = None
) -> SegmentsVerified:
    """Check a certificate of several segments.

    Each part is checked by :func:`surepick.verify`, and all together by code of the verifier: that
    they are of one test, that no segment is missing, and that their error probabilities add up.

    Parameters
    ----------
    certificate
        A dict, JSON text, or the path of a JSON file.
    replay
        As for :func:`surepick.verify`, for each part.

    Raises
    ------
    CertificateError
        When a part does not hold, or is not one of this test.
    """
    from surepick.verifier.record import read_of_segments  # few verbs need it
    from surepick.verifier.segments import check_together

    whole = read_of_segments(certificate)
    check_together(whole)
    found = {name: verify(part, replay=replay) for name, part in whole.parts.items()}
    return SegmentsVerified(whole.of, whole.delta, found)
