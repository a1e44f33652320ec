"""Which version of a page a visitor sees.

A visitor races the options against each other. The hash of visitor and label gives each option a
waiting time, exponential with its share as the rate; the first one wins. So an option with the
share p wins with probability p, exactly as hashes are random, and the same visitor and the same
shares give the same version, on every server and in every browser: ``visitors.js`` is the same
rule in JavaScript.

*When shares move.* A waiting time depends on its own share alone, and only ratios matter. So a
visitor moves from one option to another only if the share of the new one has grown by a larger
factor; when an option is ruled out and the others keep their ratios, only its visitors move. For
shares whose total variation distance is d, at most 2d/(1 + d) of the visitors move, and no rule
that knows nothing but the visitor and the shares can do better in the worst case (M. Bavarian,
B. Ghazi, E. Haramaty, P. Kamath, R. Rivest and M. Sudan, *Optimality of correlated sampling
strategies*, 2020). It cannot be 0: with shares of 100 % and 0 % today, and half and half tomorrow,
half of all visitors are to see the second version, and a rule without memory cannot know who of
them was there today.

*So that nobody moves*, the first assignment is kept with the visitor, in a cookie or an account,
and handed in (``kept``). Returning visitors then stay where they were, and the shares of a
period hold for those who come for the first time. These are the ones that count: everybody once,
in the period of assignment. Why that is right: whoever comes for the first time in a period is
assigned by its shares alone, whatever became of earlier visitors, and that is all that bets ask.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from surepick.errors import InvalidInputError, InvalidTypeError

_BITS = 0xFFFFFFFF


def assign(
    shares: Any,
    visitor: str | int,
    *,
    kept: str | None = None,
    test: str = "",
    segment: str | None = None,
) -> str:
    """Which option a visitor sees: always the same one, as long as shares stay as they are.

    Parameters
    ----------
    shares
        A dict from labels to shares (they need not sum to 1), what ``study.split()`` gave, or a
        study of traffic: the shares of its current period, or its answer when it is finished.
    visitor
        Who it is: the id in a cookie, or of an account; not an address that many share.
    kept
        The option that this visitor was assigned before, if any. It is returned as long as it is
        one of the options, whatever became of its share: nobody sees another version while the
        test runs.
    test
        Name of the test, so that two tests deal visitors independently of each other; by default
        the name of the study, where one is given.
    segment
        Which segment the visitor is of, in a test with an answer for each (``shares`` is then what
        :meth:`surepick.study.SegmentStudies.split` gave). It belongs to the visitor and must be
        known before a version is shown.

    Examples
    --------
    >>> assign({"plain": 0.5, "photo": 0.5}, "visitor 17", test="shop")
    'photo'
    >>> assign({"plain": 1.0, "photo": 0.0}, "visitor 17", kept="photo", test="shop")
    'photo'
    """
    test = test or getattr(shares, "name", "")
    by_label = _shares(shares if segment is None else _of_segment(shares, segment))
    if isinstance(by_label, str):
        return by_label
    if kept is not None and kept in by_label:
        return kept
    if isinstance(visitor, bool) or not isinstance(visitor, str | int) or visitor == "":
        raise InvalidTypeError(f"visitor must be a text or a whole number; got {visitor!r:.80}")
    who = _hash(f"{test}/{visitor}")
    winner, first = None, math.inf
    for label in sorted(by_label):
        share = by_label[label]
        if share > 0.0:
            wait = -math.log((_mixed(who + _of_label(label)) + 0.5) / 2**32) / share
            if wait < first:
                winner, first = label, wait
    if winner is None:
        raise InvalidInputError("shares: no option has one")
    return winner


def _of_segment(given: Any, segment: str) -> Any:
    """The shares of one segment."""
    if not isinstance(given, Mapping) and callable(getattr(given, "split", None)):
        studies = getattr(given, "studies", {})
        if segment in studies:
            return studies[segment]
    by_segment = given if isinstance(given, Mapping) else vars(given)
    by_segment = by_segment.get("segments")
    if not isinstance(by_segment, Mapping) or segment not in by_segment:
        known = ", ".join(by_segment) if isinstance(by_segment, Mapping) else "none"
        raise InvalidInputError(f"segment: no segment is called {segment!r:.80}; there are {known}")
    found = by_segment[segment]
    return found["shares"] if isinstance(found, Mapping) else found


def _shares(given: Any) -> Mapping[str, float] | str:
    """Shares by label; a label: everybody is to see it."""
    if not isinstance(given, Mapping) and callable(getattr(given, "split", None)):
        if given.finished:
            return given.answer.label
        given = given.split()
    found = given if isinstance(given, Mapping) else getattr(given, "shares", None)
    if not isinstance(found, Mapping):
        raise InvalidTypeError(
            f"shares must be a dict from labels to shares, or a study; got {given!r:.80}"
        )
    for label, share in found.items():
        if isinstance(share, bool) or not isinstance(share, int | float):
            raise InvalidTypeError(f"shares[{label!r}] must be a number; got {share!r:.80}")
        if not 0.0 <= share < math.inf:
            raise InvalidInputError(f"shares[{label!r}] must be 0 or more; got {share!r}")
    return found


@lru_cache(4096)
def _of_label(label: str) -> int:
    return _hash(label)


def _hash(text: str) -> int:
    """FNV-1a of the bytes, mixed: 32 bits."""
    h = 0x811C9DC5
    for byte in text.encode():
        h = ((h ^ byte) * 0x01000193) & _BITS
    return _mixed(h)


def _mixed(h: int) -> int:
    """The last step of MurmurHash3: every bit depends on all others."""
    h &= _BITS
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & _BITS
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & _BITS
    return h ^ (h >> 16)
