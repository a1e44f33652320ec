"""Runs of all shapes and questions ask for the same, and hold the same against everybody."""

import json

import pytest
from tests import recorded_shapes

KNOWN = json.loads(recorded_shapes.FILE.read_text())


def test_recorded_runs_are_those_that_there_are():
    assert list(KNOWN) == recorded_shapes.names()
    assert {name.split("|")[0] for name in KNOWN} == set(recorded_shapes.RUNS)


@pytest.mark.some(1)
@pytest.mark.parametrize("part", range(10))
def test_recorded_runs_come_out_the_same(part):
    for name in list(KNOWN)[part::10]:
        found, known = recorded_shapes.play(name), dict(KNOWN[name])
        assert found.pop("held") == pytest.approx(known.pop("held"), abs=1e-7), name
        assert found == known, name
