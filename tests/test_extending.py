"""What packages from outside add, each in one small file, is known wherever surepick is.

The files of ``tests/outside`` are installed as a package whose entry points name them; everything
here runs in processes of its own, which find them as they would find any package.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.postgres import fast_folder
from tests.server.served import Served

HERE = Path(__file__).resolve().parent
FILES = sorted((HERE / "outside").glob("*.py"))
OPTIONS = "label,size\na,1\nb,2\nc,4\n"


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """The environment of processes that have the package."""
    folder = tmp_path_factory.mktemp("outside")
    package = folder / "lab"
    package.mkdir()
    info = folder / "lab-1.0.dist-info"
    info.mkdir()
    (package / "__init__.py").touch()
    for file in FILES:
        shutil.copy(file, package)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab\nVersion: 1.0\n")
    lines = [f"{file.stem} = lab.{file.stem}\n" for file in FILES]
    (info / "entry_points.txt").write_text("[surepick.plugins]\n" + "".join(lines))
    paths = [str(folder), str(HERE.parent / "src")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "error"}


@pytest.fixture(scope="module")
def served(outside):
    place = fast_folder("sp-outside-")
    with Served(f"drawer:///{place}/studies.db", place, fresh=True, env=outside) as served:
        yield served
    shutil.rmtree(place)


@pytest.fixture
def run(outside, tmp_path):
    """Run a program where the package is installed: its exit code and what it says."""

    def done(*command, python=None):
        words = [sys.executable, *(("-c", python) if python else ("-m", "surepick")), *command]
        found = subprocess.run(words, env=outside, cwd=tmp_path, capture_output=True, text=True)
        return found.returncode, found.stdout, found.stderr

    (tmp_path / "options.csv").write_text(OPTIONS)
    return done


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_is_one_small_file(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 120


# -- a setting ---------------------------------------------------------------------------------
LIBRARY = """
import asyncio, sys
import surepick as sp

def shown(study):
    made = study.definition()
    return made["settings"]["max_samples"], made["meta"]["plates"]

problem = sp.Problem.unstructured(["a", "b"])
assert shown(sp.create_study("here", problem, storage="memory://", plates=3)) == (24, 3)
for wrong in (0, "many"):
    try:
        sp.create_study("wrong", problem, storage="memory://", plates=wrong)
    except sp.SurepickError as error:
        assert "plates" in str(error), error
    else:
        raise AssertionError(wrong)

async def awaited(url, token):
    async with sp.AsyncClient(url, token) as client:
        study = await client.create_study("awaited", problem, plates=5)
        return (await study.definition())["meta"]["plates"]

url, token = sys.argv[1:]
with sp.Client(url, token) as client:
    assert shown(client.create_study("there", problem, plates=4)) == (32, 4)
assert asyncio.run(awaited(url, token)) == 5
"""


def test_a_setting_in_the_library_and_both_clients(run, served):
    code, _, err = run(served.url, served.token, python=LIBRARY)
    assert code == 0, err


COMMANDS = """
import sys
from click.testing import CliRunner
from surepick.cli import cli

def surepick(*words):
    return CliRunner().invoke(cli, words)

said = surepick("new", "wells", "options.csv", "--plates", "3")
assert "All 3 plates will be used." in said.output, said.output
help = " ".join(surepick("new", "--help").output.split())
assert "--plates INTEGER" in help and "`" not in help, help
wrong = surepick("new", "none", "options.csv", "--plates", "0").exception
assert "plates must be" in str(wrong), wrong
print(surepick("new", "more", "options.csv", "--plates", "3", "--json").output)
"""


@pytest.mark.validation
def test_a_setting_on_the_command_line(run):
    code, out, err = run(python=COMMANDS)
    assert code == 0, err
    made = json.loads(out)
    assert (made["plates"], made["max_samples"]) == (3, 24)
    assert "3 plates have room for 24 measurements." in made["notes"]


def test_a_setting_at_the_service_and_in_the_form_of_its_page(served):
    body = {"name": "asked", "table": {"csv": OPTIONS}, "plates": 2}
    with served.http() as http:
        made = http.post("/api/v1/studies", json=body)
        assert made.status_code == 201, made.text
        assert "2 plates have room for 16 measurements." in made.json()["notes"]
        for wrong, said in (({"plates": 0}, "plates"), ({"plaets": 2}, "plaets")):
            refused = http.post("/api/v1/studies", json=body | {"name": "no"} | wrong)
            assert refused.status_code == 422
            assert said in refused.json()["error"]["message"]
        kept = http.get("/api/v1/studies/asked/definition").json()["meta"]
        assert kept["plates"] == 2
        described = http.get("/api/v1/openapi.json").json()["components"]["schemas"]["NewStudy"]
        asked = http.get("/api/v1/settings").json()["settings"]
    field = described["properties"]["plates"]
    assert field["anyOf"] == [{"type": "integer", "minimum": 1}, {"type": "null"}]
    assert asked[-1] == {
        "name": "plates",
        "question": "How many plates do you have?",
        "hint": "The study ends when they are full.",
        "kind": "integer",
        "default": None,
        "choices": [],
        "empty": "enough",
        "traffic": False,
        "pairs": None,
        "first": False,
        "refused": {},
    }


def test_where_the_package_is_not_installed_the_setting_is_unknown(run, outside, tmp_path):
    (tmp_path / "options.csv").write_text(OPTIONS)
    without = outside | {"PYTHONPATH": str(HERE.parent / "src")}
    words = [sys.executable, "-m", "surepick", "new", "s", "options.csv", "--plates", "3"]
    found = subprocess.run(words, env=without, cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 2
    assert "No such option '--plates'" in found.stderr


# -- a kind of noise ---------------------------------------------------------------------------
STARS = """
import json, sys
from pathlib import Path
import numpy as np
import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint

rng = np.random.default_rng(0)
problem = sp.Problem.unstructured(["a", "b", "c"], noise="stars")
answer = sp.identify(problem, lambda arm: 1.0 + rng.binomial(4, 0.3 + 0.2 * arm), delta=0.1)
assert answer.label == "c" and answer.guarantee, answer
assert "; provided that nobody rates twice" in answer.guarantee, answer
assert "This holds if each of them votes once, and if every" in answer.plain, answer.plain
certificate = json.loads(json.dumps(answer.certificate()))
checked = sp.verify(certificate, replay=True)
assert checked.label == "c" and checked.replayed, checked
assert checked.plain == answer.guarantee.promise.plain(), checked
Path("stars.json").write_text(json.dumps(certificate))
certificate["batches"][0]["sums"][0] += 0.5
certificate["digest"] = fingerprint(certificate)
try:
    sp.verify(certificate, replay=False)
except CertificateError as error:
    assert "no number of stars" in str(error), error
else:
    raise AssertionError("half a star")
try:
    sp.identify(problem, lambda arm: 2.5)
except sp.SurepickError as error:
    assert "1, 2, 3, 4 or 5 stars" in str(error), error
else:
    raise AssertionError("half a star")
run = sp.algorithms.PooledPeleg(0.1).start(problem, 0)
batch = run.ask()
run.tell(batch, 1.0 + rng.binomial(4, 0.5, size=batch.size))
assert sp.Run.from_json(run.to_json()).problem.noise == "stars"
instance = sp.simulate.Instance(problem, [2.0, 3.0, 4.5])
table = sp.simulate.trials(sp.algorithms.PooledPeleg(0.1), instance, n=3)
assert table["correct"].all()

url, token = sys.argv[1:]
with sp.Client(url, token) as client:
    study = client.create_study("starred", problem)
    pull = study.ask(1, "me")[0]
    try:
        study.tell(pull.id, 2.5)
    except sp.SurepickError as error:
        assert "stars" in str(error), error
    else:
        raise AssertionError("half a star")
    study.tell(pull.id, 4)
try:
    sp.Problem.unstructured(2, noise="starz")
except sp.SurepickError as error:
    assert "'stars'" in str(error), error
"""


def test_a_kind_of_noise_in_the_library_the_verifier_and_the_client(run, served, tmp_path):
    code, _, err = run(served.url, served.token, python=STARS)
    assert code == 0, err
    code, out, err = run("verify", "stars.json", "--replay")
    assert code == 0, err
    assert "the answer is c" in out


STARS_TYPED = """
from click.testing import CliRunner
from surepick.cli import cli

def surepick(*words):
    done = CliRunner().invoke(cli, words)
    return done.output + str(done.exception or "")

said = surepick("new", "rated", "options.csv", "--rewards", "stars")
assert "A measurement gives 1 to 5 stars." in said, said
help = "".join(surepick("new", "--help").split())
assert "--rewardsYES-NO|" in help and "|STARS" in help, help
planned = surepick("plan", "options.csv", "--rewards", "stars", "--gap", "1", "--trials", "2")
assert "the best leads by 1, stars" in planned, planned
assert "stars" in surepick("tell", "rated", "0", "2.5")
sent = surepick("new", "sent", "options.csv", "--rewards", "stars", "--traffic")
assert "label, visits, sum, squares" in sent, sent
"""


@pytest.mark.validation
def test_a_kind_of_noise_on_the_command_line(run):
    code, _, err = run(python=STARS_TYPED)
    assert code == 0, err


def test_a_kind_of_noise_at_the_service_and_in_the_form_of_its_page(served):
    with served.http() as http:
        asked = http.get("/api/v1/settings").json()["rewards"]
        body = {"name": "rated", "table": {"csv": OPTIONS}, "noise": "stars"}
        made = http.post("/api/v1/studies", json=body)
        assert made.status_code == 201, made.text
        wrong = body | {"name": "wrong", "noise": "starz"}
        assert "'stars'" in http.post("/api/v1/studies", json=wrong).json()["error"]["message"]
    assert {"noise": "yes-no", "words": "yes or no"} in asked
    assert asked[-1] == {"noise": "stars", "words": "1 to 5 stars"}


EVENTS = """
import json, sys
import numpy as np
import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint

rng, rates = np.random.default_rng(0), np.array([2.0, 2.2, 3.0])
asked = [{}, {"epsilon": 0.3}, {"baseline": 0}, {"top": 2}, {"threshold": 2.5}, {"minimise": True}]
for one in asked:
    turned = {"minimise": one.pop("minimise", False)}
    problem = sp.Problem.unstructured(["a", "b", "c"], noise="events", **turned)
    answer = sp.identify(problem, lambda arm: rng.poisson(rates[arm]), 0.1, **one)
    best = "a" if turned["minimise"] else "c"
    assert best == answer.label or answer.guarantee.kind == "eps-pac", (one, answer)
    assert "events come one by one and have nothing to do with" in answer.plain, answer.plain
    certificate = json.loads(json.dumps(answer.certificate()))
    assert sp.verify(certificate, replay=True).replayed, one
features = np.column_stack([np.ones(4), np.arange(4)])
linear = sp.Problem(features, noise="events")
answer = sp.identify(linear, lambda arm: rng.poisson(1.0 + 0.7 * arm), 0.1)
assert answer.arm == 3 and sp.verify(answer.certificate(), replay=True).replayed
certificate["batches"][-1]["sums"][0] += 0.5
certificate["digest"] = fingerprint(certificate)
try:
    sp.verify(certificate, replay=False)
except CertificateError as error:
    assert "is no count" in str(error), error
else:
    raise AssertionError("half an event")

# What a bet pays is worth 1 on average where both rates are the same: all that can come, summed up.
from types import SimpleNamespace
from scipy.stats import poisson
from surepick.algorithms.pooled.payoff import News
from surepick.algorithms.pooled.kinds import READINGS
counts, rate = np.array([2.0, 5.0]), 1.3
news = News(0.0, np.ones((1, 1)), np.zeros((1, 1)), np.array([[[-1 / 2, 1 / 5]]]))
total = 0.0
for first in range(40):
    for second in range(40):
        block = SimpleNamespace(facts=np.array([first, second], float))
        paid = READINGS.of("events").payoff.staked(np.array([[[[0.4, 9.0]]]]), news, block)
        chance = poisson.pmf(first, 2 * rate) * poisson.pmf(second, 5 * rate)
        total += chance * np.exp(paid.item())
assert abs(total - 1.0) < 1e-9, total

url, token = sys.argv[1:]
with sp.Client(url, token) as client:
    study = client.create_study("faults", problem, keep=None)
    while not study.finished:
        study.tell_many({pull.id: int(rng.poisson(rates[pull.arm])) for pull in study.ask(50)})
    assert study.answer.label == best
"""


def test_events_are_a_kind_with_bets_of_their_own(run, served):
    code, _, err = run(served.url, served.token, python=EVENTS)
    assert code == 0, err


# -- an algorithm and a storage ----------------------------------------------------------------
MEASURED = """
import json, sys
from click.testing import CliRunner
import surepick as sp
from surepick.cli import cli

def measured(study):
    while not study.finished:
        study.tell_many({pull.id: float(pull.arm) for pull in study.ask(1000)})
    answer = study.answer
    assert (answer.label, answer.guarantee.kind) == ("c", "pac"), answer
    sp.verify(answer.certificate())
    return study.definition()["algorithm"]

def surepick(*words):
    return CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False)

url, token = sys.argv[1:]
given = {"algorithm": "g-elimination", "noise": 0.5, "table": "options.csv", "unstructured": True}
found = [measured(sp.create_study("here", storage="drawer:///mine.db", **given))]
with sp.Client(url, token) as client:
    found.append(measured(client.create_study("measured", **given)))
words = ["--noise", "0.5", "--unstructured", "--algorithm", "g-elimination"]
made = surepick("new", "typed", "options.csv", "--storage", "drawer:///mine.db", *words)
listed = surepick("list", "--storage", "drawer:///mine.db")
proven = surepick("verify", "here", "--storage", "drawer:///mine.db")
print(json.dumps([found, json.loads(made.output), listed.output, proven.exit_code]))
"""


def test_an_algorithm_and_a_storage_from_outside_measure_and_prove(run, served):
    code, out, err = run(served.url, served.token, python=MEASURED)
    assert code == 0, err
    found, made, listed, proven = json.loads(out)
    assert found == ["g-elimination", "g-elimination"]
    assert (made["algorithm"], made["storage"]) == ("g-elimination", "drawer:///mine.db")
    assert "here" in listed
    assert "typed" in listed
    assert proven == 0
    assert served.storage.startswith("drawer:")


# -- an act ------------------------------------------------------------------------------------
ACTS = """
import asyncio, sys
import surepick as sp
from surepick.study.chain import check_chain

problem = sp.Problem.unstructured(["a", "b"])
here = sp.create_study("noted here", problem, storage="memory://")
made = here.act("note", text="a new lamp", page=7, by="ann", reason="it flickered")
assert made.said == "Note: a new lamp (page 7)." and here.acts() == [made], made
check_chain(here.storage, here.desk.record)
try:
    here.act("note", page=7)
except sp.SurepickError as error:
    assert "text: note needs it (What to remember.)" in str(error), error

async def awaited(url, token):
    async with sp.AsyncClient(url, token) as client:
        study = await client.load_study("noted")
        made = await study.act("note", text="from a coroutine")
        return made, await study.acts("note")

url, token = sys.argv[1:]
with sp.Client(url, token) as client:
    there = client.create_study("noted", problem)
    made = there.act("note", text="from afar", by="ben")
    assert (made.said, made.by, made.token is None) == ("Note: from afar.", "ben", False), made
    last, listed = asyncio.run(awaited(url, token))
    assert listed == [made, last] == there.acts(), listed
"""


def test_an_act_in_the_library_and_both_clients(run, served):
    code, _, err = run(served.url, served.token, python=ACTS)
    assert code == 0, err


@pytest.mark.validation
def test_an_act_on_the_command_line(run):
    assert run("new", "wells", "options.csv")[0] == 0
    code, out, err = run("act", "wells", "note", "text=a new lamp", "page=7", "--by", "ann")
    assert (code, out) == (0, "Note: a new lamp (page 7).\n"), err
    code, out, _ = run("act", "wells", "note", "text=007", "--json")
    assert json.loads(out)["acts"][0]["details"] == {"text": "007", "page": None}
    code, out, err = run("note", "wells", "a verb of its own", "--page", "8", "--by", "ann")
    assert (code, out.splitlines()[0]) == (0, "Note: a verb of its own (page 8)."), err
    code, _, err = run("act", "wells", "note", "lamp")
    assert (code, "note takes text=…, page=…" in err) == (2, True), err
    assert run("stop", "wells")[0] == 0
    assert run("verify", "wells")[0] == 7, "nothing is proven, and the chain is whole"


def test_an_act_at_the_service_and_in_the_list_of_its_page(served):
    with served.http() as http:
        http.post("/api/v1/studies", json={"name": "paged", "table": {"csv": OPTIONS}})
        done = http.post("/api/v1/studies/paged/acts/note", json={"text": "a lamp", "by": "ann"})
        assert done.status_code == 200, done.text
        refused = http.post("/api/v1/studies/paged/acts/note", json={"text": 3})
        assert (refused.status_code, "text" in refused.json()["error"]["message"]) == (422, True)
        listed = http.get("/api/v1/studies/paged/acts").json()["acts"]  # what the page shows
        assert listed == [done.json()["act"]]
        assert (listed[0]["said"], listed[0]["by"]) == ("Note: a lamp.", "ann")
        described = http.get("/api/v1/openapi.json").json()
        role = described["paths"]["/api/v1/studies/{name}/acts/note"]["post"]["x-roles"]
        fields = described["components"]["schemas"]["NoteAct"]["properties"]
    assert role == ["admin"]
    assert fields["text"]["description"] == "What to remember."
    with served.http("wrong") as http:
        assert http.post("/api/v1/studies/paged/acts/note", json={"text": "x"}).status_code == 401


# -- a question --------------------------------------------------------------------------------
NEAR = """
import json, sys
import numpy as np
import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint

rng, asked = np.random.default_rng(0), "near:by=0.3"
means = np.array([0.0, 0.4, 0.9, 1.0, 0.95])
normal = lambda arm: rng.normal(2.0 * means[arm], 2.0)
yes = lambda arm: float(rng.random() < 0.1 + 0.8 * means[arm])
for noise, measure, by in ((2.0, normal, 0.6), (None, normal, 0.6), ("yes-no", yes, 0.24)):
    problem = sp.Problem.unstructured(list("abcde"), noise=noise)
    answer = sp.identify(problem, measure, 0.1, question=f"near:by={by}")
    assert (answer.better, answer.worse) == (("c", "d", "e"), ("a", "b")), answer
    assert answer.guarantee.startswith(f"all claims against {by:g} below the best are"), answer
    certificate = json.loads(json.dumps(answer.certificate()))
    checked = sp.verify(certificate, replay=True)
    assert checked.replayed and checked.plain == answer.plain, checked

# All are exactly as far from the best as would still do, or all are alike: few claims are wrong.
wrong = 0
for seed in range(60):
    rng = np.random.default_rng(seed)
    problem = sp.Problem.unstructured(4, noise=1.0)
    run = sp.algorithms.PooledPeleg(0.2, question="near:by=0.5", max_samples=400).start(problem)
    while not run.stopped:
        pulls = (batch := run.ask()).pulls
        means = np.where(pulls.arms == 0, 0.5, 0.0)
        run.tell_totals(batch, rng.normal(means * pulls.counts, np.sqrt(pulls.counts)), None)
    wrong += len(run.answer.worse) > 0
assert wrong <= 20, wrong

claimed = certificate["evidence"]["claims"][0]
claimed["claim"] = "better" if claimed["claim"] == "worse" else "worse"
certificate["digest"] = fingerprint(certificate)
try:
    sp.verify(certificate)
except CertificateError:
    pass
else:
    raise AssertionError("another claim")
url, token = sys.argv[1:]
with sp.Client(url, token) as client:
    study = client.create_study("near", problem, question="near:by=0.5")
    while not study.finished:
        lots = {pull.id: float(rng.normal(3.0 * (pull.arm > 1))) for pull in study.ask(50)}
        study.tell_many(lots)
    assert [*study.answer.better] == ["2", "3"], study.answer
"""


def test_a_question_that_claims_something_of_each_is_one_file(run, served):
    code, _, err = run(served.url, served.token, python=NEAR)
    assert code == 0, err


GROUP = """
import json, sys
from pathlib import Path
import numpy as np
import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint

rng = np.random.default_rng(0)
problem = sp.Problem.unstructured(["red 1", "red 2", "blue 1", "blue 2"], noise=1.0)
means, asked = [9.0, 9.0, 1.0, 2.0], "group:begins=blue"
answer = sp.identify(problem, lambda arm: rng.normal(means[arm]), 0.1, question=asked)
assert answer.label == "blue 2", answer
assert answer.guarantee.startswith("the best of those called blue… with probability"), answer
assert answer.plain.startswith("It is the best of those called blue…. Of 100"), answer.plain
certificate = json.loads(json.dumps(answer.certificate()))
checked = sp.verify(certificate, replay=True)
assert checked.replayed and checked.plain == answer.plain, checked
Path("group.json").write_text(json.dumps(certificate))
certificate["evidence"]["question"]["asked"] = "group:begins=red"
certificate["digest"] = fingerprint(certificate)
try:
    sp.verify(certificate, replay=False)
except CertificateError as error:
    assert "not the one that the algorithm was set to" in str(error), error
else:
    raise AssertionError("another group")
for wrong, said in (("group:begins=green", "green"), ("grup", "group"), ("group:x=1", "x")):
    try:
        sp.identify(problem, float, question=wrong)
    except sp.SurepickError as error:
        assert said in str(error), error
    else:
        raise AssertionError(wrong)
url, token = sys.argv[1:]
with sp.Client(url, token) as client:
    study = client.create_study("blues", problem, question=asked)
    assert study.status()["standing"]["question"] == "group"
    assert study.standing().question == "group"
"""


def test_a_question_in_the_library_the_verifier_and_the_client(run, served):
    code, _, err = run(served.url, served.token, python=GROUP)
    assert code == 0, err
    code, out, err = run("verify", "group.json", "--replay")
    assert code == 0, err
    assert "the answer is blue 2" in out


@pytest.mark.validation
def test_a_question_on_the_command_line(run, tmp_path):
    (tmp_path / "colours.csv").write_text("label\nred 1\nblue 1\nblue 2\n")
    words = ("new", "blues", "colours.csv", "--question", "group:begins=blue")
    code, out, err = run(*words)
    assert code == 0, err
    assert "Asked: which option is the best of those called blue…." in out
    code, out, err = run("status", "blues")
    assert code == 0, err
    code, _, err = run("new", "none", "colours.csv", "--question", "grup")
    assert code != 0
    assert "group" in err


def test_a_question_at_the_service_and_in_the_form_of_its_page(served):
    body = {"name": "bs", "table": {"csv": OPTIONS}, "question": "group:begins=b"}
    with served.http() as http:
        made = http.post("/api/v1/studies", json=body)
        assert made.status_code == 201, made.text
        kept = http.get("/api/v1/studies/bs").json()
        wrong = http.post("/api/v1/studies", json=body | {"name": "no", "question": "grup"})
        described = http.get("/api/v1/openapi.json").json()["components"]["schemas"]["NewStudy"]
        asked = {one["name"]: one for one in http.get("/api/v1/settings").json()["settings"]}
    assert kept["standing"]["question"] == "group"
    assert wrong.status_code == 422
    assert "question" in described["properties"]
    assert asked["question"]["empty"] == "which option is the best"
