"""A site that sends visitors by shares: drawn at random, or broken on purpose."""

import numpy as np

import surepick as sp
from surepick.storage.memory import MemoryStorage

LABELS = ["plain", "bold", "photo", "video"]
RATES = (0.04, 0.05, 0.06, 0.10)


def create(storage=None, name="shop", rates=RATES, noise="yes-no", **traffic):
    """A study of traffic whose options have no features."""
    labels = [*LABELS, *(f"option {k}" for k in range(4, len(rates)))][: len(rates)]
    problem = sp.Problem(np.eye(len(rates)), noise=noise, labels=labels)
    storage = MemoryStorage() if storage is None else storage
    given = {key: traffic.pop(key) for key in ("delta", "epsilon", "seed") if key in traffic}
    given = {"seed": 0} | given
    return sp.create_study(name, problem, storage=storage, traffic=traffic or True, **given)


def visitors(split, n, rng, rates=RATES, level=1.0):
    """What a period of so many visitors comes to."""
    counts = rng.multinomial(n, np.array(list(split.shares.values())))
    hits = rng.binomial(counts, level * np.array(rates))
    return {label: (int(c), int(h)) for label, c, h in zip(split.shares, counts, hits)}


def day(study, number, n=2000, rates=RATES, seed=0):
    """One period; what it draws depends on its number alone."""
    rng = np.random.default_rng([seed, number])
    split = study.split()
    level = 1.0 + 0.3 * np.sin(number)
    return study.record(visitors(split, n, rng, rates, level), f"day {number}")


def decide(study, first=0, n=2000, rates=RATES, seed=0, most=400):
    """Period after period until the study is finished."""
    number = first
    while not study.finished and number < most:
        day(study, number, n, rates, seed)
        number += 1
    return number
