"""Comparisons that were made before: the battles of a chat arena, promptfoo's ``select-best``.

:mod:`surepick.integrations.judges.decide` says what they may prove.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from surepick.errors import FormatError, InvalidInputError
from surepick.files import write_whole
from surepick.integrations.evaluations.reading import read_json
from surepick.statistics.shares import log_evidence_of_side
from surepick.study import StudyCore

_WINNERS = {"model_a": 1.0, "model_b": 0.0, "tie": 0.5, "tie (bothbad)": 0.5, "both_bad": 0.5}
_NAMES = {1.0: "model_a", 0.0: "model_b", 0.5: "tie"}
_SELECT_BEST = "select-best"


@dataclass(frozen=True)
class Battle:
    """One comparison: 1 if the first was preferred, 0 the second, ½ neither."""

    first: str
    second: str
    value: float
    question: str | None = None
    judge: str | None = None


@dataclass(frozen=True)
class Battles:
    """Comparisons of a file.

    Parameters
    ----------
    all
        The comparisons.
    drawn
        Whether who came first was drawn at random.

    Examples
    --------
    >>> found = Battles([Battle("tea", "milk", 1.0), Battle("milk", "tea", 0.5)])
    >>> found.options, len(found)
    (('milk', 'tea'), 2)
    """

    all: Sequence[Battle]
    drawn: bool = True

    def __len__(self) -> int:
        return len(self.all)

    def __iter__(self) -> Iterator[Battle]:
        return iter(self.all)

    @property
    def options(self) -> tuple[str, ...]:
        """What was compared, in the order of the alphabet."""
        return tuple(sorted({name for one in self.all for name in (one.first, one.second)}))

    def sides(self) -> float:
        """Log evidence that who came first was not drawn by a fair coin."""
        first = sum(one.first < one.second for one in self.all)
        return log_evidence_of_side(first, len(self.all) - first)


# -- arenas -----------------------------------------------------------------------------------
def read_battles(path: str | Path) -> Battles:
    """The comparisons in a file of JSON lines, as chat arenas publish them.

    A line has ``model_a``, ``model_b`` and ``winner`` (``model_a``, ``model_b``, ``tie`` or ``tie
    (bothbad)``), perhaps ``question_id`` and ``judge``. Arenas draw who is ``model_a``.

    Examples
    --------
    >>> _ = Path("battles.jsonl").write_text(
    ...     '{"question_id": 7, "model_a": "tea", "model_b": "milk", "winner": "model_b"}\\n')
    >>> read_battles("battles.jsonl").all[0]
    Battle(first='tea', second='milk', value=0.0, question='7', judge=None)
    """
    found = []
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = read_json(line, f"{path}: line {number}")
        try:
            first, second, winner = row["model_a"], row["model_b"], row["winner"]
        except (KeyError, TypeError) as error:
            raise FormatError(
                f"{path}: line {number} has no {error}; a line needs model_a, model_b and winner"
            ) from None
        if winner not in _WINNERS:
            known = ", ".join(map(repr, _WINNERS))
            raise FormatError(f"{path}: line {number}: winner is {winner!r:.80}; known: {known}")
        if first == second:
            raise FormatError(f"{path}: line {number} compares {first!r:.80} with itself")
        question = row.get("question_id")
        judge = row.get("judge")
        found.append(
            Battle(
                str(first),
                str(second),
                _WINNERS[winner],
                None if question is None else str(question),
                None if judge is None else str(judge),
            )
        )
    if not found:
        raise FormatError(f"{path} has no comparisons")
    return Battles(found)


def write_battles(study: StudyCore, path: str | Path) -> Path:
    """Write every comparison of a study that counts as JSON lines, as chat arenas have them.

    ``question_id`` is the number of the item, or of the comparison where there are no items. What
    was compared in a study was chosen by results: such a file is for looking at, or for a fit; the
    proof is in the study's certificate.

    Examples
    --------
    >>> import surepick as sp
    >>> study = sp.create_study("b", sp.Problem.pairs(["tea", "milk"]), storage="memory://")
    >>> (pull,) = study.ask(worker="ann")
    >>> _ = study.tell(pull.id, "tie")
    >>> json.loads(write_battles(study, "battles.jsonl").read_text())["winner"]
    'tie'
    """
    lines = []
    for row in _rows(study):
        item = row.get("item")
        line = {
            "question_id": row["pull"] if item is None else item,
            "model_a": row["first"],
            "model_b": row["second"],
            "winner": _NAMES[row["reward"]],
            "judge": row["worker"],
            "tstamp": datetime.fromisoformat(row["time"]).timestamp(),
        }
        lines.append(json.dumps(line, ensure_ascii=False))
    write_whole(Path(path), "".join(f"{line}\n" for line in lines))
    return Path(path)


def _rows(study: StudyCore) -> list[dict[str, Any]]:
    """Every comparison, with the labels of both; the same from a database and from a service."""
    import tempfile

    pairing, labels = study.problem.pairing, study.problem.candidate_labels
    if pairing is None:
        raise InvalidInputError(f"{study.name}: options are not compared two at a time here")
    with tempfile.TemporaryDirectory() as folder:
        written = study.export(Path(folder) / "told.json")
        rows = json.loads(written.read_text(encoding="utf-8"))
    both = [pairing.of(row["arm"]) for row in rows]
    return [row | {"first": labels[a], "second": labels[b]} for row, (a, b) in zip(rows, both)]


# -- promptfoo --------------------------------------------------------------------------------
def read_select_best(path: str | Path) -> Battles:
    """What promptfoo's ``select-best`` chose, as comparisons of the chosen one with each other.

    promptfoo shows all outputs of a test at once, always in the same order. So these comparisons
    are for looking at: ``drawn`` is False, and :func:`decide` refuses them.

    Examples
    --------
    >>> made = Battles([Battle("long", "short", 0.0)])
    >>> read_select_best(write_select_best(made, "results.json", "Which is better?")).all[0].value
    0.0
    """
    place = str(path)
    body = read_json(Path(path).read_text(encoding="utf-8"), place)
    try:
        rows = body["results"]["results"]
        tests: dict[int, dict[str, bool]] = {}
        for row in sorted(rows, key=lambda row: (row["testIdx"], row["promptIdx"])):
            made = (row.get("gradingResult") or {}).get("componentResults") or []
            said = [one for one in made if (one.get("assertion") or {}).get("type") == _SELECT_BEST]
            if said:
                name = row["provider"].get("label") or row["provider"]["id"]
                prompt = row["prompt"].get("label") or row["prompt"].get("raw", "")
                name = " · ".join(dict.fromkeys(filter(None, (name, prompt))))
                tests.setdefault(row["testIdx"], {})[name] = bool(said[0]["pass"])
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(
            f"{place} is not a file of promptfoo's results ({type(error).__name__}: {error}): was "
            "it written by promptfoo eval --output?"
        ) from None
    found = []
    for test, outputs in tests.items():
        best = [name for name, passed in outputs.items() if passed]
        if len(best) != 1:
            continue  # no verdict was understood, which fails all outputs
        for other in outputs:
            if other != best[0]:  # in the order in which they were shown
                first, second = (one for one in outputs if one in (best[0], other))
                found.append(Battle(first, second, float(first == best[0]), str(test)))
    if not found:
        raise FormatError(f"{place} has no results of the assertion {_SELECT_BEST}")
    return Battles(found, drawn=False)


def write_select_best(battles: Battles | StudyCore, path: str | Path, rubric: str) -> Path:
    """Write comparisons as promptfoo's results of ``select-best``: a test with two outputs each.

    ``promptfoo import FILE`` takes it, and ``promptfoo view`` shows it. Ties, which promptfoo does
    not know, are two outputs of which none was selected.

    Examples
    --------
    >>> write_select_best(Battles([Battle("a", "b", 0.5)]), "results.json", "Best?").name
    'results.json'
    """
    if isinstance(battles, StudyCore):
        battles = Battles([Battle(r["first"], r["second"], r["reward"]) for r in _rows(battles)])
    options = battles.options
    rows = []
    for test, one in enumerate(battles):
        for name, won in ((one.first, one.value == 1.0), (one.second, one.value == 0.0)):
            said = "Output selected as the best" if won else "Output not selected"
            graded = {
                "pass": won,
                "score": float(won),
                "reason": f"{said}: {rubric}",
                "assertion": {"type": _SELECT_BEST, "value": rubric},
            }
            rows.append(
                {
                    "promptIdx": options.index(name),
                    "testIdx": test,
                    "promptId": name,
                    "provider": {"id": name, "label": name},
                    "prompt": {"raw": name, "label": name},
                    "vars": {"item": one.question or str(test)},
                    "testCase": {"vars": {"item": one.question or str(test)}},
                    "success": won,
                    "score": float(won),
                    "namedScores": {},
                    "failureReason": 0 if won else 1,
                    "latencyMs": 0,
                    "cost": 0,
                    "gradingResult": {k: graded[k] for k in ("pass", "score", "reason")}
                    | {"componentResults": [graded]},
                }
            )
    passed = sum(row["success"] for row in rows)
    summary = {
        "version": 3,
        "timestamp": datetime.now(UTC).isoformat(),
        "prompts": [{"raw": n, "label": n, "provider": n, "id": n} for n in options],
        "results": rows,
        "stats": {"successes": passed, "failures": len(rows) - passed, "errors": 0},
    }
    body = {"evalId": None, "results": summary, "config": {}}
    write_whole(Path(path), json.dumps(body, indent=2, ensure_ascii=False) + "\n")
    return Path(path)
