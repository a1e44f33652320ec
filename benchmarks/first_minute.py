"""From the installation to the first answer: processor time of the first and of the second call.

Every task runs twice in a folder of its own, with a cache for compiled code that is empty at first:
once with this source, once with that of an earlier commit. Times are those of the processor, of all
processes of a task, compiling included; modules are compiled to bytecode beforehand, as pip does.
Tasks take turns between the two, so that a busy moment hits both alike. Run with:
python -m benchmarks.first_minute --before COMMIT
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MEASURE = """import random


def one(task):
    return float(task.features["price"]) + random.gauss(0, 0.3)
"""
TABLE = "label,price\na,1\nb,2\nc,3\nd,4\ne,5\n"
STORE = ("--storage", "sqlite:///studies.db")
TASKS = {
    "surepick --version": [["--version"]],
    "surepick demo": [["demo"]],
    "a table of five rows: new, run, answer": [
        ["new", "mine", "five.csv", *STORE],
        ["run", "mine", "--call", "measure:one", *STORE],
        ["answer", "mine", *STORE],
    ],
    "surepick ask": [["new", "s", "five.csv", *STORE], ["ask", "s", "-n", "5", *STORE]],
    "surepick list": [["list", *STORE]],
}


def source(commit: str | None, folder: Path) -> Path:
    """A copy of the source as of a commit; of what is here, where none is named."""
    folder.mkdir()
    if commit is None:
        subprocess.run(["cp", "-r", str(ROOT / "src"), str(folder)], check=True)
    else:
        packed = subprocess.run(
            ["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True
        )
        subprocess.run(["tar", "x", "-C", str(folder)], input=packed.stdout, check=True)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder / "src")], check=True)
    return folder / "src"


def seconds(calls: list[list[str]], at: Path, src: Path, fine: tuple[int, ...] = (0,)) -> float:
    """Processor time of some calls of the command, which end with one of the codes ``fine``."""
    env = os.environ | {
        "PYTHONPATH": f"{src}{os.pathsep}{at}",
        "NUMBA_CACHE_DIR": str(src.parent / f"compiled-{at.name}"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for words in calls:
        command = [sys.executable, "-m", "surepick", *words]
        done = subprocess.run(command, cwd=at, env=env, capture_output=True, text=True)
        assert done.returncode in fine, (words, done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", required=True, help="the commit to compare with")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        sources = {"before": source(given.before, place / "before")}
        sources["now"] = source(None, place / "now")
        print(
            "| seconds of processor time | before, first | second | now, first | second | first |"
        )
        print("|---|---:|---:|---:|---:|---:|")
        for number, (task, calls) in enumerate(TASKS.items()):
            times: dict[str, list[float]] = {name: [] for name in sources}
            for turn in range(2):
                for name, src in sources.items():
                    at = place / name / f"{number}-{turn}"
                    at.mkdir()
                    (at / "five.csv").write_text(TABLE)
                    (at / "measure.py").write_text(MEASURE)
                    (place / name / f"compiled-{at.name}").symlink_to(
                        place / name / f"kept-{number}", target_is_directory=True
                    )
                    (place / name / f"kept-{number}").mkdir(exist_ok=True)
                    times[name].append(seconds(calls, at, src))
            row = [f"{one:.2f}" for name in sources for one in times[name]]
            ratio = times["now"][0] / times["before"][0]
            print(f"| {task} | {' | '.join(row)} | × {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
