"""Tests with an answer for each segment: what a certificate says of its own, and all together.

Each segment is decided by itself, at the error probability of all divided by their number. That any
of the answers is wrong is then no more probable than that of all, whatever segments have to do
with each other. This rests on nothing but the levels and on who belongs to what, and both are
checked here; each certificate is checked like any other.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from surepick.errors import FormatError
from surepick.verifier import exact
from surepick.verifier.check import Check

_SLACK = Fraction(1, 10**12)  # of the level, which is a rounded quotient
_PART = {"of", "name", "all", "delta", "test"}


def check_segment(check: Check) -> None:
    """Of which segment a certificate is; nothing where it does not say so."""
    if "segment" not in check.body:
        return
    part = exact.mapping(check.body["segment"], "its segment")
    check.demand(set(part) == _PART, "its segment does not say what it has to")
    exact.text(part["of"], "the test that its segment is of")
    exact.text(part["test"], "what tells its test from others")
    names = part["all"]
    check.demand(type(names) is list and len(names) >= 2, "its segment is not one of several")
    for name in names:
        exact.text(name, "the name of a segment")
    check.demand(len(set(names)) == len(names), "two segments have the same name")
    check.demand(part["name"] in names, "its segment is none of those that there are")
    whole = exact.number(part["delta"], "the error probability of all segments")
    check.demand(0.0 < whole < 1.0, "the error probability of all segments is none")
    most = Fraction(whole) / len(names) * (1 + _SLACK)
    check.demand(
        Fraction(check.delta) <= most,
        "its error probability is more than its part of that of all segments",
    )
    check.demand("traffic" in check.body, "it is of a segment, and not of visitors")
    on_average = check.claim["guarantee"] == "fdr"
    check.demand(not on_average, "what is right on average says nothing of all segments together")


def parts_of(certificate: Any) -> tuple[dict[str, Any], float, dict[str, dict[str, Any]]]:
    """The whole of such a certificate, the error probability of all, and the part of each segment.

    All of them must be of one test, which has a name that was drawn when it began: of several tests
    of the same kind, somebody could choose the segments in which they like the answer. The parts
    themselves are not checked here.
    """
    body = exact.mapping(certificate, "the certificate")
    if body.get("format") != "surepick-segments" or body.get("version") != 1:
        raise FormatError("this is not a surepick certificate of several segments")
    if set(body) != {"format", "version", "of", "test", "delta", "segments", "digest"}:
        exact.refuse("it has other fields than one of several segments")
    exact.demand_unchanged(body)
    of, whole = exact.text(body["of"], "its test"), exact.number(body["delta"], "its delta")
    test = exact.text(body["test"], "what tells its test from others")
    parts = exact.mapping(body["segments"], "its segments")
    for name, part in parts.items():
        own = exact.mapping(part, f"the certificate of segment {name!r}").get("segment")
        said = {"of": of, "name": name, "all": list(parts), "delta": whole, "test": test}
        if own != said:
            exact.refuse(f"the certificate of segment {name!r} is of another test or segment")
    if len(parts) < 2:
        exact.refuse("it is not of several segments")
    return body, whole, parts
