"""Do the assumptions hold? The noise scale, the linear model, and rewards that stay the same.

Plain functions over what was measured; they decide nothing in a run. Both checks may be looked at
after every pull, for any rule that chooses the pulls and for any stopping time: the probability
that a check *ever* raises a false alarm is at most its level.

Why the checks are valid. Rewards are y_s = f_s + sigma·eps_s, where f_s is what the assumption (a
point of the null hypothesis) says the mean is and eps_s is 1-sub-Gaussian given the past; which arm
is pulled depends on the past only. For any vector lam of shifts, one for each group of pulls (g_s
says how far pull s belongs to each),

    exp(lamᵀz − ½ lamᵀG lam),   z = Σ (y_s − f_s) g_s / sigma,   G = Σ g_s g_sᵀ,

is a nonnegative supermartingale that starts at 1, and so is its average over lam ~ N(0, I/rho),

    M = exp(½ zᵀ(G + rho I)⁻¹z) / sqrt(det(I + G/rho)).

The true point of the null is not known, but the smallest M over all points of the null is at most
M at the true one; so is the average over several rho of these smallest values. By Ville's
inequality this average, the evidence, ever reaches 1/level with probability at most level. (Naive
residuals would not do: a rule that goes on measuring what looks good makes later rewards fall
behind earlier ones without any drift.)

- Lack of fit: groups are arms, f = Xθ, and the minimum over θ is weighted least squares; in a
  second half of the average, groups are the features and one arm, for misfit of a single arm.
  Where the problem allows for a misfit, f = Xθ + η with any η of that size, and the minimum is over
  η as well (``allowing``).
- Drift of all arms: groups are arms and time windows, f is one free mean per arm (the linear model
  plays no part: misfit is not taken for drift). The minimum over means has a closed form.
- Drift of one arm: it is compared with those measured beside it, without any scale (``beside``).

A check can only see what was measured: a run that stops early has perhaps pulled few arms. Each
finding says how large a misfit it would have noticed, and ``check_pulls`` how many extra pulls it
takes to notice a given one.

With an *estimated* noise scale both are approximations; they then use the upper end of its
95 % interval, and where scales may differ, more for arms that vary more.

``unequal_noise`` is for problems that say that noise is the same for all arms; it knows no scale,
and its error level holds over all looks, too. So does that of ``skewed_noise``, for problems whose
noise is symmetric: three rewards of an arm at a time, on which side of the middle one the others
reach further (see :mod:`surepick.statistics.triples`).
"""

from surepick.design.misfit import check_pulls
from surepick.run.diagnostics.drift import Timeline, drift
from surepick.run.diagnostics.finding import (
    ArmSummary,
    Finding,
    NoiseEstimate,
    by_arm,
    estimate_noise,
)
from surepick.run.diagnostics.fit import lack_of_fit
from surepick.run.diagnostics.noise import skewed_noise, unequal_noise

__all__ = [
    "ArmSummary",
    "Finding",
    "NoiseEstimate",
    "Timeline",
    "by_arm",
    "check_pulls",
    "drift",
    "estimate_noise",
    "lack_of_fit",
    "skewed_noise",
    "unequal_noise",
]
