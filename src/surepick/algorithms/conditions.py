"""What guarantees rest on beside the model: a bound on the length of theta*."""

from __future__ import annotations

from surepick.promise import Condition

REGULARISATION = 1.0  #: lambda, the weight of the prior, where nothing else is set


def norm_condition(norm_bound: float, regularisation: float = REGULARISATION) -> Condition:
    """The condition of a guarantee that needs a bound on the length of theta*.

    Any lambda is valid that was chosen before rewards were seen. Nobody can see when it was, so
    one that is not the usual one is part of the condition.

    Examples
    --------
    >>> norm_condition(2.0)
    'provided that ‖theta*‖ <= 2'
    >>> norm_condition(2.0, 0.5)
    'provided that ‖theta*‖ <= 2 and that regularisation=0.5 was set in advance'
    """
    usual = regularisation == REGULARISATION
    more = "" if usual else f" and that regularisation={regularisation:g} was set in advance"
    return Condition(f"provided that ‖theta*‖ <= {norm_bound:g}{more}")
