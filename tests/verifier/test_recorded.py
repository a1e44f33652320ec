"""Certificates that were recorded: the same verdict, and every log capital the same."""

import pytest
from tests.verifier.recorded import read, worked_out

RECORDED = read()


@pytest.mark.some(20)
@pytest.mark.parametrize("name", RECORDED)
def test_verdict_and_capital_are_as_recorded(name):
    one = RECORDED[name]
    found = worked_out(one["certificate"])
    assert found["said"] == one["said"] | {"risk": pytest.approx(one["said"]["risk"])}
    assert found["numbers"] == pytest.approx(one["numbers"], rel=1e-9, abs=1e-9)


def test_all_numbers_are_looked_at():
    assert sum(len(one["numbers"]) > 0 for one in RECORDED.values()) > 60
