"""Every error this package raises on purpose.

Each is a :class:`SurepickError`, so one ``except`` catches them all, and each is
also the builtin error a Python programmer would expect at that place.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SurepickError(Exception):
    """Root of all errors raised by surepick."""


class InvalidInputError(SurepickError, ValueError):
    """An argument has a value that cannot be accepted; the message names it."""


class InvalidTypeError(SurepickError, TypeError):
    """An argument is of a kind that cannot be accepted; the message names it."""


class BatchError(SurepickError, ValueError):
    """Rewards were told for a batch that is not the open batch of this run."""


class RunStateError(SurepickError, RuntimeError):
    """The run is not in a state where this makes sense (stopped, or not yet)."""


class FormatError(SurepickError, ValueError):
    """A saved run or certificate cannot be read by this version."""


class CertificateError(SurepickError, ValueError):
    """A certificate does not prove what it claims."""


class UnknownNameError(SurepickError, LookupError):
    """No algorithm, instance or other registered thing has this name."""

    @classmethod
    def among(cls, kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
        """Build the error, with the nearest known name as a suggestion."""
        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return cls(f"unknown {kind} {name!r}{hint} Known: {', '.join(known)}")


class SolverError(SurepickError, ArithmeticError):
    """A numerical solver could not produce a trustworthy result."""


class MissingExtraError(SurepickError, ImportError):
    """An optional dependency is needed; the message says which extra to install."""
