"""What the integrations take, and how often they are wrong where it is hardest.

- Two options that differ on one item of 3,000, at δ = 0.2: of 400 tables, how many are decided
  wrongly by ``surepick.integrations.evaluations.decide``.
- Calls until a variant that is right 9 times out of 10 is proven not to be worse than an equal one,
  by ``surepick.integrations.comparing.compare``; means of ten runs.
- Fits of ``surepick.integrations.sklearn.SureSearchCV`` among nine settings on 200 splits of the
  wine data; means of two runs.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.integrations (seven minutes)
"""

from __future__ import annotations

from collections import Counter

import benchmarks.nothing_kept  # noqa: F401
import numpy as np
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from surepick.integrations.comparing import compare
from surepick.integrations.evaluations import ScoreTable, decide
from surepick.integrations.sklearn import SureSearchCV


def nearly_tied(seed: int, items: int = 3000) -> ScoreTable:
    """Two options that agree on most items; at the end one of them is one item ahead."""
    rng = np.random.default_rng(seed)
    base = (rng.random(items) < 0.5).astype(float)
    rows = [np.where(rng.random(items) < 0.3, rng.random(items) < 0.5, base) for _ in range(2)]
    first, second = sorted(rows, key=lambda row: -row.sum())
    lead = int(first.sum() - second.sum())
    first[np.flatnonzero((first == 1) & (second == 0))[: max(lead - 1, 0)]] = 0
    return ScoreTable(["a", "b"], [str(i) for i in range(items)], [first, second])


def wrong_decisions(tables: int = 400, delta: float = 0.2) -> Counter[tuple[str, bool]]:
    """How tables were decided, and whether rightly."""
    found: Counter[tuple[str, bool]] = Counter()
    for seed in range(tables):
        truth = nearly_tied(seed)
        means = dict(zip(truth.options, truth.scores.mean(axis=1)))
        made = decide(ScoreTable(truth.options, truth.items), truth.of, delta=delta, seed=seed)
        found[made.how, means[made.option] == max(means.values())] += 1
    return found


def calls(epsilon: float, runs: int = 10) -> float:
    """Calls until equals are proven not to be worse, on average."""
    made = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rate = lambda rng=rng: float(rng.random() < 0.9)  # noqa: E731
        made.append(compare(rate, rate, epsilon=epsilon, max_calls=20_000, noise="yes-no").calls)
    return float(np.mean(made))


def fits(bounds: object, epsilon: float, runs: int = 2) -> float:
    """Fits until a setting is chosen, on average."""
    X, y = load_wine(return_X_y=True)
    steps = Pipeline([("scale", StandardScaler()), ("model", KNeighborsClassifier())])
    trees = [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 4)]
    grid = [
        {"model__n_neighbors": [1, 5, 15, 60, 100]},
        {"scale": ["passthrough"]},
        {"model": trees},
    ]
    searches = [
        SureSearchCV(steps, grid, bounds=bounds, epsilon=epsilon, random_state=seed)
        for seed in range(runs)
    ]
    return float(np.mean([search.fit(X, y).n_fits_ for search in searches]))


def main() -> None:
    for (how, right), count in sorted(wrong_decisions().items()):
        print(f"nearly tied tables: {how}, {'right' if right else 'wrong'}: {count}")
    for epsilon in (0.1, 0.05):
        print(f"calls, epsilon {epsilon}: {calls(epsilon):.0f}")
    for epsilon in (0.0, 0.01):
        for bounds in ("auto", None):
            print(f"fits of 1800, epsilon {epsilon}, bounds {bounds}: {fits(bounds, epsilon):.0f}")


if __name__ == "__main__":
    main()
