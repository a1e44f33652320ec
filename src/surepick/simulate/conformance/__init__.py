"""What every algorithm must do, as checks that anyone can run on an algorithm of their own.

A check is a plain function ``check(make)``. ``make`` builds the algorithm,
``make(delta, epsilon=..., max_samples=...)``; a class that derives from ``Algorithm`` is one
already. If ``make`` has a parameter ``theta``, it is an oracle and is handed the truth. A check
raises ``AssertionError`` with a message that says what went wrong, and otherwise returns what it
measured, as a dict. Saving and loading go through the registry: register your algorithm first.

The instances are tiny, and their theta is no longer than 1. With pytest::

    from surepick.simulate import conformance

    @pytest.mark.parametrize("check", conformance.checks())
    def test_mine(check):
        check(MyAlgorithm)
"""

from surepick.simulate.conformance.behaviour import (
    check_answers_a_candidate,
    check_asks_for_arms_that_are_there,
    check_fast_path_is_the_slow_path,
    check_same_rewards_same_asks,
    check_save_and_load,
    check_settings_rebuild_it,
    check_stops_on_easy_instances,
)
from surepick.simulate.conformance.invariance import (
    check_direction,
    check_permutation,
    check_rotation,
    check_scaling,
)
from surepick.simulate.conformance.promises import (
    check_budget,
    check_certificate,
    check_epsilon,
    check_error_rate,
)
from surepick.simulate.conformance.shapes import (
    check_all_nearly_tied,
    check_as_many_arms_as_dimensions,
    check_duplicates,
    check_one_arm,
    check_one_far_better,
    check_rank_deficient,
    check_separate_candidates,
    check_two_arms,
)
from surepick.simulate.conformance.tools import ConformanceCheck, Make

_CHECKS: tuple[ConformanceCheck, ...] = (
    check_same_rewards_same_asks,
    check_save_and_load,
    check_settings_rebuild_it,
    check_asks_for_arms_that_are_there,
    check_answers_a_candidate,
    check_stops_on_easy_instances,
    check_fast_path_is_the_slow_path,
    check_epsilon,
    check_budget,
    check_one_arm,
    check_two_arms,
    check_as_many_arms_as_dimensions,
    check_rank_deficient,
    check_one_far_better,
    check_all_nearly_tied,
    check_duplicates,
    check_separate_candidates,
    check_error_rate,
    check_rotation,
    check_permutation,
    check_scaling,
    check_direction,
    check_certificate,
)


def checks() -> tuple[ConformanceCheck, ...]:
    """All checks.

    Examples
    --------
    >>> import surepick as sp
    >>> by_name = {check.__name__: check for check in checks()}
    >>> by_name["check_one_arm"](sp.algorithms.Peleg)
    {}
    """
    return _CHECKS


__all__ = [
    "ConformanceCheck",
    "Make",
    "check_all_nearly_tied",
    "check_answers_a_candidate",
    "check_as_many_arms_as_dimensions",
    "check_asks_for_arms_that_are_there",
    "check_budget",
    "check_certificate",
    "check_direction",
    "check_duplicates",
    "check_epsilon",
    "check_error_rate",
    "check_fast_path_is_the_slow_path",
    "check_one_arm",
    "check_one_far_better",
    "check_permutation",
    "check_rank_deficient",
    "check_rotation",
    "check_same_rewards_same_asks",
    "check_save_and_load",
    "check_scaling",
    "check_separate_candidates",
    "check_settings_rebuild_it",
    "check_stops_on_easy_instances",
    "check_two_arms",
    "checks",
]
