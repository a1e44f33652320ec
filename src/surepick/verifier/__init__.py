"""An independent check of certificates. Imports NumPy and the errors, nothing else of surepick."""

from surepick.verifier.verify import verify

__all__ = ["verify"]
