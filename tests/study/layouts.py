"""Whole studies of 48 page layouts, with and without an interaction that the model lacks."""

import itertools

import numpy as np
from scipy.stats import binom

import surepick as sp
from surepick.algorithms import CheckedFit
from surepick.storage.memory import MemoryStorage

# a factor of three levels and four of two, main effects only
LAYOUTS = np.array(list(itertools.product(range(3), *[range(2)] * 4)))
MAIN = np.column_stack(
    [np.ones(48), LAYOUTS[:, 0] == 1, LAYOUTS[:, 0] == 2, LAYOUTS[:, 1:]]
).astype(float)
# One combination of two factors is off; scaled to a misfit (root mean square) of one.
_RAW = ((LAYOUTS[:, 0] == 2) & (LAYOUTS[:, 1] == 1)).astype(float)
_LEFT = _RAW - MAIN @ np.linalg.lstsq(MAIN, _RAW, rcond=None)[0]
INTERACTION = _RAW / np.sqrt(np.mean(_LEFT**2))
DELTA, NOISE = 0.05, 2.0


def whole_study(inner, seed, *, size, misfit, gap=0.5):
    """One study: whether the model's check ever raised the alarm; error, pulls, the study."""
    rng = np.random.default_rng([seed, 23])
    theta = rng.standard_normal(7)
    values = np.sort(MAIN @ theta)
    means = NOISE * (MAIN @ theta * gap / (values[-1] - values[-2]) + misfit * INTERACTION)
    algorithm = CheckedFit(DELTA, inner=inner, size=size)
    study = sp.create_study("s", sp.Problem(MAIN, noise=NOISE), algorithm, MemoryStorage())
    alarm = False
    while pulls := study.ask(1_000_000):
        rewards = means[[pull.arm for pull in pulls]] + NOISE * rng.standard_normal(len(pulls))
        study.tell_many(zip([pull.id for pull in pulls], rewards.tolist()))
        alarm |= bool(study.checks().fit)
    answer = study.answer
    return alarm, answer.arm != int(np.argmax(means)), answer.samples, study


def rates(inner, runs, **settings):
    """Rates of alarms and errors, and the mean number of pulls."""
    rows = np.array([whole_study(inner, seed, **settings)[:3] for seed in range(runs)], float)
    return dict(zip(("alarms", "errors", "pulls"), rows.mean(axis=0).round(4).tolist()))


def found(rate, runs, wrong):
    """Whether alarms are as rare (right model) or as frequent (wrong model) as they must be."""
    if wrong:
        return rate >= binom.ppf(0.01, runs, 0.9) / runs
    return rate <= binom.ppf(0.99, runs, 0.05) / runs
