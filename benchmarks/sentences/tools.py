"""Other people's tools: Inspect itself, files of promptfoo and lm-evaluation-harness, pytest.

Inspect is run where it is installed (its cells are left out elsewhere, and the record says so).
promptfoo and lm-evaluation-harness are their files, through the readers and writers that
``benchmarks.evaluation_tools`` tries on the programs themselves.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.sentences.cells import Outcome, cell
from benchmarks.sentences.items import Decide, Inspect, _leader_in_use_and_new, _made_by_looking
from benchmarks.sentences.items import _of_decision as of_decision

from surepick.integrations.evaluations import (
    InspectRace,
    ScoreTable,
    decide,
    read_lm_eval,
    read_promptfoo,
    write_lm_eval,
    write_promptfoo,
)


class RealInspect(Inspect):
    """Inspect's own evaluation, with our early stopping in every task."""

    name = "Inspect itself"
    needs = "inspect_ai"
    runs = 20
    most = 80

    def ask(self, names, scores, delta, most, kept, rng):  # type: ignore[no-untyped-def]
        os.environ |= {"INSPECT_DISPLAY": "none", "INSPECT_LOG_LEVEL": "error"}
        from inspect_ai import Task  # pyright: ignore[reportMissingImports]
        from inspect_ai import eval as evaluate  # pyright: ignore[reportMissingImports]
        from inspect_ai.dataset import Sample  # pyright: ignore[reportMissingImports]
        from inspect_ai.scorer import match  # pyright: ignore[reportMissingImports]
        from inspect_ai.solver import solver  # pyright: ignore[reportMissingImports]

        @solver
        def pupil(row: int) -> Any:
            async def solve(state: Any, generate: Any) -> Any:
                place = int(str(state.sample_id)[1:])
                state.output.completion = "yes" if scores[row, place] else "no"
                return state

            return solve

        samples = [
            Sample(id=f"q{i}", input=f"item {i}", target="yes") for i in range(scores.shape[1])
        ]
        race = InspectRace(names, samples, delta=delta)
        met = race.samples if most is None else race.samples[: most // len(names)]
        with tempfile.TemporaryDirectory() as folder:
            tasks = [
                Task(
                    met,
                    solver=pupil(i),
                    scorer=match(),
                    name=name.replace(" ", "_"),
                    early_stopping=race.option(name),
                )
                for i, name in enumerate(names)
            ]
            evaluate(
                tasks,
                model="mockllm/model",
                max_tasks=len(tasks),
                max_samples=8,
                log_dir=folder,
            )
        return of_decision(race.decision, None)


class PromptfooFile(Decide):
    """A table that goes through promptfoo's file between two decisions."""

    name = "decide, a file of promptfoo"
    item = "test"  # as its files call items

    def written(self, table: ScoreTable, folder: Path) -> ScoreTable:
        write_promptfoo(table, folder / "results.json")
        return read_promptfoo(folder / "results.json")

    def ask(self, names, scores, delta, most, kept, rng):  # type: ignore[no-untyped-def]
        if kept is not None:
            with tempfile.TemporaryDirectory() as folder:
                kept = self.written(kept, Path(folder))
        items = [f"{self.item} {i}" for i in range(scores.shape[1])]
        known = np.full(scores.shape, np.nan)
        for i, name in enumerate(names):
            if kept is not None and name in kept.options:
                own = dict(zip(kept.items, kept.scores[kept.options.index(name)]))
                known[i] = [own.get(item, np.nan) for item in items]
        row, column = {n: i for i, n in enumerate(names)}, {n: i for i, n in enumerate(items)}
        found = decide(
            ScoreTable(names, items, known),
            lambda option, item: float(scores[row[option], column[item]]),
            delta=delta,
            max_evaluations=most,
        )
        return of_decision(found, found.table)


class HarnessFiles(PromptfooFile):
    """The same through the files of lm-evaluation-harness."""

    name = "decide, files of lm-eval"
    item = "doc"

    def written(self, table: ScoreTable, folder: Path) -> ScoreTable:
        write_lm_eval(table, folder, "task")
        return read_lm_eval(folder, "task")


for _door in (RealInspect(), PromptfooFile(), HarnessFiles()):
    _made_by_looking(_door)
_leader_in_use_and_new(PromptfooFile())

TEST = """\
import os
import numpy as np

SEED, LOSS = int(os.environ["SEED"]), float(os.environ["LOSS"])
draw = np.random.default_rng(SEED)


def test_new(sure):
    sure.not_worse(
        lambda: float(draw.random() < 0.5 - LOSS),
        lambda: float(draw.random() < 0.5),
        epsilon=0.1, max_calls=600, noise="yes-no", delta=float(os.environ["DELTA"]), seed=SEED,
    )
"""


@cell(
    "a gate is run again until it is green",
    "pytest -n 2 (xdist)",
    breaks="again",
    runs=12,
    chunk=3,
    needs="xdist",
)
def _pytest(rng: np.random.Generator, delta: float) -> Outcome:
    """The new one is worse by what is allowed and a hair; what the report shows is read."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_gate.py").write_text(TEST)
        for _ in range(8):
            own = {"SEED": str(rng.integers(2**31)), "LOSS": "0.102", "DELTA": str(delta)}
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
                + ["--junitxml", "report.xml", "test_gate.py"],
                cwd=folder,
                env=os.environ | own,
                capture_output=True,
                check=False,
                timeout=120,
            )
            report = ElementTree.parse(Path(folder) / "report.xml").iter("property")
            said = {one.get("name", ""): one.get("value", "") for one in report}
            if done.returncode == 0:
                return Outcome(True, said)
    return Outcome(None, why="never green")
