"""One walk over a record: the order of what happens, whoever reads it."""

from __future__ import annotations

import pytest

from surepick.run.retrace import rests_on_changed, retrace


class Run:
    stopped = False


class Recorded:
    def __init__(self, log, waits=(), told=True):
        self._log, self._waits, self._told = log, waits, told

    def option_changes(self, run):
        return [(waits, lambda run: self._log.append("change")) for waits in self._waits]

    def is_told(self, run):
        return self._told

    def ask(self, run):
        self._log.append("ask")
        return "batch"

    def ask_ahead(self, run):
        self._log.append("ahead")

    def tell(self, run, batch):
        self._log.append(f"tell {batch}")


def walked(*arguments, stopped=False, **more):
    log, run = [], Run()
    run.stopped = stopped
    for _ in retrace(run, [Recorded(log, *arguments, **more)]):
        log.append("done")
    return log


def test_a_batch_is_asked_for_with_those_ahead_of_it_and_told():
    assert walked() == ["ask", "ahead", "tell batch", "done"]


def test_options_that_changed_while_it_was_open_come_after_it_was_asked_for():
    assert walked([False])[:3] == ["change", "ask", "ahead"]
    assert walked([True])[:4] == ["ask", "ahead", "change", "ask"]
    assert walked([True], stopped=True, told=False) == ["change", "done"]


def test_what_says_nothing_is_not_asked_for():
    assert walked(told=False) == ["done"]


@pytest.mark.parametrize(
    ("batch", "asked", "after", "excused"),
    [
        (0, 3, 2, True),  # it rests on batch 0, which was changed after it was asked for
        (0, 1, 2, False),  # changed before it was asked for: it knew
        (2, 3, 2, False),  # of a batch that it does not rest on
        (None, 3, 2, True),  # of one that counts no more
    ],
)
def test_a_batch_may_differ_only_where_rewards_that_it_rests_on_were_changed(
    batch, asked, after, excused
):
    assert rests_on_changed([(batch, asked)], after) == excused
