"""How long `import surepick` takes, beside `import numpy` alone.

Each number is the median over fresh interpreters, taken in turn so that a busy
moment of the machine hits both alike. Run with: python benchmarks/import_time.py
"""

import statistics
import subprocess
import sys

REPEATS = 7
MODULES = ("numpy", "surepick")


def seconds_to_import(module: str) -> float:
    code = (
        "import time; start = time.perf_counter(); "
        f"import {module}; print(time.perf_counter() - start)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    for module in MODULES:  # not counted: fills the disk cache and writes the bytecode
        seconds_to_import(module)
    times = {module: [] for module in MODULES}
    for _ in range(REPEATS):
        for module in MODULES:
            times[module].append(seconds_to_import(module))
    median = {module: statistics.median(values) for module, values in times.items()}
    for module in MODULES:
        print(f"import {module:10s}{1000 * median[module]:8.1f} ms")
    print(f"ratio            {median['surepick'] / median['numpy']:8.2f}")


if __name__ == "__main__":
    main()
