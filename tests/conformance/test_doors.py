"""One study, four doors: the library, the command, the client, and plain requests.

Whatever one of them accepts, all accept, and the same is stored; what one refuses, all refuse
with the same sentence. The client and the requests go to a real service.
"""

import json
import shutil

import pytest
from tests.cli.conftest import folder, surepick  # noqa: F401
from tests.postgres import fast_folder
from tests.server.served import Served

import surepick as sp
from surepick.algorithms import registry
from surepick.errors import SurepickError
from surepick.study import OptionTable, StudySpec, store

OPTIONS = "label,price,colour\na,1,red\nb,2,blue\nc,3,red\nd,4,blue\n"
PAST = "label,reward\n" + "".join(f"{label},{k + 1}\n" for k, label in enumerate("abcd")) * 2
HOW = ("features", "formula", "label", "unstructured")  # features are made of a table
DOORS = ("library", "command", "client", "requests")
# The fields of a spec whose table is options.csv.
ACCEPTED = [
    {"features": "price"},
    {"features": ["price"], "noise": 0.5, "delta": 0.1, "epsilon": 0.01},
    {"formula": "price + C(colour)", "label": "label", "max_samples": 500},
    {"unstructured": True, "algorithm": "peleg-paper", "seed": 3, "noise": 1.0},
    {"features": "price", "algorithm": "pooled-peleg", "settings": {"max_batch": 8}},
    {"features": "price", "algorithm": "rage", "settings": {"delta": 0.2}, "noise": 0.3},
    {"features": "price", "check_fit": 1.5},
    {"features": "price", "noise": "equal"},
    {"features": "price", "noise": "equal", "check_fit": 2.0},
    {"features": "price", "noise": "yes-no", "delta": 0.2},
    {"unstructured": True, "noise": "yes-no", "algorithm": "peleg"},
    {"features": "price", "noise": (0.0, 10.0)},
    {"features": "price", "misfit": "any"},
    {"features": "price", "noise": "yes-no", "traffic": {"at_least": "5%", "window": "7d"}},
    {"unstructured": True, "traffic": {"control": "b", "control_share": "20%"}},
    {"features": "price", "misfit": 0.0},
    {"features": "price", "misfit": 0.1, "noise": "yes-no"},
    {"features": "price", "noise": (-1.0, 0.5), "check_fit": 1.0},
    {"features": "price", "noise": [0.1, 0.2, 0.1, 0.3]},
    {"features": "price", "overlap": True},
    {"unstructured": True, "overlap": False},
    {"features": "price", "minimise": True},
    {"unstructured": True, "minimise": True, "noise": "yes-no", "traffic": {"at_least": "5%"}},
    {"features": "price", "hedge": True},
    {"features": "price", "again": True},
    {"features": "price", "past": "past.csv", "past_chosen": "in advance", "noise": (0.0, 4.0)},
    {"features": "price", "past": "past.csv", "past_chosen": "in advance"},
    {"features": "price", "past": "past.csv", "past_chosen": "by-results", "noise": 2.0},
]
REFUSED = [
    {"name": " s"},
    {"name": "."},
    {"features": "size"},
    {"features": "price", "formula": "price"},
    {"features": "price", "unstructured": True},
    {"algorithm": "pelge"},
    {"settings": {"speed": 3}},
    {"delta": 0.0},
    {"delta": 1.5},
    {"delta": 0.1, "settings": {"delta": 0.2}},
    {"epsilon": -1.0},
    {"max_samples": 0},
    {"max_samples": 2**62},
    {"noise": 0.0},
    {"noise": "estimate"},
    {"noise": [1.0, 2.0]},
    {"noise": [1.0, 2.0, 0.0, 1.0]},
    {"noise": (1.0, 1.0)},
    {"algorithm": "peleg"},
    {"algorithm": "peleg", "noise": "equal"},
    {"past": "past.csv", "past_chosen": "in advance", "noise": "yes-no"},
    {"past": "past.csv", "past_chosen": "by results", "noise": (0.0, 3.5)},
    {"misfit": -1.0},
    {"misfit": 0.1, "unstructured": True},
    {"misfit": 0.1, "algorithm": "rage", "noise": 1.0},
    {"misfit": "any", "check_fit": 1.0},
    {"traffic": {"control": "z"}, "noise": "yes-no"},
    {"traffic": {"at_least": "500%"}, "noise": "yes-no"},
    {"traffic": {"window": "soon"}, "noise": "yes-no"},
    {"traffic": {"at_least": "1%"}, "algorithm": "rage", "noise": 1.0},
    {"overlap": True, "algorithm": "rage", "noise": 1.0},
    {"overlap": True, "settings": {"max_batch": 8}},
    {"hedge": True, "strata": "day"},
    {"hedge": True, "again": True},
    {"again": True, "noise": "yes-no"},
    {"hedge": True, "traffic": {"at_least": "1%"}, "noise": "yes-no"},
    {"overlap": True, "traffic": {"at_least": "1%"}, "noise": "yes-no"},
    {"check_fit": 0.0},
    {"check_fit": 1.0, "unstructured": True},
    {"past": "past.csv"},
    {"past": "past.csv", "past_chosen": "somehow"},
    {"past_chosen": "in advance"},
    {"past": "past.csv", "past_chosen": "in advance", "algorithm": "peleg"},
    {"past": "options.csv", "past_chosen": "in advance"},
    {"seed": -1},
    {"seed": 2**63},
]


@pytest.fixture(scope="module")
def service():
    place = fast_folder("sp-doors-")
    with Served(f"sqlite:///{place}/studies.db", place, "--rate", "100000") as served:
        yield served
    shutil.rmtree(place)


@pytest.fixture
def doors(service, folder, surepick, monkeypatch):  # noqa: F811
    """Ways to create a study: each returns where it is, or the sentence of the refusal."""
    # Algorithms of other tests in this process, which the service would not know.
    monkeypatch.setattr(registry, "_REGISTERED", {})
    (folder / "past.csv").write_text(PAST)

    def library(name, fields):
        how = {key: fields.pop(key) for key in HOW if key in fields}
        spec = StudySpec(name=name, table=OptionTable.of("options.csv", **how), **fields)
        store(spec, "sqlite:///library.db").close()
        return "sqlite:///library.db"

    def command(name, fields):
        settings = fields.pop("settings", None)
        if settings:
            text = ",".join(f"{key}={value}" for key, value in settings.items())
            fields["algorithm"] = f"{fields.get('algorithm', 'pooled-peleg')}:{text}"
        noise = fields.pop("noise", None)
        if noise == "yes-no" or isinstance(noise, tuple):
            fields["rewards"] = noise if isinstance(noise, str) else "..".join(map(str, noise))
        elif noise is not None:
            fields["noise"] = ",".join(map(str, noise)) if isinstance(noise, list) else noise
        if "traffic" in fields:
            fields |= fields.pop("traffic") | {"traffic": None}
        overlap = fields.pop("overlap", None)
        if overlap is not None:
            fields["overlap" if overlap else "no_overlap"] = None
        for flag in ("unstructured", "hedge", "again", "minimise"):
            if fields.pop(flag, False):
                fields[flag] = None  # an option without a value
        if isinstance(fields.get("features"), list):
            fields["features"] = ",".join(fields["features"])
        words = [f"--{key.replace('_', '-')}" + ("" if value is None else f"={value}")
                 for key, value in fields.items()]  # fmt: skip
        code, _, err = surepick("new", name, "options.csv", *words, "--json")
        if code:
            raise SurepickError(err.removeprefix("error: ").removesuffix("\n"))
        return "sqlite:///surepick.db"

    def client(name, fields):
        with service.client(patience=5) as one:
            one.create_study(name, table="options.csv", **fields)
        return service.storage

    def requests(name, fields):
        table = {"csv": OPTIONS} | {key: fields.pop(key) for key in HOW if key in fields}
        if "past" in fields:
            source = fields["past"]
            fields["past"] = {"csv": (folder / source).read_text(), "source": source}
        if isinstance(fields.get("noise"), tuple):
            fields["noise"] = dict(zip(("low", "high"), fields["noise"]))
        body = {"name": name, "table": table, "source": "options.csv", **fields}
        with service.http() as http:
            found = http.post("/api/v1/studies", json=body)
        if found.status_code != 201:
            assert found.status_code == 422
            raise SurepickError(found.json()["error"]["message"])
        return service.storage

    return {"library": library, "command": command, "client": client, "requests": requests}


def stored(name, url):
    """Everything that the study has in its database, less what is drawn at random."""
    with sp.load_study(name, url) as study:
        read = study.storage.read
        found = read(lambda tx: tx.find_study(name))
        run = json.loads(read(lambda tx: tx.snapshot(found.id))[1])
        meta, drawn = json.loads(found.meta), ("id", "order")
        assert run["order"] == meta.pop("order_seed", None)
        return {
            "algorithm": found.algorithm,
            "settings": json.loads(found.settings),
            "problem": json.loads(found.problem),
            "seed": found.seed,
            "meta": meta,
            "past": read(lambda tx: tx.past(found.id)),
            "batch": read(lambda tx: tx.batch(found.id, 0)),
            "run": {key: value for key, value in run.items() if key not in drawn},
        }


@pytest.mark.some(6)
@pytest.mark.parametrize("fields", ACCEPTED, ids=str)
def test_what_one_accepts_all_accept_and_store_alike(doors, fields):
    found = {}
    for door in DOORS:
        name = f"{door} {ACCEPTED.index(fields)}"
        found[door] = stored(name, doors[door](name, dict(fields)))
    for door in DOORS[1:]:
        assert found[door] == found["library"], door


@pytest.mark.some(8)
@pytest.mark.parametrize("fields", REFUSED, ids=str)
def test_what_one_refuses_all_refuse_in_the_same_words(doors, fields):
    said = {}
    for door in DOORS:
        given = {"features": "price"} if fields.keys().isdisjoint(HOW) else {}
        with pytest.raises(SurepickError) as refused:
            doors[door](fields.get("name", "refused"), given | _nameless(fields))
        said[door] = str(refused.value)
    assert set(said.values()) == {said["library"]}, said
    assert "name" in said["library"] or "name" not in fields


@pytest.mark.some(6)
@pytest.mark.parametrize("fields", [{}, {"noise": "estimate", "delta": 0.1}, {"noise": 2.0}])
@pytest.mark.parametrize("noise", [None, "equal", 0.3, [0.3, 0.1], "yes-no", (0.0, 10.0)])
def test_problems_too(service, noise, fields):
    problem = sp.Problem(
        [[1.0, 1 / 3], [0.5, 0.0]], candidates=[[1.0, 0.0], [0.0, 1.0]], noise=noise
    )
    name = f"problem {noise} {fields}"
    with service.client(patience=5) as client:
        ways = {
            f"sqlite:///{service.folder}/here.db": lambda url: sp.create_study(
                name, problem, storage=url, **fields
            ),
            service.storage: lambda _: client.create_study(name, problem, **fields),
        }
        found = []
        for url, create in ways.items():
            try:
                create(url)
                found.append(stored(name, url))
            except SurepickError as refused:
                found.append(str(refused))
    assert found[0] == found[1]
    assert isinstance(found[0], str) == ("noise" in fields)


def _nameless(fields):
    return {key: value for key, value in fields.items() if key != "name"}
