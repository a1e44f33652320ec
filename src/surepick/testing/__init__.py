"""Suites for what others build: storages and algorithms of their own.

Each check is a plain function that raises ``AssertionError`` with the reason. With pytest::

    import pytest
    from surepick import testing

    @pytest.mark.parametrize("check", testing.storage_checks())
    def test_my_storage(check, tmp_path):
        check(lambda: MyStorage(tmp_path / "studies"))

    @pytest.mark.parametrize("check", testing.algorithm_checks())
    def test_my_algorithm(check):
        check(MyAlgorithm)

See :mod:`surepick.storage` and :mod:`surepick.algorithms` for what there is to build.
"""

from surepick.simulate.conformance import checks as algorithm_checks
from surepick.testing.storages import storage_checks

__all__ = ["algorithm_checks", "storage_checks"]
