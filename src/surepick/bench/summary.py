"""Results summarised cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.simulate.table import Table

QUANTILES = (0.1, 0.5, 0.9)


def summarise(rows: Table, confidence: float = 0.95, *, own_stops_only: bool = False) -> Table:
    """One row for each algorithm, instance and delta, in the order in which they first appear.

    Columns: algorithm, instance, delta; trials (with an answer) and failed (without); of the
    pulls mean, sd, q10, q50, q90; errors (wrong answers) with their rate and a Clopper–Pearson
    interval error_low .. error_high; stopped_early (by a budget, so without a guarantee); the
    guarantee of the others; seconds per trial; lower_bound on the mean of pulls, and ratio, how
    many times the bound the mean is.

    With ``own_stops_only`` the statistics of the pulls leave out the trials that stopped early,
    where others did not: what they took says how large the budget was.

    Parameters
    ----------
    rows
        As :func:`run_plan` returns them.
    confidence
        Of the interval of the error rate.
    own_stops_only
        Leave out trials that a budget ended, where others were not.

    Examples
    --------
    >>> from surepick.bench import Plan, run_plan
    >>> summary = summarise(run_plan(Plan(["peleg"], ["standard:gap=0.5"], trials=2)))
    >>> summary["trials"].tolist(), summary["errors"].tolist()
    ([2], [0])
    """
    keys = list(zip(rows["algorithm"], rows["instance"], rows["delta"])) if len(rows) else []
    groups: dict[Any, list[int]] = {}
    for i, key in enumerate(keys):
        groups.setdefault(key, []).append(i)
    return Table.from_rows(
        {"algorithm": str(key[0]), "instance": str(key[1]), "delta": float(key[2])}
        | _cell(rows, np.array(members), confidence, own_stops_only)
        for key, members in groups.items()
    )


def _cell(
    rows: Table, members: np.ndarray, confidence: float, own_stops_only: bool
) -> dict[str, Any]:
    failed = rows["failed"][members] != ""
    members = members[~failed]
    n = len(members)
    pulls = rows["samples"][members].astype(float)
    errors = int((~rows["correct"][members]).sum())
    early = rows["guarantee"][members] == "none"
    if own_stops_only and not early.all():
        pulls = pulls[~early]
    low, high = clopper_pearson(errors, n, confidence)
    quantiles = np.quantile(pulls, QUANTILES) if n else np.full(len(QUANTILES), np.nan)
    mean = float(pulls.mean()) if n else np.nan
    bound = float(rows["lower_bound"][members].mean()) if n else np.nan
    return {
        "trials": n,
        "failed": int(failed.sum()),
        "mean": mean,
        "sd": float(pulls.std(ddof=1)) if len(pulls) > 1 else np.nan,
        **{f"q{100 * q:.0f}": float(v) for q, v in zip(QUANTILES, quantiles)},
        "errors": errors,
        "error_rate": errors / n if n else np.nan,
        "error_low": low,
        "error_high": high,
        "stopped_early": int(early.sum()),
        "guarantee": "/".join(sorted(set(rows["guarantee"][members][~early].tolist()))) or "none",
        "seconds": float(rows["seconds"][members].mean()) if n else np.nan,
        "lower_bound": bound,
        "ratio": mean / bound if bound > 0 else np.nan,
    }


def clopper_pearson(errors: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval for a probability, after ``errors`` in ``n`` trials.

    Examples
    --------
    >>> [round(p, 4) for p in clopper_pearson(0, 50)]
    [0.0, 0.0711]
    """
    from scipy.stats import beta

    tail = (1 - confidence) / 2
    low = float(beta.ppf(tail, errors, n - errors + 1)) if errors > 0 else 0.0
    high = float(beta.ppf(1 - tail, errors + 1, n - errors)) if errors < n else 1.0
    return low, high
