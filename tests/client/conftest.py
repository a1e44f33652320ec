"""One service for all tests of clients; each has studies of its own."""

import shutil

import pytest
from tests.postgres import fast_folder
from tests.server.served import Served


@pytest.fixture(scope="package")
def service():
    folder = fast_folder("sp-client-")
    with Served(f"sqlite:///{folder}/studies.db", folder, "--rate", "100000") as served:
        yield served
    shutil.rmtree(folder)
