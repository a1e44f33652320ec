"""Windows by a clock that the test turns: everybody in a period has the same time to respond."""

from types import SimpleNamespace

import pytest
from tests.study.traffic import site

from surepick.errors import RunStateError
from surepick.storage import memory

REPORT = dict.fromkeys(site.LABELS, (100, 5))
HOUR = 3600.0


@pytest.fixture
def clock(monkeypatch):
    at = SimpleNamespace(now=0.0)
    at.time = at.monotonic = lambda: at.now
    monkeypatch.setattr(memory, "time", at)
    return at


def test_a_window_runs_from_the_end_of_its_period(clock):
    """Monday lasts ten hours, and its last visitor has two hours to respond."""
    study = site.create(window="2h")
    study.split(period="monday")
    clock.now = 5 * HOUR
    with pytest.raises(RunStateError, match="still running"):
        study.record(REPORT, "monday")
    clock.now = 10 * HOUR
    study.split(period="tuesday")
    for now in (10 * HOUR, 12 * HOUR - 1):
        clock.now = now
        with pytest.raises(
            RunStateError, match="window of period 'monday' closes at 1970-01-01T12"
        ):
            study.record(REPORT, "monday")
        with pytest.raises(RunStateError, match="closes"):
            study.record(REPORT, "monday", check=True)
    clock.now = 12 * HOUR
    assert study.record(REPORT, "monday").status == "accepted"
    with pytest.raises(RunStateError, match="'tuesday' is still running"):
        study.record(REPORT, "tuesday")
    clock.now = 30 * HOUR
    study.split(period="wednesday")
    clock.now = 31 * HOUR
    with pytest.raises(RunStateError, match="window of period 'tuesday' closes at 1970-01-02T08"):
        study.record(REPORT, "tuesday")
    clock.now = 32 * HOUR
    assert study.record(REPORT, "tuesday").status == "accepted"


def test_later_periods_close_no_earlier(clock):
    """The window is that of the period after it, not of the newest one."""
    study = site.create(window="2h")
    for number, name in enumerate(("monday", "tuesday", "wednesday")):
        clock.now = number * HOUR
        assert study.split(period=name).since == clock.now
    clock.now = 3 * HOUR
    assert study.record(REPORT, "monday").status == "accepted"
    with pytest.raises(RunStateError, match="closes at 1970-01-01T04"):
        study.record(REPORT, "tuesday")
    clock.now = 4 * HOUR
    assert study.record(REPORT, "tuesday").status == "accepted"


def test_without_a_window_a_report_counts_at_once(clock):
    study = site.create()
    study.split(period="monday")
    assert study.record(REPORT, "monday").status == "accepted"
