import csv

import numpy as np
import pytest
from scipy.stats import binom

from surepick.bench import Plan, run_plan, summarise
from surepick.bench.files import write_csv, write_parquet
from surepick.bench.summary import clopper_pearson
from surepick.errors import MissingExtraError
from surepick.simulate import Table


def rows(samples, correct, **changes):
    n = len(samples)
    return Table(
        {
            "algorithm": ["a"] * n,
            "instance": ["i"] * n,
            "delta": [0.1] * n,
            "trial": range(n),
            "samples": samples,
            "correct": correct,
            "guarantee": ["pac"] * n,
            "seconds": [0.5] * n,
            "failed": [""] * n,
            "lower_bound": [10.0] * n,
            **changes,
        }
    )


def test_a_cell_in_numbers():
    table = rows([10, 20, 30, 40, 100], [True, True, False, True, True])
    (cell,) = summarise(table).rows()
    assert cell["trials"] == 5
    assert cell["mean"] == 40
    assert cell["sd"] == pytest.approx(np.std([10, 20, 30, 40, 100], ddof=1))
    assert (cell["q10"], cell["q50"], cell["q90"]) == pytest.approx((14, 30, 76))
    assert (cell["errors"], cell["error_rate"]) == (1, 0.2)
    assert (cell["seconds"], cell["lower_bound"], cell["ratio"]) == (0.5, 10, 4)
    assert (cell["guarantee"], cell["stopped_early"], cell["failed"]) == ("pac", 0, 0)


def test_trials_cut_short_can_be_left_out_of_the_pulls_but_not_of_the_errors():
    table = rows([10, 30, 10**9], [True, True, False], guarantee=["pac", "pac", "none"])
    (cell,) = summarise(table, own_stops_only=True).rows()
    assert (cell["trials"], cell["mean"], cell["ratio"]) == (3, 20, 2)
    assert (cell["errors"], cell["stopped_early"]) == (1, 1)
    only = rows([7, 9], [True, True], guarantee=["none", "none"])
    assert summarise(only, own_stops_only=True)["mean"].tolist() == [8]


def test_failed_trials_are_counted_and_left_out():
    table = rows(
        [10, 0, 30],
        [True, False, True],
        failed=["", "it broke", ""],
        guarantee=["pac", "none", "none"],
        seconds=[1.0, np.nan, 2.0],
    )
    (cell,) = summarise(table).rows()
    assert (cell["trials"], cell["failed"], cell["errors"], cell["mean"]) == (2, 1, 0, 20)
    assert (cell["stopped_early"], cell["guarantee"], cell["seconds"]) == (1, "pac", 1.5)


def test_where_all_trials_failed_nothing_is_claimed():
    (cell,) = summarise(rows([0, 0], [False, False], failed=["x", "x"])).rows()
    assert cell["trials"] == 0
    assert np.isnan([cell["mean"], cell["ratio"], cell["error_rate"]]).all()
    assert (cell["error_low"], cell["error_high"]) == (0, 1)


def test_one_row_for_each_combination_in_order():
    plan = Plan(["rage", "peleg"], ["standard:gap=1"], [0.2, 0.1], trials=2)
    summary = summarise(run_plan(plan))
    assert summary["algorithm"].tolist() == ["rage", "peleg"] * 2
    assert summary["delta"].tolist() == [0.2, 0.2, 0.1, 0.1]
    assert summary["ratio"].tolist() == pytest.approx(
        (summary["mean"] / summary["lower_bound"]).tolist()
    )
    assert len(summarise(Table({}))) == 0


@pytest.mark.parametrize(("errors", "n"), [(0, 20), (1, 20), (7, 50), (20, 20)])
def test_clopper_pearson_is_exact(errors, n):
    low, high = clopper_pearson(errors, n, 0.95)
    if errors:
        assert binom.sf(errors - 1, n, low) == pytest.approx(0.025)
    else:
        assert low == 0
    if errors < n:
        assert binom.cdf(errors, n, high) == pytest.approx(0.025)
    else:
        assert high == 1


def test_files_hold_what_the_table_holds(tmp_path):
    table = summarise(rows([10, 20], [True, False], lower_bound=[np.nan, np.nan]))
    write_csv(table, tmp_path / "t.csv")
    with (tmp_path / "t.csv").open() as file:
        (read,) = csv.DictReader(file)
    assert (read["mean"], read["errors"], read["ratio"]) == ("15.0", "1", "")
    assert float(read["error_high"]) == table["error_high"][0]
    write_parquet(table, tmp_path / "t.parquet")
    import pandas

    frame = pandas.read_parquet(tmp_path / "t.parquet")
    assert list(frame.columns) == list(table.columns)
    assert frame["mean"][0] == 15.0
    assert {p.name for p in tmp_path.iterdir()} == {"t.csv", "t.parquet"}


def test_parquet_without_its_libraries_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"surepick\[pandas\]"):
        write_parquet(rows([1], [True]), tmp_path / "t.parquet")
