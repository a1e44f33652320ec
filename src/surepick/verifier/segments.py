"""Tests with an answer for each segment: what a certificate says of its own, and all together.

Each segment is decided by itself, at the error probability of all divided by their number. That any
of the answers is wrong is then no more probable than that of all, whatever segments have to do
with each other. This rests on nothing but the levels and on who belongs to what, and both are
checked here; each certificate is checked like any other.

Of one test are those that asked the same: of the same options under the same noise, by the same
settings, with periods in the same order. That somebody who invents all numbers invents them for
every segment, nobody can see.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.record import Certificate, OfSegments, Part

_SLACK = Fraction(1, 10**12)  # of the level, which is a rounded quotient
_PER_OPTION = ("arms", "labels", "costs")  # of a problem; more where options were added later


def check_segment(check: Check, part: Part) -> None:
    """Of which segment a certificate is."""
    check.demand(len(part.all) >= 2, "its segment is not one of several")
    check.demand(len(set(part.all)) == len(part.all), "two segments have the same name")
    check.demand(part.name in part.all, "its segment is none of those that there are")
    check.demand(0.0 < part.delta < 1.0, "the error probability of all segments is none")
    most = Fraction(part.delta) / len(part.all) * (1 + _SLACK)
    check.demand(
        Fraction(check.delta) <= most,
        "its error probability is more than its part of that of all segments",
    )
    check.demand(check.record.traffic is not None, "it is of a segment, and not of visitors")
    on_average = check.claim["guarantee"] == "fdr"
    check.demand(not on_average, "what is right on average says nothing of all segments together")


def check_together(whole: OfSegments) -> None:
    """The parts must be of one test: each of its own segment, and all of the same question.

    A test has a name that was drawn when it began: of several tests of the same kind, somebody
    could choose the segments in which they like the answer. The parts themselves are not checked
    here.
    """
    names = tuple(whole.parts)
    if len(names) < 2:
        exact.refuse("it is not of several segments")
    first = whole.parts[names[0]]
    heads = set[Any]()
    for name, part in whole.parts.items():
        where = f"the certificate of segment {name!r:.80}"
        if part.part != Part(whole.of, name, names, whole.delta, whole.test):
            exact.refuse(f"{where} is of another test or segment")
        chain = part.body.get("chain")
        if chain is not None:
            chain = exact.mapping(chain, f"{where}: its chain")
            if chain.get("study") != f"{whole.of}@{name}":
                exact.refuse(f"{where} is of another study")
            if chain.get("head") in heads:
                exact.refuse(f"{where} has the chain of another segment")
            heads.add(exact.text(chain.get("head"), f"{where}: the head of its chain"))
        for what, own, others in zip(_ASKED, _asked(part), _asked(first), strict=True):
            if own != others:
                exact.refuse(f"{where} has another {what} than that of {names[0]!r:.80}")
        if not _in_order(_periods(part), _periods(first)):
            exact.refuse(f"{where} has the periods of {names[0]!r:.80} in another order")


_ASKED = ("problem", "algorithm", "error probability", "epsilon", "rule of traffic")


def _asked(part: Certificate) -> tuple[Any, ...]:
    """What was asked, as far as it is the same of all segments of a test."""
    body = part.body
    traffic = exact.mapping(body.get("traffic"), "what it says of traffic")
    waits = exact.mapping(traffic.get("waits", {}), "traffic: what it waits for")
    rules = {name: own for name, own in traffic.items() if name not in ("periods", "waits")}
    rules["waits"] = waits.get("least")
    delta, epsilon = (exact.number(body.get(name), name) for name in ("delta", "epsilon"))
    return _at_first(body), body.get("algorithm"), delta, epsilon, rules


def _at_first(body: dict[str, Any]) -> dict[str, Any]:
    """The problem without the options that came to this segment later."""
    problem = dict(exact.mapping(body.get("problem"), "its problem"))
    turns = exact.mappings(body.get("options", []), "its options")
    added = [turn for turn in turns if turn.get("change") == "added"]
    if not added:
        return problem
    arms = exact.whole_numbers(added[0].get("arms"), "the options of a change").tolist()
    widths = exact.whole_numbers(added[0].get("features"), "the features of a change").tolist()
    if not arms or not widths:
        exact.refuse("a change of its options does not say of which, or of how many features")
    for name in _PER_OPTION:
        if type(problem.get(name)) is list:
            problem[name] = problem[name][: arms[0]]
    if type(problem.get("noise")) is list:
        problem["noise"] = problem["noise"][: arms[0]]
    if type(problem.get("arms")) is list:
        problem["arms"] = [
            row[: widths[0]] if type(row) is list else row for row in problem["arms"]
        ]
    return problem


def _periods(part: Certificate) -> list[str]:
    periods = exact.mappings(part.body["traffic"].get("periods"), "periods")
    return [exact.text(period.get("name"), "the name of a period") for period in periods]


def _in_order(own: list[str], others: list[str]) -> bool:
    """Whether what is in both is in the same order."""
    places = {name: place for place, name in enumerate(others)}
    found = [places[name] for name in own if name in places]
    return found == sorted(found)
