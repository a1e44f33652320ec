"""What a pipeline reads: JUnit XML, and markdown for a comment."""

from __future__ import annotations

import xml.etree.ElementTree as Xml
from typing import NamedTuple

PASSED, FAILED, UNDECIDED = "passed", "failed", "undecided"


class Case(NamedTuple):
    """One thing that was checked."""

    name: str
    outcome: str  #: ``passed``, ``failed`` or ``undecided``
    text: str = ""  #: why
    seconds: float = 0.0


def junit(suite: str, cases: list[Case]) -> str:
    """The cases as JUnit XML; what is undecided neither passed nor failed: it counts as skipped.

    Examples
    --------
    >>> text = junit("time", [Case("branch", FAILED, "slower than main", 0.5)])
    >>> 'tests="1" failures="1"' in text
    True
    """
    count = {outcome: sum(case.outcome == outcome for case in cases) for outcome in OUTCOMES}
    root = Xml.Element(
        "testsuite",
        name=f"surepick {suite}",
        tests=str(len(cases)),
        failures=str(count[FAILED]),
        errors="0",
        skipped=str(count[UNDECIDED]),
    )
    for case in cases:
        made = Xml.SubElement(
            root, "testcase", classname=f"surepick.{suite}", name=_legal(case.name)
        )
        made.set("time", f"{case.seconds:.6f}")
        if case.outcome == FAILED:
            Xml.SubElement(made, "failure", message=_legal(case.text))
        elif case.outcome == UNDECIDED:
            Xml.SubElement(made, "skipped", message=_legal(f"undecided: {case.text}"))
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, encoding="unicode")}\n'


OUTCOMES = (PASSED, FAILED, UNDECIDED)


def comment(title: str, outcome: str, text: str) -> str:
    """Markdown for a comment: what came out first."""
    words = {PASSED: "passed", FAILED: "**failed**", UNDECIDED: "**undecided**"}
    return f"### {title}: {words[outcome]}\n\n{text.strip()}\n"


def _legal(text: str) -> str:
    """Without characters that XML does not have."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)
