"""What defines a study: checked where it is made, the same after a journey as JSON."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import surepick as sp
from surepick import errors
from surepick.problem.tables import past_measurements
from surepick.study import OptionTable, Sheet, StudySpec, store

PROBLEM = sp.Problem([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]], noise=0.5, labels=["a", " b", "mix"])
TABLE = OptionTable(Sheet(csv="label,price\na,1\nb,2\nc,4\n", source="o.csv"), features="price")
PAST = Sheet(csv="label,reward\na,1\nb,2\nc,3\n")


@pytest.mark.parametrize(
    "fields",
    [
        {"problem": PROBLEM},
        {
            "problem": sp.Problem(
                np.eye(2) / 3, candidates=[[1.0, 1 / 7]], candidate_labels=["z"], noise=1.0
            )
        },
        {"problem": PROBLEM, "check_fit": 2.0, "max_samples": 100},
        {"problem": sp.Problem([[1.0], [2.0]])},
        {"problem": sp.Problem([[1.0], [2.0]], noise=(-1, 1))},
        {"table": TABLE},
        {"table": TABLE, "noise": "equal", "check_fit": 2.0},
        {"table": TABLE, "noise": "yes-no"},
        {"table": TABLE, "noise": (0, 10)},
        {"table": TABLE, "noise": np.array([0.1, 0.2, 0.3])},
        {"problem": PROBLEM, "algorithm": sp.algorithms.PooledPeleg(0.2, max_batch=8)},
        {"problem": PROBLEM, "algorithm": sp.algorithms.XYOracle(0.1, theta=np.array([1.0, 0.2]))},
        {"problem": PROBLEM, "algorithm": "peleg-paper", "delta": 0.2, "epsilon": 0.1, "seed": 9},
        {"table": TABLE, "noise": 0.5, "meta": {"owner": "me"}},
        {"table": TABLE, "past": PAST, "past_chosen": "by-results"},
    ],
)
def test_it_survives_a_journey_as_json(fields):
    spec = StudySpec(name="s", **fields)
    again = StudySpec.from_json(spec.to_json())
    assert again.to_json() == spec.to_json()
    there, here = again.prepared, spec.prepared
    assert json.dumps(there.meta) == json.dumps(here.meta)
    assert there.algorithm == here.algorithm
    assert there.notes == here.notes
    assert there.problem.labels == here.problem.labels
    assert np.array_equal(there.problem.arms, here.problem.arms)
    assert there.problem.noise_kind.written == here.problem.noise_kind.written
    assert (there.past is None) == (here.past is None)


def test_past_measurements_that_are_known_by_arm_travel_with_odd_labels():
    old = pd.DataFrame({"label": ["a", "mix", "a"], "reward": [1.0, 2.0, 1 / 3]})
    past = past_measurements(PROBLEM, old, chosen_in_advance=True)
    spec = StudySpec(name="s", problem=PROBLEM, past=past)
    found = StudySpec.from_json(spec.to_json()).prepared.past
    assert (found.evidence, found.notes) == (True, past.notes)
    assert found.arms.tolist() == past.arms.tolist()
    assert found.rewards.tolist() == past.rewards.tolist()


@pytest.mark.parametrize("number", [9, 0.5, -1])
def test_arms_that_are_not_there_have_no_past(number):
    past = Sheet(columns={"arm": [0, number], "reward": [1.0, 2.0]})
    spec = StudySpec(name="s", problem=PROBLEM, past=past, past_chosen="in advance")
    with pytest.raises(errors.InvalidInputError, match="arms are numbered from 0 to 2"):
        _ = spec.prepared


@pytest.mark.parametrize("kind", ["frame", "parquet"])
def test_tables_other_than_csv_keep_their_cells(kind, tmp_path):
    frame = pd.DataFrame({"size": [1, 2, 4], "share": [0.1, 1 / 3, 2.0]}, index=["x", "y", "z"])
    source = frame
    if kind == "parquet":
        source = tmp_path / "o.parquet"
        frame.to_parquet(source)
    spec = StudySpec(name="s", table=OptionTable.of(source))
    again = StudySpec.from_json(spec.to_json())
    assert again.prepared.problem.labels == ("x", "y", "z")
    assert np.array_equal(again.prepared.problem.arms, spec.prepared.problem.arms)
    assert again.prepared.meta["columns"] == spec.prepared.meta["columns"]


def test_a_column_without_a_name_is_still_said_to_be_left_out():
    frame = pd.DataFrame({"size": [1, 2], "": [0, 0]})
    spec = StudySpec(name="s", table=OptionTable.of(frame))
    notes = StudySpec.from_json(spec.to_json()).prepared.notes
    assert "A column without a name was left out." in notes


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        ("[", "cannot be read"),
        ("[]", "an object"),
        ("{}", "name"),
        ('{"name": "s", "colour": "red"}', "no 'colour'"),
        ('{"name": "s"}', "either a table or a problem"),
        ('{"name": "s", "table": 3}', "table must be"),
        ('{"name": "s", "table": {}}', "table: .* either as csv or as columns"),
        ('{"name": "s", "table": {"csv": "", "index": []}}', "table: index"),
        ('{"name": "s", "problem": {"arms": [[1], [2]]}, "past": []}', "past must be a table"),
    ],
)
def test_json_that_describes_no_study(saved, said):
    with pytest.raises(errors.SurepickError, match=said):
        StudySpec.from_json(saved)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": [1, 2], "b": [1]}, "column 'b' has 1 cells, but there are 2 rows"),
        ({}, "no column names"),
        ({"a": []}, "no rows"),
        ({"a": [1], " a": [2]}, "two columns are called 'a'"),
    ],
)
def test_columns_that_are_no_table(columns, said):
    with pytest.raises(errors.InvalidInputError, match=said):
        Sheet(columns=columns).read()


def test_it_cannot_be_changed_and_one_typed_wrongly_is_named():
    spec = StudySpec(name="s", problem=PROBLEM)
    with pytest.raises(AttributeError):
        spec.delta = 0.1
    with pytest.raises(TypeError, match="dleta"):
        sp.create_study("s", PROBLEM, storage="memory://", dleta=0.1)


FREE = OptionTable(TABLE.sheet, unstructured=True)


@pytest.mark.parametrize(
    ("table", "said", "kind", "because"),
    [
        (TABLE, {}, "any", ""),
        (FREE, {}, "any", ""),
        (FREE, {"top": 2, "epsilon": 0.1, "baseline": None}, "any", ""),
        (TABLE, {"baseline": "a", "strata": "days", "overlap": True}, "any", ""),
        (TABLE, {"items": 20, "noise": None}, "any", ""),
        (TABLE, {"misfit": 0.0}, "symmetric", "trusted features speak of means"),
        (TABLE, {"misfit": 0.5}, "symmetric", "trusted features speak of means"),
        (TABLE, {"check_fit": 1.0}, "symmetric", "trusted features speak of means"),
        (TABLE, {"traffic": True}, "symmetric", "a traffic study sees sums"),
        (FREE, {"traffic": True}, "symmetric", "a traffic study sees sums"),
        (TABLE, {"noise": "symmetric"}, "symmetric", None),
        (TABLE, {"noise": "equal"}, "equal", None),
    ],
)
def test_nothing_is_assumed_about_noise_that_is_left_out(table, said, kind, because):
    spec = StudySpec(name="s", table=table, **said)
    assert spec.prepared.problem.noise == spec.noise == kind
    assert because == spec.because or because in spec.because
    # What was taken is part of what is sent and stored: other defaults would not change it.
    again = StudySpec.from_json(spec.to_json())
    assert again.to_dict()["noise"] == again.prepared.problem.noise == kind


def test_a_problem_without_noise_is_symmetric_where_its_features_are_trusted():
    body = {"name": "s", "problem": {"arms": [[1], [2]]}}
    assert StudySpec.from_dict(body).prepared.problem.noise == "symmetric"
    body["problem"]["misfit"] = "any"
    assert StudySpec.from_dict(body).prepared.problem.noise == "any"
    spec = StudySpec(name="s", problem=sp.Problem([[1], [2]], noise="symmetric", misfit=math.inf))
    assert StudySpec.from_json(spec.to_json()).prepared.problem.noise == "symmetric"


def test_a_threshold_needs_to_know_what_a_measurement_is():
    for table in (TABLE, FREE):
        with pytest.raises(errors.InvalidInputError, match=r"threshold: .* say what a measurement"):
            store(StudySpec(name="s", table=table, threshold=2.0), "memory://a number")
    store(StudySpec(name="s", table=TABLE, threshold=2.0, noise="symmetric"), "memory://a number")


def test_what_only_guides_gives_numbers_of_any_kind_no_estimates():
    """Scores of past measurements are nobody's business, and no option has a mean of its own."""
    spec = StudySpec(name="s", table=TABLE, past=PAST, past_chosen="by-results")
    study = store(spec, "memory://guided")
    assert study.status()["estimates"] == [None, None, None]
    json.dumps(study.status(), allow_nan=False)


def test_epsilon_of_numbers_of_any_kind_is_a_share():
    with pytest.raises(errors.InvalidInputError, match=r"epsilon: .* share .* below 0\.5"):
        store(StudySpec(name="s", table=TABLE, epsilon=0.5), "memory://a share")


@pytest.mark.parametrize("noise", [0.5, "equal", "yes-no", {"low": 0, "high": 2}, [0.1, 0.2]])
def test_the_noise_of_a_problem_may_stand_beside_it_in_a_request(noise):
    body = {"name": "s", "problem": {"arms": [[1], [2]]}, "noise": noise}
    spec = StudySpec.from_dict(body)
    assert spec.noise is None
    assert spec.prepared.problem.noise_kind.written == noise
    body["problem"]["noise"] = noise
    with pytest.raises(errors.InvalidInputError, match="the problem already has one"):
        StudySpec.from_dict(body)


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        ("unknown", "noise must be 'yes-no', .* 'symmetric'"),
        (0.0, "above 0"),
        ((2, 1), "below the highest"),
        ({"low": 1}, "called low and high"),
        ([1.0, 2.0, -1.0], r"noise\[2\]"),
    ],
)
def test_noise_of_no_kind_is_refused_before_a_table_is_read(noise, said):
    with pytest.raises(errors.SurepickError, match=said):
        StudySpec(name="s", table=TABLE, noise=noise)


def test_one_scale_for_each_option_needs_as_many_as_there_are():
    with pytest.raises(errors.InvalidInputError, match="2 numbers for 3 arms"):
        _ = StudySpec(name="s", table=TABLE, noise=[1.0, 2.0]).prepared


# -- how far features are trusted --------------------------------------------------------------
def test_tables_rest_on_measurements_alone_where_the_algorithm_can():
    free = OptionTable(TABLE.sheet, unstructured=True)
    assert StudySpec(name="s", table=TABLE).prepared.problem.misfit == math.inf
    for trusting in ({"algorithm": "rage", "noise": 1.0}, {"check_fit": 1.0}, {"misfit": 0}):
        assert StudySpec(name="s", table=TABLE, **trusting).prepared.problem.misfit == 0.0
    assert StudySpec(name="s", table=free).misfit == 0.0
    again = StudySpec.from_json(StudySpec(name="s", table=TABLE).to_json())
    assert again.misfit == math.inf
    assert json.loads(again.to_json())["misfit"] == "any"


def test_a_problem_brings_its_own_misfit():
    with pytest.raises(errors.InvalidInputError, match="already has one"):
        StudySpec(name="s", problem=PROBLEM, misfit=0.1)
    problem = sp.Problem([[1.0], [2.0]], noise=1.0, misfit=math.inf)
    assert StudySpec.from_json(StudySpec(name="s", problem=problem).to_json()).problem == problem


def test_a_table_is_given_to_the_library_as_to_a_client(tmp_path):
    source = tmp_path / "options.csv"
    source.write_text("label,size,colour\na,1,red\nb,2,blue\n")
    study = sp.create_study("s", storage="memory://", table=source, features=["size"])
    assert study.problem.labels == ("a", "b")
    assert study.problem.n_features == 2  # and an intercept
    with pytest.raises(errors.InvalidInputError, match="features: these settings describe a table"):
        sp.create_study("t", study.problem, storage="memory://", features=["size"])
