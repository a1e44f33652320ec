"""The kernel, run by Triton's interpreter: what it computes does not depend on the processor."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def kernels():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")  # read when the kernel is defined
        from surepick.arrays import gpu_kernels

        yield gpu_kernels


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("count", "dim", "rank"), [(1, 1, 1), (5, 2, 2), (130, 12, 9), (257, 64, 64), (100, 100, 40)]
)
def test_it_is_the_squared_length_of_the_image(kernels, count, dim, rank):
    import torch

    rng = np.random.default_rng(count)
    x, root, offset = (rng.normal(size=shape) for shape in ((count, dim), (dim, rank), (rank,)))
    arrays = [torch.tensor(array) for array in (x, root, offset)]
    assert kernels.fits(*arrays[:2])
    found = kernels.quadratic(*arrays).numpy()
    np.testing.assert_allclose(found, ((x @ root - offset) ** 2).sum(axis=1), rtol=1e-12)


def test_a_transposed_root_will_do(kernels):
    import torch

    rng = np.random.default_rng(0)
    x, root = torch.tensor(rng.normal(size=(70, 3))), torch.tensor(rng.normal(size=(3, 3)))
    found = kernels.quadratic(x, root.T, torch.zeros(3, dtype=torch.float64))
    np.testing.assert_allclose(found, ((x @ root.T) ** 2).sum(dim=1), rtol=1e-12)


def test_what_it_does_not_take(kernels):
    import torch

    wide = torch.zeros((4, 200), dtype=torch.float64)
    assert not kernels.fits(wide, torch.eye(200, dtype=torch.float64))
    assert not kernels.fits(wide.T[:, :3], torch.eye(3, dtype=torch.float64))  # not in row order
    assert not kernels.fits(wide[:, :3].contiguous(), torch.eye(3))  # float32
