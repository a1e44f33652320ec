"""Certificates of false sentences: a verifier has to refuse them, or to print the condition.

Each is what one run of a cell left behind whose claim was false. They are kept as lines of JSON,
with the name of the cell, and verified as anybody would who was handed one.
"""

from __future__ import annotations

import ast
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.sentences.cells import CELLS, Outcome

import surepick as sp
from surepick.errors import CertificateError
from surepick.run import verify_segments
from surepick.run.certificate import fingerprint

#: cells by the name of their file
CASES = {
    "made-by-looking": "a new option is made by looking at the items met · decide",
    "made-by-looking-compared": (
        "a new option is made by looking at the items met · compare(items, seed=0)"
    ),
    "added-by-looking": (
        "a newcomer made by looking is added · a study of a table, what it says of new items"
    ),
    "growing-file": "asked every day of a file that grows · battles",
    "mended": "the objective is mended in between · Optuna, same storage and name",
    "frozen-answers": "frozen answers are drawn again · a study of items, told",
    "put-together": "parts of two tests are put together · segments, their certificate",
}


def made(case: str, count: int, seed: int, delta: float) -> list[Any]:
    """So many certificates of false claims of a case; fewer where they are too rare."""
    found: list[Any] = []
    for i in range(6 * count):
        (one,) = CELLS[CASES[case]].outcomes(i, 1, seed, delta)
        # Of two tests that are put together, one that is refused is one as well.
        if one.certificate is not None and (one.false or case == "put-together"):
            found.append(one.certificate)
        if len(found) == count:
            break
    return found


def write(folder: Path, keys: set[str], count: int, seed: int, delta: float) -> None:
    """A file for each case of these cells."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in (case for case, key in CASES.items() if key in keys):
        bodies = made(case, count, seed, delta)
        # What a version did not say that made them is added: it must not be all that is wrong.
        bodies = bodies if case == "put-together" else [*map(restated, bodies)]
        lines = "".join(json.dumps(body, separators=(",", ":")) + "\n" for body in bodies)
        (folder / f"{case}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
        print(f"{case}: {len(bodies)} certificates", flush=True)


def read(folder: Path, case: str) -> Iterator[dict[str, Any]]:
    """The certificates of a case."""
    text = gzip.decompress((folder / f"{case}.jsonl.gz").read_bytes()).decode()
    return map(json.loads, text.splitlines())


def restated(body: dict[str, Any]) -> dict[str, Any]:
    """A certificate with the sentence that is wanted of it: who made it added the conditions."""
    try:
        sp.verify(body)
    except CertificateError as error:
        wanted = re.search(r"the statement should be (.*); it is ", str(error), re.DOTALL)
        if wanted:
            claim = body["claim"] | {"statement": ast.literal_eval(wanted[1])}
            made = {key: one for key, one in body.items() if key != "digest"} | {"claim": claim}
            return made | {"digest": fingerprint(made)}
    return body


#: what was broken in a case, where the cell breaks nothing by itself
_BROKEN = {"added-by-looking": "chosen"}


def passed(case: str, body: dict[str, Any], replay: bool = True) -> tuple[bool, str]:
    """Whether a certificate passes with nothing said of what was broken; and what was said."""
    try:
        if case == "put-together":
            each = verify_segments(body, replay=replay)
            said = {"statement": str(each), "plain": str(each)}
        else:
            one = sp.verify(body, replay=replay)
            said = {"statement": one.statement, "plain": one.plain}
    except CertificateError as error:
        return False, str(error)
    broken = _BROKEN.get(case, CELLS[CASES[case]].breaks)
    return not Outcome(True, said).names(broken), said["plain"]
