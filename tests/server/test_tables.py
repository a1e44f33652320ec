"""Complete tables over HTTP: each question, the same as in the library."""

import numpy as np
import pytest
from tests.breadth import first

import surepick as sp
from surepick.errors import InvalidInputError

N = 40
TABLE = (np.random.default_rng(5).random((4, N)) < np.linspace(0.2, 0.9, 4)[:, None]).astype(float)
QUESTIONS = {
    "best": {},
    "top": {"top": 2},
    "baseline": {"baseline": "b"},
    "threshold": {"threshold": 0.5},
}


def finish(study):
    cells = set()
    while not study.finished:
        for pull in study.ask(5):
            assert (pull.arm, pull.item) not in cells
            cells.add((pull.arm, pull.item))
            study.tell(pull.id, TABLE[pull.arm, pull.item])


@pytest.mark.validation
@pytest.mark.parametrize("asked", first(2, list(QUESTIONS)))
def test_a_service_finds_the_same(service, asked):
    problem = sp.Problem.unstructured(list("abcd"), noise="yes-no")
    settings = QUESTIONS[asked] | {"complete": N, "seed": 3}
    with service.client(patience=20) as client:
        there = client.create_study(f"table {asked}", problem, **settings)
        here = sp.create_study(asked, problem, storage="memory://tables", **settings)
        for study in (there, here):
            finish(study)
        assert there.answer.to_dict() == here.answer.to_dict()
        assert there.answer.on_items["items"] == N
        assert f"on these {N} items" in there.answer.plain
        assert sp.verify(there.answer.certificate(), replay=True).replayed
        if asked == "best":
            with pytest.raises(InvalidInputError, match="bounds"):
                client.create_study("no bounds", sp.Problem.unstructured(3), complete=N)
