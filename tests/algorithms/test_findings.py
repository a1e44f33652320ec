"""Promises of answers, copied and sent between processes."""

import copy

import pytest

from surepick.algorithms.findings import Guarantee


@pytest.mark.parametrize("sent", [copy.copy, copy.deepcopy])
def test_a_promise_keeps_its_kind_where_it_is_copied_or_sent(sent):
    found = sent(Guarantee("eps-pac", "within 0.1 of the best"))
    assert (type(found), found.kind, str(found)) == (Guarantee, "eps-pac", "within 0.1 of the best")
