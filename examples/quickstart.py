"""The best of six paints, from as few noisy measurements as possible, with a certificate."""

import json

import numpy as np

import surepick as sp

# Each paint is a row of features: a constant, pigment, binder.
PAINTS = ["a", "b", "c", "d", "e", "f"]
FEATURES = np.array(
    [[1, 0.1, 0.9], [1, 0.3, 0.3], [1, 0.5, 0.7], [1, 0.7, 0.1], [1, 0.8, 0.8], [1, 0.9, 0.4]]
)
TRUTH = np.array([2.0, 1.0, 0.5])  # unknown in real life
rng = np.random.default_rng(0)


def measure(arm: int) -> float:
    """One noisy measurement of one paint."""
    return float(FEATURES[arm] @ TRUTH + 0.2 * rng.normal())


problem = sp.Problem(FEATURES, noise=0.2, labels=PAINTS)
answer = sp.identify(problem, measure, delta=0.05)
print(f"paint {answer.label}, after {answer.samples} measurements")
print(f"measured: {dict(zip(PAINTS, answer.pulls.tolist()))}")
print(f"it is {answer.guarantee}")

certificate = json.dumps(answer.certificate())  # what you would keep, or send to somebody
print(
    f"certificate of {len(certificate):,} bytes: {sp.verify(certificate).checked} comparisons hold"
)
