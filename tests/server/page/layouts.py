"""Remote workers that measure the page layouts of the examples."""

import csv
import random
import runpy
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CSV = EXAMPLES / "layouts.csv"
_EXAMPLE = runpy.run_path(str(EXAMPLES / "measure_layout.py"))


class Layouts:
    """A worker for a study of these layouts; the same rewards in every run."""

    def __init__(self, study):
        self.study = study
        self._random = random.Random(study.name)
        with CSV.open(newline="") as file:
            self._rows = {row.pop("label"): row for row in csv.DictReader(file)}

    def measure(self, count=10_000, failing=0.0):
        """Measure at least so many times, or to the end; some measurements fail."""
        while count > 0 and not self.study.finished:
            told = []
            for pull in self.study.ask(8, worker="lab-1"):
                if self._random.random() < failing:
                    self.study.fail(pull.id, "the visitor left", worker="lab-1")
                else:
                    told.append((pull.id, self._rating(pull.label)))
            self.study.tell_many(told, worker="lab-1")
            count -= len(told)

    def _rating(self, label):
        effects = (_EXAMPLE["EFFECTS"].get(value, 0.0) for value in self._rows[label].values())
        return self._random.gauss(5.0 + sum(effects), _EXAMPLE["NOISE"])
