"""Processor time of each verb about studies, before and now, in one run.

A laboratory's study of 12 options under way, and a website's of 48, as in the README. Each verb is
called in a fresh copy of the two, twice with this source and twice with that of an earlier commit,
in turn; the smaller time counts. Run with: python -m benchmarks.verbs --before COMMIT
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.first_minute import ROOT, STORE, seconds, source

STUDIES = [
    "new lab coatings.csv --features base,hardener,minutes --noise 0.3",
    "new shop layouts.csv --traffic --rewards yes-no --control short-photo-1-red-round",
    "split shop --period first",
    "record shop report.csv --period first",
]
MEASURE = """import random
import surepick as sp

GOOD = {"epoxy": 0.6, "acrylic": 0.0, "fast": 0.0, "slow": 0.5, "20": 0.0, "40": 0.4, "60": 0.9}
with sp.load_study("lab", "sqlite:///studies.db") as study:
    while (told := study.status()["samples"]) < 40:
        for pull in study.ask(40 - told):
            error = random.Random(pull.id).gauss(0.0, 0.3)
            study.tell(pull.id, sum(GOOD[part] for part in pull.label.split("-")) + error)
"""
VERBS = {  # and what is called beforehand
    "list": "",
    "new more coatings.csv --noise 0.3": "",
    "ask lab -n 8": "",
    "tell lab 40 4.2": "ask lab -n 8",
    "fail lab 40": "ask lab -n 8",
    "status lab": "",
    "answer lab": "",
    "plot lab --out lab.png": "",
    "report lab --out lab.html": "",
    "export lab --out lab.json": "",
    "correct lab 0 3.5 --reason typo": "",
    "withdraw lab 1 --reason dirty": "",
    "add lab more.csv": "",
    "retire lab epoxy-fast-20 --reason old": "",
    "limit lab --max-samples 500": "",
    "act lab limit max_samples=500": "",
    "pause lab": "",
    "resume lab": "pause lab",
    "stop lab": "",
    "delete lab --yes": "",
    "copy lab --to sqlite:///copy.db": "",
    "split shop": "",
    "record shop report.csv --period next": "split shop --period next",
    "status shop": "",
    "answer shop": "",
    "plot shop --out shop.png": "",
}


def prepared(place: Path, src: Path) -> Path:
    """A folder with both studies under way."""
    at = place / "prepared"
    at.mkdir()
    for name in ("coatings.csv", "layouts.csv"):
        shutil.copy(ROOT / "examples" / name, at)
    (at / "more.csv").write_text("label,base,hardener,minutes\nacrylic-slow-50,acrylic,slow,50\n")
    labels = [line.partition(",")[0] for line in (at / "layouts.csv").read_text().split("\n")[1:]]
    draw = random.Random(0)
    rows = [f"{label},200,{draw.randint(4, 14)}" for label in labels if label]
    (at / "report.csv").write_text("\n".join(["label,visits,successes", *rows, ""]))
    for line in STUDIES:
        called(line, at, src)
    env = os.environ | {"PYTHONPATH": str(src)}
    subprocess.run([sys.executable, "-c", MEASURE], cwd=at, env=env, check=True)
    return at


def called(line: str, at: Path, src: Path) -> float:
    """Processor time of a call; 4 (not yet) and 7 (unproven) are no errors here."""
    return seconds([[*line.split(), *STORE]], at, src, fine=(0, 4, 7))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", required=True, help="the commit to compare with")
    parser.add_argument("--only", default="", help="verbs that contain this")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        sources = {"before": source(given.before, place / "before")}
        sources["now"] = source(None, place / "now")
        ready = {name: prepared(place / name, src) for name, src in sources.items()}
        print("| seconds of processor time | before | now | ratio |\n|---|---:|---:|---:|")
        for line, first in VERBS.items():
            if given.only not in line:
                continue
            times: dict[str, list[float]] = {name: [] for name in sources}
            for _ in range(2):
                for name, src in sources.items():
                    at = place / name / "tried"
                    shutil.copytree(ready[name], at)
                    if first:
                        called(first, at, src)
                    times[name].append(called(line, at, src))
                    shutil.rmtree(at)
            before, now = (min(times[name]) for name in ("before", "now"))
            print(f"| {line} | {before:.2f} | {now:.2f} | × {now / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
