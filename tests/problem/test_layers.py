"""A kind of noise has a part in every layer, and nobody asks it for its name."""

import ast
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import surepick as sp
from surepick.ahead.kinds import DRAWINGS
from surepick.algorithms.pooled.kinds import READINGS
from surepick.errors import InvalidInputError
from surepick.problem import noise
from surepick.problem.noise import KINDS, NoiseKind, noise_kind
from surepick.run.assumed import ASSUMED
from surepick.study.traffic.kinds import REPORTS
from surepick.verifier import noise as verifier
from surepick.verifier.payoffs import payoff_of

LAYERS = {layer.part: layer for layer in (READINGS, DRAWINGS, ASSUMED, REPORTS)}
SOURCE = Path(sp.__file__).parent
GIVEN = {
    "symmetric": None,
    "any": "any",
    "equal": "equal",
    "known": 2.0,
    "yes-no": "yes-no",
    "segments": {"segments": {"phone": 0.7, "desk": 0.3}},
    "bounded": (0, 3),
    "pairs": "pairs",
}


@dataclass(frozen=True, eq=False)
class Odd(NoiseKind):
    kind = word = form = "odd"
    choice = "'odd'"

    def __str__(self):
        return "odd noise"


@pytest.fixture
def odd():
    noise.register(Odd)
    yield Odd()
    del KINDS["odd"]


@pytest.mark.parametrize("part", LAYERS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_part_in_every_layer(kind, part):
    assert LAYERS[part].of(KINDS[kind]) is not None


@pytest.mark.parametrize("part", LAYERS)
def test_a_kind_without_a_part_is_an_error_that_names_both(part, odd):
    with pytest.raises(InvalidInputError, match=f"'odd' has no {part}"):
        LAYERS[part].of(odd)


def test_a_kind_without_bets_never_gets_those_of_another(odd):
    problem = sp.Problem(np.eye(2), noise="odd")
    with pytest.raises(InvalidInputError, match="'odd' has no reading of blocks"):
        sp.algorithms.PooledPeleg(0.1).start(problem)


def test_parts_are_declared_once():
    with pytest.raises(InvalidInputError, match="'yes-no' has a reading of blocks already"):
        READINGS.declare("yes-no", READINGS.of(KINDS["yes-no"]))


@pytest.mark.parametrize("what", ["kind", "word", "form"])
def test_names_of_kinds_are_their_own(what):
    taken = type("Taken", (Odd,), {"kind": "taken", "word": "taken", "form": "taken"})
    setattr(taken, what, "yes-no")
    with pytest.raises(InvalidInputError, match=f"a kind with the {what} 'yes-no' already"):
        noise.register(taken)


@pytest.mark.parametrize("kind", KINDS)
def test_the_verifier_has_parts_of_its_own_that_say_the_same(kind):
    ours, theirs = noise_kind(GIVEN[kind], 2), verifier.KINDS[kind]
    assert payoff_of(theirs)
    read = verifier.read_noise(ours.written, 2)
    assert type(read) is theirs
    assert read.rests_on(items=False) == (ours.provided or "")
    assert theirs.scale_known == ours.scale_known
    assert (read.unit, read.bounded) == (ours.unit, ours.bounds is not None)
    reading = READINGS.of(ours)
    assert theirs.on_items == (reading.on_items is not None)
    assert ("spreads" in theirs.columns, "parts" in theirs.columns) == (
        reading.demands_spread,
        reading.in_parts or reading.singly or reading.reports_only,
    )
    assert theirs.symmetric == ASSUMED.of(ours).symmetric
    reports = REPORTS.of(ours)
    grouped = reports.by_bucket or reports.by_segment
    assert (theirs.by_bucket, theirs.squares) == (grouped, reports.squares)
    if theirs.on_items:
        assert theirs.provided_on_items == (ours.provided_on_items or "")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read_as_the_same_kind(kind):
    one = noise_kind(GIVEN[kind], 2)
    again = noise.read_kind(one.written, 2)
    assert (type(again), str(again), again.written) == (type(one), str(one), one.written)


def test_symmetric_noise_has_a_name():
    assert type(noise_kind("symmetric", 2)) is type(noise_kind(None, 2))
    assert noise_kind("symmetric", 2).written is None


def test_nobody_branches_on_the_name_of_a_kind():
    found = []
    for path in SOURCE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if ".kind" not in source and ".noise" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Attribute):
                continue
            names = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
            if node.left.attr in ("kind", "noise") and names & set(KINDS):
                found.append(f"{path.name}:{node.lineno}")
    assert found == []
