"""Forged certificates at random: how many of each kind the verifier and the replay let pass.

Honest certificates of every rule are changed (``tests/verifier/fuzz.py`` says how), their digests
made to fit, and verified with a replay. Nothing may crash; nothing may be accepted after a
replay that has another answer or other pulls. The exit code says whether all is well. Variants of a
rule get a quarter of the changes.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.certificate_fuzz --trials 20000
"""

from __future__ import annotations

import sys
import time
from typing import Any

from benchmarks.recorded import Record, chunks, options, table
from tests.verifier.fuzz import BAD, OUTCOMES, RULES, VARIANTS, fuzz

CHUNK = 500


def tasks(trials: int, seed: int, rules: list[str]) -> dict[str, Any]:
    """One part for so many changes of the certificates of one rule."""
    return {
        f"{rule} | {first} | {count}": (rule, seed + first, count)
        for rule in rules
        for first, count in chunks(trials // 4 if rule in VARIANTS else trials, CHUNK)
    }


def measure(task: tuple[str, int, int]) -> dict[str, Any]:
    """One part."""
    rule, seed, count = task
    started = time.process_time()
    counts, wrong = fuzz(rule, count, seed)
    return {"counts": counts, "wrong": wrong, "seconds": time.process_time() - started}


def report(parts: dict[str, Any]) -> str:
    """What became of all changes, by rule."""
    totals = {rule: dict.fromkeys(OUTCOMES, 0) for rule in RULES}
    for key, part in parts.items():
        for what, count in part["counts"].items():
            totals[key.split(" | ")[0]][what] += count
    rows = [
        [rule, f"{sum(totals[rule].values()):,}", *(f"{totals[rule][what]:,}" for what in OUTCOMES)]
        for rule in RULES
        if any(totals[rule].values())
    ]
    minutes = sum(part["seconds"] for part in parts.values()) / 60
    bad = sum(totals[rule][what] for rule in RULES for what in BAD)
    return "\n".join(
        [
            "# Forged certificates",
            "",
            f"Random changes of certificates of each rule, with digests that fit, verified with a "
            f"replay where there is one. {bad} of those that must not pass did. "
            f"{minutes:.0f} CPU minutes.",
            "",
            "A rule whose certificates hold totals only, not batches, cannot be replayed: other "
            "pulls pass where the claim follows from them, too. (ALBA's are drawn at random: other "
            "draws of the same size pass.) Other rewards pass where the claim still follows and no "
            "recorded number rests on them: what was measured, nobody can see from a certificate "
            "alone. Nor that a batch was left out, where the next one would have been asked for "
            "without it, too: the chain of its study has every one.",
            "",
            "Made by `OPENBLAS_NUM_THREADS=1 python -m benchmarks.certificate_fuzz --trials N "
            "[--rules …]`, N the number of changes (which goes on where it was ended).",
            "",
            table(["rule", "changes", *OUTCOMES], rows),
        ]
    )


def main() -> None:
    parser = options(__doc__.splitlines()[0], trials=20_000)
    parser.add_argument("--rules", nargs="*", choices=[*RULES], default=[*RULES])
    given = parser.parse_args()
    record = Record("certificate_fuzz", {"seed": given.seed}, given)
    record.fill(tasks(given.trials, given.seed, given.rules), measure)
    record.write(report(record.parts))
    wrong = [line for part in record.parts.values() for line in part["wrong"]]
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
