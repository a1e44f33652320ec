"""A few random requests of every kind; benchmarks/service_fuzz.py sends a thousand of each."""

import shutil

import pytest
from tests.postgres import fast_folder
from tests.server.fuzz import fuzz, operations
from tests.server.served import Served

CASES = 3


@pytest.fixture(scope="module")
def fuzzed():
    folder = fast_folder("sp-fuzz-")
    limits = ("--rate", "100000", "--stranger-rate", "10000", "--plan-seconds", "1")
    with Served(f"sqlite:///{folder}/studies.db", folder, *limits) as served:
        yield served, operations(served)
    shutil.rmtree(folder)


def test_the_description_covers_all_that_is_promised(fuzzed):
    _, found = fuzzed
    study = "/api/v1/studies/{name}"
    promised = ["GET /health", "GET /metrics", "POST /api/v1/plan", "POST /api/v1/tables"]
    promised += [f"{method} /api/v1/studies" for method in ("GET", "POST")]
    promised += [f"{method} /api/v1/session" for method in ("GET", "POST", "DELETE")]
    promised += ["GET /api/v1/tokens", "POST /api/v1/tokens", "DELETE /api/v1/tokens/{id}"]
    promised += [f"POST {study}/{what}" for what in ("ask", "tell", "fail", "verify")]
    for what in ("history", "answer", "certificate", "export", "events", "stream"):
        promised.append(f"GET {study}/{what}")
    assert set(promised) <= set(found)


@pytest.mark.validation
@pytest.mark.parametrize("mode", ["valid", "invalid"])
def test_random_requests(fuzzed, mode):
    served, found = fuzzed
    for name, operation in found.items():
        try:
            fuzz(served, operation, CASES, mode)
        except Exception as error:
            error.add_note(f"{mode} requests to {name}")
            raise
    with served.http() as http:
        assert http.get("/health").status_code == 200
    assert '"level": "error"' not in served.log.read_text()
