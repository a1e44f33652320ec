import logging

import pytest

from surepick.algorithms import registry
from surepick.study.desk.crowd import rehearse


@pytest.mark.parametrize(
    "name", ["pooled-peleg", "peleg", "peleg-paper", "rage", "alba", "lingape"]
)
def test_algorithms_of_studies_get_through_it(name, caplog):
    with caplog.at_level(logging.DEBUG, "surepick.study.desk.crowd"):
        rehearse(registry.get(name, delta=0.1))
    assert not caplog.records


def test_settings_for_another_problem_are_no_trouble(caplog):
    with caplog.at_level(logging.DEBUG, "surepick.study.desk.crowd"):
        rehearse(registry.get("xy-oracle", delta=0.1, theta=[1.0, 2.0, 3.0]))
    assert "rehearsal of XYOracle" in caplog.text
