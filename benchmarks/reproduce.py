"""Seconds per trial beside another implementation's, on the paper's settings.

The other implementation is the public RAGE repository's code; its seconds (one core of an aarch64
server, delta = 0.1) were measured once and are listed below. Ours are measured here, on one core,
after compilation, as the mean over trials.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/reproduce.py
"""

from __future__ import annotations

import surepick as sp
from surepick.bench import Plan, run_plan, summarise

# (instance, algorithm) -> (seconds per trial, mean pulls) of the public code
PUBLIC = {
    ("standard:gap=0.3", "rage"): (0.1636, 4993),
    ("standard:gap=0.3", "lingape"): (0.9533, 5044),
    ("standard:gap=0.3", "xy-static"): (0.0811, 5673),
    ("standard:gap=0.3", "alba"): (0.0442, 42633),
    ("confounding:d=5", "rage"): (0.1215, 23847),
    ("confounding:d=5", "lingape"): (3.1385, 23471),
    ("confounding:d=5", "xy-static"): (0.1014, 71510),
    ("confounding:d=5", "alba"): (2.8114, 129015),
    ("unit_sphere:d=20,rng=trial", "rage"): (2.2367, 7741),
    ("unit_sphere:d=20,rng=trial", "lingape"): (4.1036, 14612),
    ("unit_sphere:d=20,rng=trial", "xy-static"): (2.2189, 9986),
    ("unit_sphere:d=20,rng=trial", "alba"): (6.5282, 209003),
}


def main() -> None:
    algorithms = list(dict.fromkeys(a for _, a in PUBLIC))
    instances = list(dict.fromkeys(i for i, _ in PUBLIC))
    plan = Plan(algorithms, instances, [0.1], trials=20, max_samples=10**8)
    summary = summarise(run_plan(plan))
    print(f"surepick {sp.__version__}, seconds per trial")
    head = f"{'public':>9} {'ours':>9} {'faster':>8} {'pulls':>9}"
    print(f"{'instance':>28} {'algorithm':>10} {head}")
    for row in summary.rows():
        public, _ = PUBLIC[row["instance"], row["algorithm"]]
        ratio = public / row["seconds"]
        print(
            f"{row['instance']:>28} {row['algorithm']:>10} {public:9.4f} {row['seconds']:9.4f} "
            f"{ratio:7.0f}x {row['mean']:9,.0f}"
        )


if __name__ == "__main__":
    main()
