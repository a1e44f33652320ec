"""Studies as runs of MLflow, in a real store of its own."""

import os
import re
import shutil
import uuid

import numpy as np
import pytest
from tests.postgres import fast_folder
from tests.server.served import Served

import surepick as sp
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.report.colleague import study_page

pytestmark = pytest.mark.filterwarnings(
    # MLflow's own tables, with SQLAlchemy 2.1
    "ignore:The ``noload`` loader strategy is deprecated"
)
LABELS = ["red", "green", "blue", "grey"]


@pytest.fixture(scope="module")
def store():
    """MLflow with an empty store. It takes seconds to import, so only these tests do."""
    folder, before = fast_folder("sp-mlflow-"), dict(os.environ)
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
    yield mlflow, folder
    os.environ.clear()
    os.environ.update(before)
    shutil.rmtree(folder)


@pytest.fixture
def flow(store):
    """The same, with an experiment for each test."""
    mlflow, folder = store
    name = uuid.uuid4().hex
    mlflow.create_experiment(name, f"file://{folder}/{name}")
    mlflow.set_experiment(name)
    return mlflow


def create(storage=None, name="paints", **how):
    problem = sp.Problem.unstructured(LABELS, noise=0.5)
    return sp.create_study(name, problem, storage=storage or f"memory://{uuid.uuid4()}", **how)


def measured(seed=0):
    rng = np.random.default_rng(seed)
    return lambda one: one.arm / 2 + 0.5 * rng.normal()


def points(flow, run, name):
    found = flow.MlflowClient().get_metric_history(run.info.run_id, f"surepick/{name}")
    return [(one.step, one.value) for one in found]


def artifact(flow, run, name):
    path = flow.artifacts.download_artifacts(
        run_id=run.info.run_id, artifact_path=f"surepick/{name}"
    )
    with open(path, "rb") as file:
        return file.read()


def below(tags):
    return {key.removeprefix("surepick/"): t for key, t in tags.items() if key[:9] == "surepick/"}


@pytest.mark.validation
def test_a_study_from_beginning_to_end_is_one_run_in_which_nothing_is_doubled(flow, tmp_path):
    from surepick.integrations.mlflow import log_study

    storage, measure = f"sqlite:///{tmp_path}/studies.db", measured()
    study = create(storage, delta=0.1, epsilon=0.05, seed=7)
    first = log_study(study)
    assert first.info.status == "RUNNING"
    assert first.info.run_name == "paints"
    assert below(first.data.params) == {
        "question": "best",
        "algorithm": "pooled-peleg",
        "delta": "0.1",
        "epsilon": "0.05",
        "max_samples": "1000000",
        "options": "4",
        "rewards": "numbers, with noise 0.5",
        "misfit": "0.0",
        "seed": "7",
    }
    for pull in study.ask(9, worker="me"):
        study.tell(pull.id, measure(pull))
    study.add(["white"])  # params are what it was created with
    half = log_study(study)
    assert half.data.params == first.data.params
    assert "answer" not in below(half.data.tags)
    estimate = half.data.metrics["surepick/leader_estimate"]
    samples = study.status()["samples"]

    answer = study.run(measure)
    again = sp.load_study("paints", storage=storage)  # as another process would
    assert again.name == "paints"
    ended, repeated = log_study(again), log_study(study)
    assert ended.to_dictionary() == repeated.to_dictionary()
    assert {one.info.run_id for one in (first, half, ended)} == {
        one.info.run_id for one in flow.search_runs(output_format="list")
    }
    assert ended.info.status == "FINISHED"
    batches = [(row["samples"], row["survivors"]) for row in study.history()]
    assert points(flow, ended, "options_still_in") == batches
    assert [step for step, _ in points(flow, ended, "measurements")] == [0, samples, answer.samples]
    known = study.status()["standing"]["columns"]["estimate"][answer.arm]
    told = [(samples, estimate), (answer.samples, known)]
    assert points(flow, ended, "leader_estimate") == told
    tags = below(ended.data.tags)
    assert (tags["leader"], tags["answer"]) == (answer.label, answer.label)
    assert (tags["guarantee"], tags["sure"]) == (answer.guarantee.kind, answer.plain)

    certificate = flow.artifacts.load_dict(f"{ended.info.artifact_uri}/surepick/certificate.json")
    assert sp.verify(certificate).guarantee == answer.guarantee.kind
    assert artifact(flow, ended, "picture.png").startswith(b"\x89PNG")
    assert answer.plain in artifact(flow, ended, "report.html").decode()
    other = log_study(create())  # of the same name, elsewhere
    assert other.info.run_id != ended.info.run_id


@pytest.mark.validation
def test_it_joins_the_active_run_and_keeps_clear_of_what_is_there(flow):
    from surepick.integrations.mlflow import log_study

    study = create(baseline="green", max_samples=4000)
    with flow.start_run(run_name="training") as mine:
        flow.log_param("delta", "a river")
        study.run(measured())
        run = log_study(study)
        assert run.info.run_id == mine.info.run_id
        assert run.info.status == "RUNNING"  # its end is its owner's
        with pytest.raises(InvalidInputError, match="holds another study \\('paints'\\)"):
            log_study(create())
    assert run.data.params["delta"] == "a river"
    assert run.data.params["surepick/baseline"] == "green"
    said = "better: blue, grey; worse: red; undecided: none"
    assert below(run.data.tags)["answer"] == said
    with pytest.raises(InvalidTypeError, match="create_study"):
        log_study(study.current_run)


@pytest.mark.validation
def test_a_study_that_goes_on_after_its_end_has_no_answer_until_the_next_one(flow):
    from surepick.integrations.mlflow import log_study

    study = create(max_samples=12)
    study.add(["white"])
    study.run(measured())
    ended = log_study(study)
    assert (ended.info.status, below(ended.data.tags)["guarantee"]) == ("FINISHED", "none")
    study.limit(max_samples=5000)
    reopened = log_study(study, run_id=ended.info.run_id)
    assert reopened.info.status == "RUNNING"
    assert not {"answer", "guarantee", "sure"} & below(reopened.data.tags).keys()
    study.run(measured(1))
    final = log_study(study)
    assert final.info.run_id == ended.info.run_id
    assert (final.info.status, below(final.data.tags)["answer"]) == ("FINISHED", "white")
    created = below(final.data.params)
    assert (created["max_samples"], created["options"]) == ("12", "4")


@pytest.mark.validation
def test_a_study_of_a_service_is_logged_as_it_is_from_its_database(flow, database_folder):
    from surepick.integrations.mlflow import log_study

    storage = f"sqlite:///{database_folder}/studies.db"
    create(storage).run(measured())
    with Served(storage, database_folder) as served, served.client() as client:
        remote = client.load_study("paints")
        over_http, page = log_study(remote), study_page(remote)
    local = sp.load_study("paints", storage=storage)
    assert log_study(local).to_dictionary() == over_http.to_dictionary()
    assert artifact(flow, over_http, "report.html").decode() == page
    assert len(re.findall("<tr>", page)) > local.answer.samples  # every measurement is there
