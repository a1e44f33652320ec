"""What a newcomer waits for: sizes and seconds of ``make run`` from a clean clone.

Clones this repository's newest commit into an empty folder, runs ``make run`` there step by step,
and prints how much was installed, when the first study was decided and when the paper's figures
were drawn. Then what of it is numba (the compiled kernels), and how long four tasks take without
it: the same functions in plain Python (``NUMBA_DISABLE_JIT``). Run with: python -m
benchmarks.front_door (five minutes, most of them drawing the figures).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).parent / "results" / "front_door.md"
COMPILED = ("llvmlite", "numba")
TASKS = {
    "`surepick demo` (12 layouts)": "from surepick.cli import main; import sys; "
    "sys.argv = ['surepick', 'demo', '--json', '--out', 'made']; main()",
    "forecast for 48 layouts (`surepick plan`)": "from surepick.cli import main; import sys; "
    "sys.argv = ['surepick', 'plan', 'examples/layouts.csv', '--features', "
    "'headline,image,columns,colour,button', '--gap', '0.4', '--noise', '0.5', '--json']; main()",
    "a run with 1,000 options, no features": "import numpy as np, surepick as sp; "
    "rng = np.random.default_rng(0); means = np.linspace(0, 1, 1000); means[-1] = 3; "
    "sp.identify(sp.Problem.unstructured([str(i) for i in range(1000)], noise='symmetric'), "
    "lambda arm: means[arm] + 0.5 * rng.standard_normal(), delta=0.05)",
    "two trials of LinGapE, unit sphere, d = 10": "import surepick as sp; sp.simulate.trials("
    "sp.algorithms.get('lingape', delta=0.1), sp.simulate.instances.unit_sphere(10), n=2)",
}


def main() -> None:
    """Measure all, print it, and write it to results/front_door.md."""
    with tempfile.TemporaryDirectory(prefix="front-door-") as folder:
        clone = Path(folder) / "surepick"
        _run("git", "clone", "--quiet", str(ROOT), str(clone), cwd=ROOT)
        lines = [*_steps(clone), "", *_without_numba(clone)]
    text = "\n".join(("# From a clean clone to the first answer", "", *lines)) + "\n"
    RESULT.write_text(text)
    print(text)


def _steps(clone: Path) -> list[str]:
    made = {
        "`make .venv/.installed-shown` (installing)": ("make", ".venv/.installed-shown"),
        "`surepick demo` (first use: kernels are compiled)": (".venv/bin/surepick", "demo"),
        "`make run` (demonstration again, then the figures)": ("make", "run"),
    }
    lines = ["| step | seconds | MB in `.venv` |", "|---|---|---|"]
    for name, command in made.items():
        seconds = _run(*command, cwd=clone)
        lines.append(f"| {name} | {seconds:.0f} | {_megabytes(clone / '.venv'):.0f} |")
    return lines


def _without_numba(clone: Path) -> list[str]:
    packages = next((clone / ".venv" / "lib").glob("python3*")) / "site-packages"
    size = sum(_megabytes(packages / name) for name in COMPILED)
    lines = [
        f"numba and llvmlite take {size:.0f} MB of it. The same tasks with compiled kernels "
        "(second run) and without any:",
        "",
        "| task | seconds compiled | seconds without | ratio |",
        "|---|---|---|---|",
    ]
    for name, code in TASKS.items():
        times = {}
        for off in ("0", "0", "1"):  # the first is not counted: it may have to compile
            times[off] = _run(".venv/bin/python", "-c", code, cwd=clone, NUMBA_DISABLE_JIT=off)
        ratio = times["1"] / times["0"]
        lines.append(f"| {name} | {times['0']:.1f} | {times['1']:.1f} | {ratio:.1f} |")
    verdict = (
        "They stay: small studies do without; a thousand options, forecasts and comparisons do not."
    )
    return [*lines, "", verdict]


def _run(*command: str, cwd: Path, **settings: str) -> float:
    """Run a command; the seconds that it took."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    started = time.monotonic()
    done = subprocess.run(command, cwd=cwd, env=env | settings, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    return time.monotonic() - started


def _megabytes(folder: Path) -> float:
    kilobytes = subprocess.run(["du", "-sk", folder], capture_output=True, text=True, check=True)
    return int(kilobytes.stdout.split()[0]) / 1024


if __name__ == "__main__":
    main()
