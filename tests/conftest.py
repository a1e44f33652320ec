import gc
import os
import shutil
import uuid
import zlib

import pytest
from hypothesis import settings
from tests.breadth import mark_the_rest
from tests.forks.client import ADDRESS, Parent
from tests.postgres import Server, fast_folder

from surepick.calls.kept import VARIABLE
from surepick.run import Run, order

# The same examples on every machine and in every run; kernels compile on first use: no deadline.
settings.register_profile("surepick", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("surepick")

STORAGES = ("memory", "sqlite", "postgresql")
SHARED = STORAGES[1:]  # that several processes can share
# Tests that take long or wait for a browser come first: the short ones are shared out in the end,
# and all processes finish together.
_FIRST = (
    "tests/docs/test_pages.py",
    "tests/docs/test_site.py",
    "tests/server/page/",
    "tests/server/test_processes.py",
    "tests/cli/test_reproduce.py",
    "tests/study/test_crashes.py",
)


# What is about storages themselves runs on each of them.
_EVERY_STORAGE = (
    "tests/conformance/",
    "tests/storage/",
    "tests/study/test_machine.py",
    "tests/study/test_crashes.py",
    "tests/study/traffic/test_crashes.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if not item.nodeid.startswith(_EVERY_STORAGE) and not _is_its_turn(item):
            item.add_marker(pytest.mark.validation)
    mark_the_rest(items)
    items.sort(key=lambda item: not item.nodeid.startswith(_FIRST))


def _is_its_turn(item):
    """Whether a test of studies runs on this storage every time; on the others: make validate.

    They take turns by the names of tests: the quicker one is, the more use it.
    """
    given = item.callspec.params if hasattr(item, "callspec") else {}
    chosen = str([mark.args[0] for mark in item.iter_markers("parametrize")])
    for fixture, kinds in (("storage_url", STORAGES), ("shared_url", SHARED)):
        if fixture in given and fixture not in chosen:
            name = item.nodeid.replace(given[fixture], "")
            turns = [kind for i, kind in enumerate(reversed(kinds)) for _ in range(i + 1)]
            return given[fixture] == turns[zlib.crc32(name.encode()) % len(turns)]
    return True


def pytest_collectstart():
    """Until all tests are read, nothing is garbage; a process that hands them out reads none."""
    gc.disable()


def pytest_collection_finish():
    """All that was loaded to read the tests stays: it need not be gone through for garbage again.

    These are hundreds of thousands of objects: a tenth of the time of short tests went into it.
    What tests leave behind is looked through less often than Python would by itself, which took
    another fifteenth.
    """
    gc.freeze()
    gc.set_threshold(50_000, 50, 50)
    gc.enable()


_fresh_seed = order.fresh_seed


def pytest_configure(config):
    """One parent of forks for all processes of tests: these are started with its address.

    Orders of pulls that are not seeded are the same each time; ``drawn_orders`` has them drawn.
    """
    order.fresh_seed = lambda: 0
    os.environ[VARIABLE] = "none"  # what a test keeps, it keeps in a folder of its own
    if ADDRESS not in os.environ:
        parent = Parent()
        os.environ[ADDRESS] = parent.address
        config.add_cleanup(parent.close)
        config.add_cleanup(lambda: os.environ.pop(ADDRESS))


@pytest.fixture(autouse=True, scope="session")
def shares_of_delta():
    """Whenever a test comes to an answer, what is said beside it has no more than delta."""
    conclude = Run.conclude

    def added_up(self, *args, **kwargs):
        risks = self.risks()  # which refuses shares that are too large
        assert all(one.risk <= self.algorithm.delta for one in risks), risks
        # What stands beside the answer and does not say that its risk is its own shares that.
        together = [one.total for one in risks if not one.own]
        assert sum(together) <= self.algorithm.delta * (1 + 1e-12), risks
        return conclude(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "conclude", added_up)
        yield


@pytest.fixture
def drawn_orders(monkeypatch):
    """Orders are drawn afresh, as they are for everybody."""
    monkeypatch.setattr(order, "fresh_seed", _fresh_seed)


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of this test process."""
    server = Server()
    yield server
    server.close()


@pytest.fixture
def backend(request):
    """The backend of a name, loaded by the tests that use it: every process reads every file."""
    from surepick.arrays.backend import backend_named

    return backend_named(request.param)


@pytest.fixture
def database_folder():
    """A folder for a database."""
    folder = fast_folder("sp-db-")
    yield folder
    shutil.rmtree(folder)


def _url(kind, request):
    if kind == "memory":
        return f"memory://{uuid.uuid4()}"
    if kind == "sqlite":
        return f"sqlite:///{request.getfixturevalue('database_folder')}/studies.db"
    return request.getfixturevalue("postgres").url()


@pytest.fixture(params=STORAGES)
def storage_url(request):
    """An empty storage of each kind."""
    return _url(request.param, request)


@pytest.fixture(params=SHARED)
def shared_url(request):
    """An empty storage of each kind that several processes can share."""
    return _url(request.param, request)
