"""promptfoo, lm-evaluation-harness and Inspect themselves, before and after surepick.

Pupils stand in for models: each adds numbers, and gets a share of the sums wrong that is its own.
Each program

1. evaluates all pupils on all sums. What is read from its files must have the means that the
   program itself reports.
2. evaluates what ``decide`` asks it for, and nothing else. Sums that pupils were asked are counted
   by the pupils.
3. reads what surepick wrote of that: promptfoo imports and exports it again, the harness finds the
   files, prints its table from them and loads the samples. Inspect is asked by its early stopping
   which samples to run, and its logs have what it ran.

Nothing is installed. promptfoo is a command (0.123 needs Node 22 or newer), the harness a package
of the Python that runs this:

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.evaluation_tools --promptfoo "npx promptfoo"

(eleven minutes on two busy cores, most of it for promptfoo to start, again and again). What is not
there is left out; ``--only inspect`` records the row of one program beside those that are there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import benchmarks.nothing_kept  # noqa: F401
import numpy as np
from benchmarks.recorded import FOLDER, table

from surepick.files import write_whole
from surepick.integrations.evaluations import (
    EvaluationDecision,
    InspectRace,
    ScoreTable,
    decide,
    read_lm_eval,
    read_promptfoo,
    write_lm_eval,
    write_promptfoo,
)
from surepick.integrations.evaluations.decide import Cell

PUPILS = {"school/ann": 0.55, "school/bob": 0.6, "school/cem": 0.7, "school/dana": 0.92}


class Tried(NamedTuple):
    """What one program did."""

    program: str
    full: ScoreTable  #: everything on everything
    reported: dict[str, float]  #: the means, as the program says them
    found: EvaluationDecision
    asked: int  #: what pupils were asked for the decision
    batches: int  #: in so many batches
    returned: ScoreTable  #: what surepick wrote, as the program gave it back


def sums(count: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(0)
    return [(int(a), int(b)) for a, b in rng.integers(2, 90, (count, 2))]


def is_right(pupil: str, a: int, b: int) -> bool:
    """Whether a pupil knows a sum: always the same, as a model at temperature 0 would be."""
    digest = hashlib.sha256(f"{pupil}: {a} + {b}".encode()).digest()
    return int.from_bytes(digest[:4]) < PUPILS[pupil] * 2**32


def by_option(cells: Sequence[Cell]) -> dict[str, list[int]]:
    """The numbers of the items that each option is asked, counting up.

    In that order only: the harness gives the documents that it is asked for their numbers in the
    order in which they were named, but evaluates them in the order in which they are in the data.
    """
    asked: dict[str, list[int]] = {}
    for option, item in cells:
        asked.setdefault(option, []).append(int(item.split()[-1]))
    return {option: sorted(numbers) for option, numbers in asked.items()}


# -- lm-evaluation-harness -------------------------------------------------------------------
TASK = """\
task: sums
dataset_path: json
dataset_kwargs: {data_files: sums.jsonl}
test_split: train
output_type: multiple_choice
doc_to_text: "{{a}} + {{b}} ="
doc_to_choice: "{{choices}}"
doc_to_target: 0
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
"""


def try_lm_eval(folder: Path, count: int) -> Tried:
    """Its own Python interface, so that a model is loaded once, and its own files."""
    os.environ |= {"HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    import datasets
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager
    from lm_eval.utils import get_file_task_name, get_sample_results_filenames, make_table

    class Pupil(LM):
        """Finds the right choice the likeliest where it knows the sum, else another one."""

        asked = 0

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
            found = []
            for request in requests:
                a, b = map(int, re.findall(r"\d+", request.args[0]))
                right = int(request.args[1]) == a + b
                Pupil.asked += right  # once a sum, not once a choice
                found.append((float(right == is_right(self.name, a, b)), False))
            return found

        def generate_until(self, requests: list[Any]) -> list[str]:
            raise NotImplementedError

        def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
            raise NotImplementedError

    lines = [{"a": a, "b": b, "choices": [str(a + b), str(a + b + 1)]} for a, b in sums(count)]
    (folder / "sums.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "sums.yaml").write_text(TASK.replace("sums.jsonl", str(folder / "sums.jsonl")))
    models = {name: Pupil(name) for name in PUPILS}
    how: dict[str, Any] = {"tasks": ["sums"], "bootstrap_iters": 0}
    how["task_manager"] = TaskManager(include_path=str(folder), include_defaults=False)

    reported = {}
    for name, model in models.items():
        tracker = EvaluationTracker(output_path=str(folder / "full"))
        named = {"model_args": f"model={name}", "evaluation_tracker": tracker}
        results = simple_evaluate(model, **how, **named)
        samples = results.pop("samples")
        tracker.save_results_aggregated(results=results, samples=samples)
        tracker.save_results_samples("sums", samples["sums"])
        reported[name] = results["results"]["sums"]["acc,none"]
    full = read_lm_eval(folder / "full", "sums")

    sizes: list[int] = []

    def evaluate(cells: list[Cell]) -> list[float]:
        sizes.append(len(cells))
        scores = {}
        for name, numbers in by_option(cells).items():
            run = simple_evaluate(models[name], **how, samples={"sums": numbers})
            scores |= {(name, f"doc {s['doc_id']}"): s["acc"] for s in run["samples"]["sums"]}
        return [scores[cell] for cell in cells]

    Pupil.asked = 0
    found = decide(ScoreTable(full.options, full.items), evaluate_batch=evaluate)
    write_lm_eval(found.table, folder / "ours", "sums")
    cells, means = {}, {}
    for inside in (folder / "ours").iterdir():
        (file,) = get_sample_results_filenames([path.as_posix() for path in inside.iterdir()])
        assert get_file_task_name(Path(file).name) == "sums"
        loaded = datasets.load_dataset(
            "json", data_files=file, split="train", cache_dir=str(folder / "cache")
        )
        summary = json.loads(next(inside.glob("results_*.json")).read_text())
        name = summary["model_name"]
        cells |= {(name, f"doc {row['doc_id']}"): row["acc"] for row in loaded}
        means[name] = float(re.findall(r"acc +\|↑ +\| *([\d.]+)\|", make_table(summary))[0])
    returned = filled(full, cells)
    for name, mean in means.items():
        known = returned.scores[returned.options.index(name)]
        assert abs(np.nanmean(known) - mean) < 1e-4, (name, mean)  # it prints four digits
    program = f"lm-evaluation-harness {version('lm_eval')}"
    return Tried(program, full, reported, found, Pupil.asked, len(sizes), returned)


def filled(like: ScoreTable, cells: dict[Cell, float]) -> ScoreTable:
    scores = [[cells.get((option, item), np.nan) for item in like.items] for option in like.options]
    return ScoreTable(like.options, like.items, scores)


# -- promptfoo -------------------------------------------------------------------------------
PROVIDER = """\
import { appendFileSync } from "node:fs";
const known = JSON.parse(process.env.KNOWN_SUMS);
export default class Pupil {
  constructor(options) { this.name = options.config.name; }
  id() { return this.name; }
  async callApi(prompt) {
    appendFileSync("asked.log", "x");
    const [a, b] = prompt.match(/\\d+/g).map(Number);
    return { output: String(a + b + (known[this.name].includes(prompt) ? 0 : 1)) };
  }
}
"""


def try_promptfoo(folder: Path, count: int, command: str) -> Tried:
    """The command, with a configuration of the pupils and sums that are wanted."""
    asked_of = [f"{a} + {b} =" for a, b in sums(count)]
    known = {
        name: [text for text, (a, b) in zip(asked_of, sums(count)) if is_right(name, a, b)]
        for name in PUPILS
    }
    alone = {
        "KNOWN_SUMS": json.dumps(known),
        "PROMPTFOO_CONFIG_DIR": str(folder / "home"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    }
    (folder / "pupil.mjs").write_text(PROVIDER)

    def call(*words: str, fine: Sequence[int] = (0,)) -> str:
        done = subprocess.run(
            [*shlex.split(command), *words],
            cwd=folder,
            env=os.environ | alone,
            capture_output=True,
            text=True,
        )
        if done.returncode not in fine:
            raise SystemExit(f"promptfoo {shlex.join(words)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def evaluated(names: Sequence[str], numbers: Sequence[int], out: str) -> Path:
        config = {
            "prompts": ["{{a}} + {{b}} ="],
            "providers": [
                {"id": "file://pupil.mjs", "label": name, "config": {"name": name}}
                for name in names
            ],
            "tests": [
                {"vars": {"a": a, "b": b}, "assert": [{"type": "equals", "value": str(a + b)}]}
                for a, b in (sums(count)[i] for i in numbers)
            ],
        }
        (folder / "config.json").write_text(json.dumps(config))
        words = ("eval", "-c", "config.json", "-o", out, "--no-cache", "--no-table")
        call(*words, "--no-progress-bar", fine=(0, 100))  # 100: some test failed
        return folder / out

    whole = evaluated(list(PUPILS), range(count), "full.json")
    full = named(read_promptfoo(whole))
    summary = json.loads(whole.read_text())["results"]
    reported = {
        prompt["provider"]: prompt["metrics"]["testPassCount"] / count
        for prompt in summary["prompts"]
    }

    sizes: list[int] = []

    def evaluate(cells: list[Cell]) -> list[float]:
        sizes.append(len(cells))
        scores = {}
        together: dict[tuple[int, ...], list[str]] = {}  # pupils who are asked the same sums
        for name, numbers in by_option(cells).items():
            together.setdefault(tuple(numbers), []).append(name)
        for numbers, names in together.items():
            part = named(read_promptfoo(evaluated(names, numbers, "part.json")))
            for place, number in enumerate(numbers):
                scores |= {(n, f"test {number}"): part.of(n, f"test {place}") for n in names}
        return [scores[cell] for cell in cells]

    (folder / "asked.log").unlink()
    found = decide(ScoreTable(full.options, full.items), evaluate_batch=evaluate)
    asked = (folder / "asked.log").stat().st_size
    write_promptfoo(found.table, folder / "ours.json")
    said = call("import", "ours.json")
    number = re.findall(r"eval-\S+", said)[0]
    call("export", "eval", number, "-o", "back.json")
    back = read_promptfoo(folder / "back.json")
    cells = {(o, i): back.of(o, i) for o in back.options for i in back.items}
    program = f"promptfoo {call('--version').split()[-1]}"
    returned = filled(full, cells)
    return Tried(program, full, reported, found, asked, len(sizes), returned)


def named(read: ScoreTable) -> ScoreTable:
    """Pupils without the prompt, which is the same for all."""
    names = [option.split(" · ")[0] for option in read.options]
    return ScoreTable(names, read.items, read.scores)


# -- Inspect ---------------------------------------------------------------------------------
def try_inspect(folder: Path, count: int) -> Tried:
    """Its own evaluation, with a task for each pupil and our early stopping."""
    os.environ |= {"INSPECT_LOG_DIR": str(folder), "INSPECT_DISPLAY": "none"}
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import match
    from inspect_ai.solver import solver

    asked: list[tuple[str, Any]] = []

    @solver
    def pupil(name: str, stumbles: bool = False) -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            a, b = map(int, re.findall(r"\d+", state.input_text))
            asked.append((name, state.sample_id))
            if stumbles and state.sample_id == "sum 5":
                raise RuntimeError("no pencil")
            state.output.completion = str(a + b + (0 if is_right(name, a, b) else 1))
            return state

        return solve

    def samples() -> list[Any]:
        return [
            Sample(id=f"sum {i}", input=f"{a} + {b} =", target=str(a + b))
            for i, (a, b) in enumerate(sums(count))
        ]

    how: dict[str, Any] = {
        "model": "mockllm/model",
        "max_tasks": len(PUPILS),
        "log_dir": str(folder),
    }
    every = [Task(samples(), solver=pupil(n), scorer=match(), name=n[7:]) for n in PUPILS]
    cells, reported = {}, {}
    for name, log in zip(PUPILS, evaluate(every, **how)):
        assert log.status == "success", log.error
        cells |= {(name, s.id): float(s.scores["match"].value == "C") for s in log.samples}
        reported[name] = log.results.scores[0].metrics["accuracy"].value
    items = [f"sum {i}" for i in range(count)]
    full = ScoreTable(
        list(PUPILS), items, [[cells[name, item] for item in items] for name in PUPILS]
    )

    def race(stumbles: str = "") -> tuple[InspectRace, list[Any]]:
        made = InspectRace(list(PUPILS), samples())
        tasks = [
            Task(
                made.samples,
                solver=pupil(name, name == stumbles),
                scorer=match(),
                name=name[7:],
                early_stopping=made.option(name),
                fail_on_error=False,
            )
            for name in PUPILS
        ]
        asked.clear()
        return made, evaluate(tasks, **how)

    made, logs = race()
    found, count_asked = made.decision, len(asked)
    assert len(set(asked)) == count_asked
    back = {
        (name, s.id): float(s.scores["match"].value == "C")
        for name, log in zip(PUPILS, logs)
        for s in log.samples or ()
        if s.scores
    }
    stopped = [log.results.early_stopping for log in logs]
    assert all(one is not None and one.manager == "surepick" for one in stopped)
    left_out = sum(len(one.early_stops) for one in stopped)
    assert left_out + count_asked == len(PUPILS) * count
    # A sample that ends in an error counts as the worst score, and nobody waits for it.
    stumbled = race("school/dana")[0].decision
    assert stumbled.option == "school/dana"
    if ("school/dana", "sum 5") in asked:
        assert stumbled.failed == (("school/dana", "sum 5", "no pencil"),)
    program = f"Inspect {version('inspect_ai')}"
    return Tried(
        program, full, reported, found, count_asked, found.answer.batches, filled(full, back)
    )


# -- what came out ---------------------------------------------------------------------------
def row(tried: Tried) -> list[str]:
    """A line of the table; an error where something does not fit."""
    full, found = tried.full, tried.found
    for option, mean in zip(full.options, full.scores.mean(axis=1)):
        assert abs(tried.reported[option] - mean) < 1e-9, (option, tried.reported[option], mean)
    assert found.option == full.options[int(full.scores.mean(axis=1).argmax())]
    known = ~np.isnan(found.table.scores)
    np.testing.assert_array_equal(found.table.scores[known], full.scores[known])
    np.testing.assert_array_equal(found.table.scores, tried.returned.scores)
    assert tried.asked == found.evaluations == known.sum()
    size = f"{len(full.options)} × {len(full.items)}"
    return [
        *(tried.program, size, f"{full.scores.size:,}", f"{tried.asked:,}", str(tried.batches)),
        *(found.option, found.how),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--promptfoo", default="promptfoo", help="the command")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the result")
    parser.add_argument("--only", choices=["promptfoo", "lm-eval", "inspect"], default=None)
    given = parser.parse_args()
    ways: list[Callable[[Path], Tried]] = []
    if given.only not in (None, "promptfoo"):
        pass
    elif shutil.which(shlex.split(given.promptfoo)[0]):
        ways.append(lambda folder: try_promptfoo(folder, given.items, given.promptfoo))
    else:
        print(f"left out: there is no command {given.promptfoo!r}; see --promptfoo")
    packages = {"lm-eval": ("lm_eval", try_lm_eval), "inspect": ("inspect_ai", try_inspect)}
    for name, (package, trying) in packages.items():
        if given.only not in (None, name):
            continue
        try:
            version(package)
            ways.append(lambda folder, trying=trying: trying(folder, given.items))
        except PackageNotFoundError:
            print(f"left out: this Python has no {package}")
    rows = []
    for way in ways:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(row(way(Path(folder).resolve())))
    head = ["program", "options × items", "everything", "asked", "batches", "best", "how"]
    text = (
        "# Other people's programs, evaluating only what decides\n\n"
        "δ = 0.05. What was read has the means that the program reports, what the program read of "
        "ours is what we wrote.\n\n" + table(head, rows)
    )
    print(text)
    recorded = given.out / "evaluation_tools.md"
    if given.only and recorded.exists():  # the rows of the others stay
        lines = recorded.read_text("utf-8").splitlines()
        own = [line for line in lines if not line.startswith(f"| {rows[0][0].split()[0]} ")]
        text = "\n".join([*own, table(head, rows).splitlines()[-1]])
    if given.only or len(ways) == 3:
        write_whole(recorded, text + "\n")


if __name__ == "__main__":
    main()
