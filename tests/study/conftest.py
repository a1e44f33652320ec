import pytest
from tests.study import toy

from surepick.algorithms import registry


@pytest.fixture(autouse=True)
def toy_algorithm(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))
    toy.register()


@pytest.fixture
def make(storage_url):
    """Create a toy study in a storage of each kind."""
    import surepick as sp

    def make(name="toy study", n_arms=3, each=2, **settings):
        algorithm = toy.Toy(0.1, each=each)
        return sp.create_study(name, toy.problem(n_arms), algorithm, storage_url, **settings)

    return make
