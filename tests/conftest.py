import shutil
import uuid

import pytest
from hypothesis import settings
from tests.postgres import Server, fast_folder

# The same examples on every machine and in every run; kernels compile on first use: no deadline.
settings.register_profile("surepick", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("surepick")


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of this test process."""
    server = Server()
    yield server
    server.close()


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


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def storage_url(request):
    """An empty storage of each kind."""
    return _url(request.param, request)


@pytest.fixture(params=["sqlite", "postgresql"])
def shared_url(request):
    """An empty storage of each kind that several processes can share."""
    return _url(request.param, request)
