"""Running identifications: ask, tell, answer; saving; certificates and their check."""

from surepick.run.answer import Answer
from surepick.run.batch import Batch
from surepick.run.identify import identify
from surepick.run.run import Run
from surepick.run.verify import SegmentsVerified, verify, verify_segments

__all__ = [
    "Answer",
    "Batch",
    "Run",
    "SegmentsVerified",
    "identify",
    "verify",
    "verify_segments",
]
