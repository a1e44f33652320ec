"""Certificates of all rules, and what the verifier made of them: verdicts, and every log capital.

``python -m tests.verifier.recorded`` makes them anew, after a change of what certificates say. A
change of the verifier alone must leave all of it as it is.
"""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from tests.verifier.fuzz import RULES
from tests.verifier.kinds import KINDS, as_json, finished

from surepick.verifier.check import Check
from surepick.verifier.verify import verify

FILE = Path(__file__).parents[1] / "data" / "verified.jsonl.gz"
WAYS = ({}, {"epsilon": 0.3}, {"past": 12}, {"past": 12, "in_advance": False})


def worked_out(certificate):
    """What a certificate proves, and every number that was worked out and compared on the way."""
    numbers, agree = [], Check.agree_all

    def noted(check, recorded, computed, what, rounding=None):
        numbers.extend(np.ravel(computed).tolist())
        agree(check, recorded, computed, what, rounding)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Check, "agree_all", noted)
        found = verify(certificate)
    said = {
        "candidates": list(found.candidates),
        "guarantee": found.guarantee,
        "risk": found.risk,
        "checked": found.checked,
        "statement": found.statement,
    }
    return {"said": said, "numbers": numbers}


def read():
    """By name, a certificate and what was made of it."""
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        return {one["name"]: one for one in map(json.loads, lines)}


def write():
    """Make all of them, small ones."""
    made = {f"{rule} {i}": make for rule, makes in RULES.items() for i, make in enumerate(makes)}
    for kind in KINDS:
        for more in WAYS:
            name = f"{kind} {more}"
            made[name] = lambda kind=kind, more=more: as_json(finished(kind, **more))
    with gzip.GzipFile(FILE, "wb", mtime=0) as file:
        for name, make in made.items():
            body = make()
            one = {"name": name, "certificate": body, **worked_out(body)}
            file.write(json.dumps(one, separators=(",", ":")).encode() + b"\n")


if __name__ == "__main__":
    write()
