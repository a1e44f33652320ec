"""A table of scores that is known in part: what is still to be evaluated until the best is known.

Twelve prompts on 400 questions, of which some have been answered by all prompts before; they are
the first ones, or those where the best prompt is at its worst. ``decide`` counts these questions
first; the column beside it has what it takes if each is used when it comes in the random order of
all. Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.partly_known (about a minute)
"""

from __future__ import annotations

from pathlib import Path

import benchmarks.nothing_kept  # noqa: F401
import numpy as np

from surepick.integrations.evaluations import ScoreTable, decide

RESULT = Path(__file__).parent / "results" / "partly_known.md"
PROMPTS, QUESTIONS, TRIALS = 12, 400, 20
HEAD = """# What is known already

Mean evaluations of {} tables of {} prompts on {} questions, and how often the
answer was wrong (δ = 0.05).

| known beforehand | counted first | used in random order | ratio | wrong |
| --- | --- | --- | --- | --- |
"""


def exam(seed: int) -> np.ndarray:
    """Right or wrong: prompts of different skill on questions that differ much more."""
    rng = np.random.default_rng([seed, 1])
    skill = np.append(rng.normal(0, 0.4, PROMPTS - 1), 0.75)
    hard = 3 * rng.normal(size=QUESTIONS)
    return (skill[:, None] + rng.normal(size=(PROMPTS, QUESTIONS)) > hard).astype(float)


def taken(seed: int, known: int, chosen: bool) -> tuple[int, int, int]:
    """Evaluations with either order, and how many of the two answers were wrong."""
    full = exam(seed)
    best, first = int(full.sum(axis=1).argmax()), np.arange(known)
    if chosen:
        first = np.argsort(full[best] - full.mean(axis=0), kind="stable")[:known]
    part = np.full_like(full, np.nan)
    part[:, first] = full[:, first]
    options = [f"prompt {i}" for i in range(PROMPTS)]
    items = [f"question {i}" for i in range(QUESTIONS)]
    truth, totals, wrong, counts = ScoreTable(options, items, full), full.sum(axis=1), 0, []
    for begun in (None, (seed, ())):
        found = decide(ScoreTable(options, items, part, begun=begun), truth.of, seed=seed)
        wrong += int(totals[options.index(found.option)] < totals.max())
        counts.append(found.evaluations)
    return counts[0], counts[1], wrong


def main() -> None:
    """Print the table, and write it to results/partly_known.md."""
    text = HEAD.format(TRIALS, PROMPTS, QUESTIONS)
    for known, chosen in ((40, False), (120, False), (200, False), (120, True)):
        rows = np.array([taken(seed, known, chosen) for seed in range(TRIALS)])
        first, plain, wrong = rows.sum(axis=0)
        which = "chosen against the best" if chosen else "whichever"
        text += (
            f"| {known} questions, {which} | {first / TRIALS:,.0f} | {plain / TRIALS:,.0f} | "
            f"{first / plain:.2f} | {wrong} of {2 * TRIALS} |\n"
        )
    RESULT.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
