"""Measure single ingredients, which is cheap, to decide on mixtures, which are not."""

import itertools

import numpy as np

import surepick as sp

INGREDIENTS = ["salt", "lime", "mint", "honey", "ginger"]
POTENCY = np.array([0.1, 0.6, 0.9, 0.4, 0.8])  # unknown in real life
rng = np.random.default_rng(0)

pairs = list(itertools.combinations(range(5), 2))
mixtures = np.array([np.eye(5)[list(pair)].sum(axis=0) / 2 for pair in pairs])
problem = sp.Problem(
    np.eye(5),  # what can be measured
    candidates=mixtures,  # what can be the answer
    noise=0.3,
    labels=INGREDIENTS,
    candidate_labels=[f"{INGREDIENTS[i]} and {INGREDIENTS[j]}" for i, j in pairs],
)
answer = sp.identify(problem, lambda arm: POTENCY[arm] + 0.3 * rng.normal(), delta=0.05)
print(f"{answer.label}, after {answer.samples} tests of single ingredients")
for name, count in zip(INGREDIENTS, answer.pulls):
    print(f"  {name:7} {'#' * int(np.ceil(count / 4))} {count}")
