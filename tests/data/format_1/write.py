"""Writes small files in the formats of this release, which later releases have to read.

``python -m tests.data.format_1.write``: only before format 1 is published. A later format gets a
folder of its own beside this one, and this one stays as it is.
"""

import gzip
import json
import tempfile
from pathlib import Path

import surepick as sp

HERE = Path(__file__).parent
LABELS = ("plain", "bold", "photo")
#: successes of the first measurements of each option, of which every run here takes the next one
REWARDS = {"plain": (0, 0, 1, 0), "bold": (0, 1, 0, 0), "photo": (1, 1, 1, 0)}


class Rewards:
    """Yes or no of each option, in turn."""

    def __init__(self):
        self.met = dict.fromkeys(LABELS, 0)

    def of(self, label):
        number = self.met[label]
        self.met[label] += 1
        return float(REWARDS[label][number % 4])


def problem():
    return sp.Problem.unstructured(LABELS, noise="yes-no")


def go_on(run, rewards, batches=10**6):
    """Tell so many batches, or all up to the end."""
    while not run.stopped and batches:
        batch = run.ask()
        run.tell(batch, [rewards.of(LABELS[arm]) for arm in batch.arms])
        batches -= 1
    return run


def measure(study, rewards, pulls):
    """Tell so many pulls."""
    for _ in range(pulls):
        for pull in study.ask(1, "ann"):
            study.tell(pull.id, rewards.of(pull.label), "ann")


def main():
    rewards = Rewards()
    run = go_on(sp.algorithms.PooledPeleg(0.1).start(problem(), seed=1), rewards, 3)
    saved = {"run": json.loads(run.to_json()), "met": dict(rewards.met)}
    go_on(run, rewards)
    saved["answer"] = [run.answer.label, run.answer.samples, run.answer.guarantee.kind]
    (HERE / "run.json").write_text(json.dumps(saved))
    (HERE / "certificate.json").write_text(json.dumps(run.answer.certificate()))
    with tempfile.TemporaryDirectory() as folder:
        path, rewards = Path(folder) / "study.db", Rewards()
        study = sp.create_study("photos", problem(), storage=f"sqlite:///{path}", seed=1, delta=0.1)
        measure(study, rewards, 30)
        study.export(HERE / "export.csv")
        study.close()
        (HERE / "study.db.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))


if __name__ == "__main__":
    main()
