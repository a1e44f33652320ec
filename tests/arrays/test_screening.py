"""Single precision passes over nobody: what is found is what double precision finds alone."""

import numpy as np
import pytest

from surepick.arrays import cutoffs, screening
from surepick.arrays.backend import HOST
from surepick.arrays.tables import mark_checked


def table_of(rng, count=60_000, dim=8, spread=0.0, twins=0):
    rows = rng.standard_normal((count, dim)) * np.exp(spread * rng.standard_normal(dim))
    if twins:
        rows[rng.integers(count, size=twins)] = rows[7]
    mark_checked(rows)
    return rows


def both(monkeypatch, table, *given):
    """What is found with single precision, and without; how many rows were looked at again."""
    looked_at, values = [], screening._values

    def counted(backend, rows, *others):
        looked_at.append(len(rows))
        return values(backend, rows, *others)

    monkeypatch.setattr(screening, "_values", counted)
    monkeypatch.setattr(cutoffs, "SCREENED_ENTRIES", (1 << 12, 1 << 28))
    found = screening.longest(HOST, table, *given)
    monkeypatch.setattr(cutoffs, "SCREENED_ENTRIES", (1 << 60, 1 << 61))
    plain = screening.longest(HOST, table, *given)
    assert looked_at[1] == len(table)
    return found, plain, looked_at[0]


@pytest.mark.some(6)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limit", [1, 300])
def test_the_same_rows_with_the_same_values(monkeypatch, seed, limit):
    rng = np.random.default_rng(seed)
    table = table_of(rng, spread=0.5 * (seed % 3), twins=40 * (seed % 2))
    root = np.linalg.qr(rng.standard_normal((8, 8)))[0] * np.exp(rng.standard_normal(8))
    centre = table[11] if seed % 2 else None
    scales = rng.random(len(table)) * (rng.random(len(table)) < 0.3) if seed > 2 else None
    found, plain, looked_at = both(monkeypatch, table, root, limit, centre, scales)
    assert found[0].tolist() == plain[0].tolist()
    np.testing.assert_allclose(found[1], plain[1], rtol=1e-12)
    assert limit <= looked_at < len(table) / 10


def test_twins_come_in_their_order(monkeypatch):
    rng = np.random.default_rng(1)
    table = table_of(rng, twins=500)
    table[:2000] = table[7]  # many more alike than are asked for
    table *= np.where(np.arange(len(table)) < 2000, 9.0, 1.0)[:, None]
    found, plain, _ = both(monkeypatch, table, np.eye(8), 100)
    assert found[0].tolist() == plain[0].tolist() == list(range(100))


@pytest.mark.parametrize("size", [1e-30, 1e-9, 1e11, 1e30])
def test_what_single_precision_cannot_hold_is_left_to_double(monkeypatch, size):
    table = table_of(np.random.default_rng(2))
    _, _, looked_at = both(monkeypatch, table, size * np.eye(8), 10)
    assert looked_at == len(table)


def test_where_rounding_hides_too_much_everybody_is_looked_at(monkeypatch):
    rng = np.random.default_rng(3)
    table = rng.standard_normal((60_000, 8)) * 1e-6 + 1000.0  # all alike beside their size
    mark_checked(table)
    found, plain, looked_at = both(monkeypatch, table, np.eye(8), 10, table[0])
    assert found[0].tolist() == plain[0].tolist()
    assert looked_at == len(table)


def test_a_table_that_may_change_has_no_copy(monkeypatch):
    table = np.random.default_rng(4).standard_normal((60_000, 8))
    *_, looked_at = both(monkeypatch, table, np.eye(8), 10)
    assert looked_at == len(table)


def test_a_table_in_a_file_has_no_copy(monkeypatch, tmp_path):
    np.save(tmp_path / "t.npy", np.random.default_rng(5).standard_normal((60_000, 8)))
    table = np.load(tmp_path / "t.npy", mmap_mode="r").view()
    mark_checked(table)
    *_, looked_at = both(monkeypatch, table, np.eye(8), 10)
    assert looked_at == len(table)
