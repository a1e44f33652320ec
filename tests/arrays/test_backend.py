"""PyTorch gives what NumPy gives; nothing large is copied; memory is asked for first.

PyTorch is loaded by the tests that use it: it takes seconds, and every process reads this file.
"""

import numpy as np
import pytest
import scipy.special

import surepick as sp
from surepick.arrays import backend, memory
from surepick.arrays.backend import HOST, backend_named, backend_of
from surepick.errors import InvalidInputError, InvalidTypeError, OutOfMemoryError, UnknownNameError
from surepick.problem.duplicates import first_equal
from surepick.problem.labels import RowNumbers
from surepick.proof.payoffs.normal import array_log_payoff, log_payoff


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((5000, 7))


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_scans_are_what_they_say(name, rows):
    backend = backend_named(name)
    root = np.random.default_rng(1).standard_normal((7, 3))
    centre, weights = rows[3], np.random.default_rng(2).random(len(rows))
    there = backend.put(rows)
    expected = (((rows - centre) @ root) ** 2).sum(axis=1)
    np.testing.assert_allclose(
        backend.host(backend.quadratic(there, root, centre)), expected, atol=1e-12
    )
    np.testing.assert_allclose(
        backend.gram(there, backend.put(weights)), (rows.T * weights) @ rows, rtol=1e-10
    )
    np.testing.assert_allclose(backend.host(backend.image(there, root)), rows @ root, atol=1e-12)
    apart = backend.host(backend.distances(there, root, rows[:4]))
    np.testing.assert_allclose(apart[:, 3], expected, atol=1e-12)
    own = apart[np.arange(4), np.arange(4)]  # products of one row may differ in their last digits
    assert own.max() <= 1e-28 * expected.max()
    found, values = backend.largest(backend.put(expected), 20)
    assert found.tolist() == np.argsort(-expected)[:20].tolist()
    assert values.tolist() == expected[found].tolist()
    np.testing.assert_array_equal(backend.rows(there, np.array([5, 2])), rows[[5, 2]])


def test_payoffs_of_both_libraries_agree():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=2000) * 30, rng.exponential(size=2000) + 0.01]
    parts += [rng.normal(size=2000) * 30, rng.exponential(size=2000)]
    there = backend_named("torch")
    ours = there.host(array_log_payoff(there, *(there.put(part) for part in parts)))
    np.testing.assert_allclose(ours, log_payoff(*parts), rtol=1e-10, atol=1e-10)


def test_arrays_find_their_backend():
    import torch

    assert backend_of(np.ones(3)) is HOST
    assert backend_of([[1.0]]) is HOST
    assert backend_of(torch.ones(3)) == backend_named("torch")
    assert backend_named("numpy") is HOST


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("tensorflow", UnknownNameError, "unknown backend 'tensorflow'"),
        ("torch:tpu", UnknownNameError, "unknown backend 'torch:tpu'"),
        (3, InvalidTypeError, "backend must be a name"),
        ("torch:cuda", InvalidInputError, "PyTorch sees no CUDA device"),
    ],
)
def test_backends_that_are_not_there(name, error, message):
    import torch

    if name == "torch:cuda" and torch.cuda.is_available():
        assert backend_named(name).on_gpu
        return
    with pytest.raises(error, match=message):
        backend_named(name)


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_coordinates_do_not_depend_on_the_backend(backend, rows):
    scaled = rows * 10.0 ** np.arange(-3, 4)
    plain, other = (
        sp.Problem(scaled, noise=1.0),
        sp.Problem(scaled, backend=backend, large=True, noise=1.0),
    )
    features = other.backend.host(other.features)
    # whitened coordinates are unique up to a rotation
    np.testing.assert_allclose(
        features[:50] @ features[:50].T, plain.features[:50] @ plain.features[:50].T, atol=1e-8
    )
    assert other.rank == plain.rank == 7
    assert other.digest == plain.digest
    assert np.linalg.matrix_rank(features[other.spanning_arms]) == 7


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_arms_on_a_plane_are_recognised_block_by_block(backend, rows):
    flat = np.hstack([rows, rows @ np.ones((7, 1)), rows[:, :1] * 1e-9])
    problem = sp.Problem(flat, backend=backend, large=True, noise=1.0)
    assert problem.rank == 7 == sp.Problem(flat[:50], noise=1.0).rank
    with pytest.raises(InvalidInputError, match=r"row 1 .* lies outside the span"):
        sp.Problem(
            flat,
            candidates=np.vstack([flat[0], np.eye(9)[8]]),
            backend=backend,
            large=True,
            noise=1.0,
        )


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_duplicates_are_found_by_a_sort(backend, rows):
    doubled = np.vstack([rows, rows[[17, 4]], rows[[17]] * (1 + 1e-15)])
    problem = sp.Problem(doubled, backend=backend, large=True, noise=1.0)
    assert problem.duplicate_candidates == ((4, 5001), (17, 5000, 5002))
    assert len(problem.distinct) == 5000
    first = first_equal(doubled, HOST)
    assert first[[5000, 5001, 5002]].tolist() == [17, 4, 17]


def test_large_arms_are_not_copied(tmp_path):
    import torch

    arms = np.random.default_rng(0).standard_normal((9000, 4))
    problem = sp.Problem(arms, noise=1.0)
    assert np.shares_memory(problem.arms, arms)
    assert arms.flags.writeable
    assert not problem.arms.flags.writeable
    np.save(tmp_path / "arms.npy", arms)
    mapped = np.load(tmp_path / "arms.npy", mmap_mode="r")
    assert np.shares_memory(sp.Problem(mapped, noise=1.0).arms, mapped)
    assert sp.Problem(mapped, noise=1.0) == problem
    tensor = torch.from_numpy(arms)
    assert sp.Problem(tensor, noise=1.0).arms.data_ptr() == tensor.data_ptr()


def test_a_bad_entry_far_down_is_named():
    import torch

    arms = np.ones((20_000, 4))
    arms[15_001, 2] = np.nan
    for given in (arms, torch.from_numpy(arms)):
        with pytest.raises(InvalidInputError, match="arms at row 15001, column 2 is nan"):
            sp.Problem(given, noise=1.0)


def test_parquet_is_read_once(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    arms = np.random.default_rng(0).standard_normal((3000, 3))
    names = [f"item {i}" for i in range(3000)]
    table = pa.table({"name": names} | {f"f{j}": arms[:, j] for j in range(3)})
    pq.write_table(table, tmp_path / "arms.parquet", row_group_size=500)
    assert sp.Problem.from_parquet(tmp_path / "arms.parquet", noise=1.0) == sp.Problem(
        arms, noise=1.0
    )
    some = sp.Problem.from_parquet(tmp_path / "arms.parquet", features=["f2", "f0"], noise=2.0)
    np.testing.assert_array_equal(some.arms, arms[:, [2, 0]])
    assert some.noise == 2.0
    with pytest.raises(InvalidInputError, match="no column 'g'"):
        sp.Problem.from_parquet(tmp_path / "arms.parquet", features=["g"], noise=1.0)


def test_row_numbers_are_made_when_looked_at():
    labels = sp.Problem(np.arange(40_000.0)[:, None] + 1, noise=1.0).labels
    assert isinstance(labels, RowNumbers)
    assert (labels[-1], labels[3:5], len(labels)) == ("39999", ("3", "4"), 40_000)
    assert "17" in labels
    assert "017" not in labels
    assert labels == tuple(str(i) for i in range(40_000))
    assert labels != tuple(str(i) for i in range(39_999))


def test_an_error_before_memory_runs_out(monkeypatch):
    monkeypatch.setattr("surepick.arrays.backend.free_memory", lambda: 1_000_000)
    with pytest.raises(OutOfMemoryError, match=r"need 3\.2 MB, but only 1\.0 MB .* 11,875 rows"):
        sp.Problem(np.ones((40_000, 10)) + np.random.default_rng(0).random((40_000, 10)), noise=1.0)


def test_free_memory_is_the_least_of_all_limits():
    files = {
        "/proc/meminfo": ["MemTotal: 9 kB", "MemAvailable: 5000 kB"],
        "/sys/fs/cgroup/memory.max": ["3000000"],
        "/sys/fs/cgroup/memory.current": ["1000000"],
    }

    def free():
        return memory.free_memory(lambda path: files.get(path, []))

    assert free() == 2_000_000
    files["/sys/fs/cgroup/memory.max"] = ["max"]
    assert free() == 5_120_000
    files.clear()
    assert free() is None


def test_the_scaled_complement_of_a_gpu_is_that_of_scipy():
    torch = pytest.importorskip("torch")
    x = np.concatenate([np.linspace(0.0, 30.0, 3001), np.geomspace(1.0, 1e8, 300)])
    ours = backend._torch_erfcx(torch.tensor(x)).numpy()
    np.testing.assert_allclose(ours, scipy.special.erfcx(x), rtol=3e-13)
