import shutil

import pytest
from tests.postgres import fast_folder
from tests.server.served import OPTIONS, Served


@pytest.fixture(scope="session")
def service():
    """A service on an SQLite file, shared by the tests of this process."""
    folder = fast_folder("sp-serve-")
    limits = ("--rate", "100000", "--stranger-rate", "10000")
    with Served(f"sqlite:///{folder}/studies.db", folder, *limits) as served:
        yield served
    shutil.rmtree(folder)


@pytest.fixture
def http(service):
    """An admin's HTTP client."""
    with service.http() as client:
        yield client


@pytest.fixture
def study(http, request):
    """The name of a new study of four options, of which d is the best."""
    name = request.node.name[:150]
    made = http.post(
        "/api/v1/studies",
        json={"name": name, "table": {"csv": OPTIONS, "features": ["price"]}, "noise": 0.5},
    )
    assert made.status_code == 201, made.text
    return name
