"""Files of promptfoo: what ``promptfoo eval --output results.json`` writes (versions 2 and 3).

A column of its table, a prompt with a provider, is an option; a test is an item. What is written
is for ``promptfoo import``.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from surepick.errors import FormatError, InvalidInputError, listed
from surepick.files import write_whole
from surepick.integrations.evaluations.reading import (
    as_table,
    numbers_of,
    read_json,
    score_or_nan,
)
from surepick.integrations.evaluations.scores import ScoreTable

_ERROR = 2  # its failureReason where a test could not be made: that is no failed test


def read_promptfoo(path: str | Path, score: str = "pass", rewards: Any = None) -> ScoreTable:
    """The scores in a file of results.

    Parameters
    ----------
    path
        The file.
    score
        ``"pass"`` for whether a test passed, ``"score"`` for its score, or the name of one of its
        named scores.
    rewards
        Bounds of scores; by default (0, 1).

    Notes
    -----
    Tests that ended in an error (a provider that did not answer), or whose score is no number,
    count as not evaluated. Should one option have more of them than others because its answers are
    different, that is not seen here.

    Examples
    --------
    >>> table = ScoreTable(["short", "long"], ["q1", "q2"], [[1, 0], [1, 1]])
    >>> read_promptfoo(write_promptfoo(table, "results.json")).scores.tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    place = str(path)
    body = read_json(Path(path).read_text(encoding="utf-8"), place)
    summary = body.get("results") if isinstance(body, dict) else None
    rows = summary.get("results") if isinstance(summary, dict) else None
    if not isinstance(rows, list):
        raise FormatError(
            f"{place} has no list results.results: was it written by promptfoo eval --output?"
        )
    names = _names(rows, place)
    rows = sorted(rows, key=lambda row: (row["promptIdx"], row["testIdx"]))  # not as answers came
    cells = [
        (names[row["promptIdx"]], f"test {row['testIdx']}", _score(row, score, place))
        for row in rows
    ]
    bounds = rewards if rewards is not None else "yes-no" if score == "pass" else (0, 1)
    return as_table(cells, bounds, place)


def write_promptfoo(table: ScoreTable, path: str | Path) -> Path:
    """Write the scores that are known, as a file of results; prompts and answers are not in it.

    ``promptfoo import FILE`` takes it, and ``promptfoo view`` then shows it. Where items are called
    as ``read_promptfoo`` calls them ("test 17"), tests keep their numbers.

    Parameters
    ----------
    table
        Scores; unknown ones are left out.
    path
        The file to write.

    Returns
    -------
    The file.

    Examples
    --------
    >>> write_promptfoo(ScoreTable(["short"], ["q1"], [[1]]), "results.json").name
    'results.json'
    """
    binary = table.kind.successes
    numbers = numbers_of(table.items, "test")
    rows = [
        {
            "promptIdx": option,
            "testIdx": numbers[item],
            "promptId": name,
            "provider": {"id": name, "label": name},
            "prompt": {"raw": name, "label": name},
            "vars": {"item": test},
            "testCase": {"description": test, "vars": {"item": test}},
            "success": bool(value == 1) if binary else True,
            "score": value,
            "namedScores": {},
            "failureReason": 1 if binary and value != 1 else 0,
            "latencyMs": 0,
            "cost": 0,
        }
        for option, name in enumerate(table.options)
        for item, test in enumerate(table.items)
        if not np.isnan(value := float(table.scores[option, item]))
    ]
    passed = sum(row["success"] for row in rows)
    summary = {
        "version": 3,
        "timestamp": datetime.now(UTC).isoformat(),
        "prompts": [
            {"raw": name, "label": name, "provider": name, "id": name}
            | {"metrics": _counts([row for row in rows if row["promptIdx"] == option])}
            for option, name in enumerate(table.options)
        ],
        "results": rows,
        "stats": {"successes": passed, "failures": len(rows) - passed, "errors": 0},
    }
    body = {"evalId": None, "results": summary, "config": {}}
    write_whole(Path(path), json.dumps(body, indent=2, ensure_ascii=False) + "\n")
    return Path(path)


def _counts(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What promptfoo counts for a column: it reads all totals off from here."""
    passed = sum(row["success"] for row in rows)
    return {
        "score": sum(row["score"] for row in rows),
        "testPassCount": passed,
        "testFailCount": len(rows) - passed,
        "testErrorCount": 0,
        "assertPassCount": passed,
        "assertFailCount": len(rows) - passed,
        "totalLatencyMs": 0,
        "tokenUsage": {},
        "namedScores": {},
        "namedScoresCount": {},
        "cost": 0,
    }


def _names(rows: list[Any], place: str) -> dict[int, str]:
    """What each column is called: provider and prompt, with its number where that is not enough."""
    found: dict[int, str] = {}
    for number, row in enumerate(rows):
        try:
            provider, prompt = row["provider"], row["prompt"]
            parts = [
                provider.get("label") or provider.get("id", ""),
                prompt.get("label") or prompt.get("raw", ""),
            ]
            found[row["promptIdx"]] = " · ".join(dict.fromkeys(filter(None, parts)))
            _ = row["testIdx"], row["success"], row["score"]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(
                f"{place}: result {number} is not one of promptfoo's "
                f"({type(error).__name__}: {error})"
            ) from None
    texts = list(found.values())
    return {i: name if texts.count(name) == 1 else f"{name} #{i}" for i, name in found.items()}


def _score(row: dict[str, Any], score: str, place: str) -> float:
    if row.get("failureReason") == _ERROR:
        return np.nan
    where = f"{place}: prompt {row['promptIdx']}, test {row['testIdx']}"
    if score in ("pass", "score"):
        return score_or_nan(row["success"] if score == "pass" else row["score"], where)
    named = row.get("namedScores") or {}
    if score not in named:
        known = listed(["pass", "score", *named], score)
        raise InvalidInputError(f"score: {place} has no {score!r} in every result; known: {known}")
    return score_or_nan(named[score], where)
