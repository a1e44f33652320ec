"""Which command is the fastest: surepick time beside hyperfine, on the same commands in one run.

Four races: eight ways to count words (the fastest is the one with the smallest median of 60 runs in
turn, made beforehand), two commands of which one does 10 % more work, two under different names
that are the same, and these while another process keeps the machine busy half of the time, in
spells of some seconds. Each is held several times; hyperfine and surepick take turns.
Hyperfine runs one command after the other, each as often as it likes (ten times at least, three
seconds at least), and names the one with the smallest mean; it does not say how sure that is. So
both ways to read it are counted: naming the smallest mean, and naming it only where intervals of
two standard errors do not overlap. surepick may take as many runs as it likes up to 1,000.

*Equal numbers* is what a race would take in which all commands get as many runs as the one that
got most. Needs hyperfine (Debian: apt-get install hyperfine). Run with: python -m
benchmarks.hyperfine [--times 6] (about a quarter of an hour, on a machine that does nothing else)
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).parent / "results" / "hyperfine.md"
#: eight ways to the number of words in a file; which is the fastest differs from system to system
WORDS = {
    "wc": "wc -w words.txt",
    "awk": "awk '{n += NF} END {print n}' words.txt",
    "grep": "grep -oE '[a-z]+' words.txt | wc -l",
    "tr": "tr ' ' '\\n' < words.txt | wc -l",
    "sed": "sed 's/ /\\n/g' words.txt | wc -l",
    "xargs": "xargs -n 2000 < words.txt | wc -w",
    "perl": "perl -ne '$n += split; END {print $n}' words.txt",
    "sort": "tr ' ' '\\n' < words.txt | sort | wc -l",
}


def _work(size: int) -> str:
    return f"{sys.executable} -S work.py {size}"


#: commands, which one is the fastest (None: none is; "?": to be measured), whether others are busy
RACES: dict[str, tuple[dict[str, str], str | None, bool]] = {
    "eight ways to count words": (WORDS, "?", False),
    "one does 10 % more": ({"a": _work(400), "b": _work(440)}, "a", False),
    "the same twice": ({"a": _work(100), "b": _work(100)}, None, False),
    "the same twice, busy machine": ({"a": _work(100), "b": _work(100)}, None, True),
}
BODY = "import sys\ntotal = 0\nfor i in range(int(sys.argv[1]) * 300):\n    total += i\n"
MOST = 1000
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
HEAD = """# Which command is the fastest, beside hyperfine

{version}, on the same commands in one run, in turn; {times} races each, δ = 0.05, at most 1,000 runs.

Wrong: another one than the fastest is named, or one of two that are the same. *Apart*: hyperfine's
smallest mean is only taken where intervals of two standard errors do not overlap.

| race | surepick: wrong | undecided | runs | equal numbers | s | hyperfine: wrong | wrong, apart | undecided, apart | runs | s |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""  # noqa: E501


class Held(NamedTuple):
    """One race: who was named, by which reading; runs and seconds."""

    named: str | None
    apart: str | None
    runs: int
    most: int  #: of any one command
    seconds: float


def _spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def _spells() -> None:
    """Keep every processor busy for some seconds, then none, and so on."""
    while True:
        others = [multiprocessing.Process(target=_spin, args=(4.0,)) for _ in range(_cores())]
        for one in others:
            one.start()
        for one in others:
            one.join()
        time.sleep(4.0)


def _cores() -> int:
    return os.cpu_count() or 1


@contextmanager
def busy(wanted: bool) -> Iterator[None]:
    """While other work comes and goes."""
    if not wanted:
        yield
        return
    other = multiprocessing.Process(target=_spells)
    other.start()
    try:
        yield
    finally:
        other.terminate()
        other.join()


def by_surepick(commands: dict[str, str], folder: Path, seed: int) -> Held:
    """Named where it is decided."""
    named = [part for name in commands for part in ("--name", name)]
    limits = ["--max-runs", str(MOST), "--seed", str(seed), "--json"]
    called = [sys.executable, "-m", "surepick", "time", *named, *limits, *commands.values()]
    started = time.monotonic()
    done = subprocess.run(called, cwd=folder, capture_output=True, text=True)
    taken = time.monotonic() - started
    assert done.returncode in (0, 7), done.stderr
    said = json.loads(done.stdout)
    runs = [one["runs"] for one in said["options"]]
    label = said["label"] if said["decided"] else None
    return Held(label, label, sum(runs), max(runs), taken)


def by_hyperfine(commands: dict[str, str], folder: Path) -> Held:
    """Named by the smallest mean."""
    named = [part for name in commands for part in ("--command-name", name)]
    called = ["hyperfine", *named, "--style", "none", "--warmup", "1", "--export-json", "out.json"]
    started = time.monotonic()
    subprocess.run([*called, *commands.values()], cwd=folder, capture_output=True, check=True)
    taken = time.monotonic() - started
    found: list[dict[str, Any]] = json.loads((folder / "out.json").read_text())["results"]
    means = sorted(
        (one["mean"], 2.0 * one["stddev"] / len(one["times"]) ** 0.5, one["command"])
        for one in found
    )
    (first, own, name), (second, other, _) = means[:2]
    runs = [len(one["times"]) for one in found]
    return Held(name, name if first + own < second - other else None, sum(runs), max(runs), taken)


def by_hand(commands: dict[str, str], folder: Path) -> str:
    """The one with the smallest median of 60 runs in turn."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(60):
        for name, command in commands.items():
            started = time.monotonic()
            subprocess.run(["/bin/sh", "-c", command], cwd=folder, check=True, **QUIET)
            times[name].append(time.monotonic() - started)
    return min(times, key=lambda name: sorted(times[name])[30])


def wrong(named: str | None, right: str | None) -> bool:
    """Whether somebody is named who should not be."""
    return named is not None and named != right


def main() -> None:
    """Hold the races, print the table, and write it to results/hyperfine.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=6)
    times = parser.parse_args().times
    version = subprocess.run(["hyperfine", "--version"], capture_output=True, text=True, check=True)
    text = HEAD.format(version=version.stdout.strip(), times=times)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "work.py").write_text(BODY)
        (folder / "words.txt").write_text("some words of a line that is short\n" * 40_000)
        for race, (commands, right, is_busy) in RACES.items():
            ours, theirs = [], []
            if right == "?":
                right = by_hand(commands, folder)
            with busy(is_busy):
                for seed in range(times):
                    ours.append(by_surepick(commands, folder, seed))
                    theirs.append(by_hyperfine(commands, folder))
            K = len(commands)
            text += (
                f"| {race} | {sum(wrong(one.named, right) for one in ours)} of {times} "
                f"| {sum(one.named is None for one in ours)} of {times} "
                f"| {sum(one.runs for one in ours) / times:,.0f} "
                f"| {K * sum(one.most for one in ours) / times:,.0f} "
                f"| {sum(one.seconds for one in ours) / times:.0f} "
                f"| {sum(wrong(one.named, right) for one in theirs)} of {times} "
                f"| {sum(wrong(one.apart, right) for one in theirs)} of {times} "
                f"| {sum(one.apart is None for one in theirs)} of {times} "
                f"| {sum(one.runs for one in theirs) / times:,.0f} "
                f"| {sum(one.seconds for one in theirs) / times:.0f} |\n"
            )
            print(text.splitlines()[-1], flush=True)
            RESULT.write_text(text)


if __name__ == "__main__":
    main()
