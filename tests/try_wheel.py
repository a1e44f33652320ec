"""Install the wheel in empty environments, one for each Python found, and try it out.

Usage: try_wheel.py DIST. ``make dist`` calls this; it needs a package index.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
TRY = """
import surepick as sp
assert "site-packages" in sp.__file__, sp.__file__
options = [[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]]
problem = sp.Problem(options, noise=0.1, labels=["a", "b", "mix"])
for algorithm in ("pooled-peleg", "peleg", "lingape"):
    answer = sp.identify(problem, [1.0, 0.5, 1.1].__getitem__, algorithm=algorithm)
    assert answer.label == "mix" and sp.verify(answer.certificate()), answer
"""
TABLE = """label,size,colour
small-red,1,red
small-blue,1,blue
large-red,2,red
large-blue,2,blue
"""
VERBS = (
    ["new", "sizes", "options.csv", "--features", "size,colour", "--noise", "0.5"],
    ["run", "sizes", "--exec", "{python} measure.py {{label}}"],
    ["answer", "sizes", "--certificate", "sizes.json"],
    ["verify", "sizes.json"],
)
MEASURE = """import sys
print({"small-red": 2, "small-blue": 1, "large-red": 4}.get(sys.argv[1], 3))
"""


def run(*command: object, folder: Path) -> None:
    """Run a command in a folder, away from this checkout."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SUREPICK"))}
    done = subprocess.run([str(part) for part in command], cwd=folder, env=env)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}")


def works(python: str) -> bool:
    """Whether this Python is there (and not just a name that some manager of versions keeps)."""
    there = shutil.which(python) is not None
    return there and subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


def try_on(python: str, wheel: Path, folder: Path) -> None:
    """One environment with nothing but the wheel and what it needs."""
    run(python, "-m", "venv", folder / "venv", folder=folder)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    inside = scripts / "python"
    quiet = ("--quiet", "--disable-pip-version-check")
    # The versions in constraints.txt are those that the tests ran with, on one Python.
    locked = ("-c", ROOT / "constraints.txt") if python.endswith("3.11") else ()
    run(inside, "-m", "pip", "install", *quiet, *locked, wheel, folder=folder)
    run(inside, "-c", TRY, folder=folder)
    (folder / "options.csv").write_text(TABLE)
    (folder / "measure.py").write_text(MEASURE)
    for verb in VERBS:
        words = [word.format(python=inside) if "{" in word else word for word in verb]
        run(scripts / "surepick", *words, folder=folder)


def main() -> None:
    """Try the one wheel in the folder on every Python there is."""
    (wheel,) = Path(sys.argv[1]).resolve().glob("*.whl")
    found = [python for python in PYTHONS if works(python)] or [sys.executable]
    for python in found:
        with tempfile.TemporaryDirectory(prefix="surepick-wheel-") as folder:
            try_on(python, wheel, Path(folder).resolve())
    missing = ", ".join(sorted(set(PYTHONS) - set(found))) or "none"
    print(f"{wheel.name} works on {', '.join(found)} (not found: {missing})")


if __name__ == "__main__":
    main()
