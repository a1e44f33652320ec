"""Studies whose measurements have further numbers, on which limits are kept."""

import json

import numpy as np
import pytest

import surepick as sp
from surepick.client.replies import answer_of
from surepick.errors import InvalidInputError, SurepickError, TellConflictError, UnknownPullError
from surepick.run.certificate import fingerprint
from surepick.study import StudySpec, chain

LABELS = ["slow", "good", "poor"]


def problem(**numbers):
    numbers = numbers or {"latency": (0, 100)}
    return sp.Problem.unstructured(LABELS, noise="yes-no", numbers=numbers)


def made(storage_url, name="limited", **more):
    how = {"keep": ["latency <= 50"], "seed": 4, "storage": storage_url} | more
    return sp.create_study(name, how.pop("problem", problem()), **how)


class Machine:
    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def __call__(self, arm):
        right = float(self.rng.random() < (0.95, 0.8, 0.3)[arm])
        latency = float(np.clip(self.rng.normal((80, 30, 30)[arm], 8), 0, 100))
        return {"reward": right, "latency": latency}


def assert_chained(study):
    chain.check_chain(study.storage, study._record, None)


def finish(study, machine, n=20):
    while not study.finished:
        pulls = study.ask(n)
        study.tell_many({pull.id: machine(pull.arm) for pull in pulls})


def test_the_best_that_keeps_the_limit(storage_url):
    study = made(storage_url)
    finish(study, Machine())
    answer = study.answer
    assert (answer.label, answer.guarantee.kind) == ("good", "pac")
    standing = study.standing()
    assert standing.limits == ("latency <= 50",)
    # Which of two ways rules an option out is shown together, and one of them not always by itself.
    slow, *others = standing["latency <= 50"]
    assert slow == answer.limits["latency <= 50"]["slow"].verdict != "keeps"
    assert others == ["keeps", "keeps"]
    assert standing["latency <= 50: mean"][1] == pytest.approx(30, abs=5)
    found = sp.verify(answer.certificate(), replay=True)
    assert (found.label, found.replayed) == ("good", True)
    again = sp.load_study("limited", study.storage)  # worked out from the log
    assert again.answer.to_dict() == answer.to_dict()
    assert_chained(again)


def test_all_that_are_better_than_a_baseline_and_keep_the_limit(storage_url):
    study = made(storage_url, baseline="poor")
    finish(study, Machine())
    answer, status = study.answer, study.status()
    assert (answer.better, answer.ruled_out, answer.worse) == (("good",), ("slow",), ())
    sent = answer_of(json.loads(json.dumps(answer.to_dict())), {})  # by the service
    assert (sent.verdicts(), sent.ruled_out) == (answer.verdicts(), ("slow",))
    assert status["standing"]["columns"]["state"] == ["ruled_out", "better", "baseline"]
    found = sp.verify(json.loads(json.dumps(answer.certificate())), replay=True)
    assert (found.guarantee, found.replayed) == ("claims", True)
    again = sp.load_study("limited", study.storage)  # worked out from the log
    assert again.answer.to_dict() == answer.to_dict()
    assert_chained(again)


def test_options_come_and_go_in_a_study_with_limits(storage_url):
    study, machine = made(storage_url), Machine()
    for _ in range(3):
        study.tell_many({pull.id: machine(pull.arm % 3) for pull in study.ask(12)})
    study.add(["late"], reason="a new one")
    while not study.finished:
        study.tell_many({pull.id: machine(pull.arm % 3) for pull in study.ask(20)})
    study.retire("good", reason="sold out")
    while not study.finished:
        study.tell_many({pull.id: machine(pull.arm % 3) for pull in study.ask(20)})
    answer = study.answer
    assert answer.label == "poor"  # "late" is as slow as "slow"
    found = sp.verify(json.loads(json.dumps(answer.certificate())), replay=True)
    assert (found.label, found.replayed) == ("poor", True)
    again = sp.load_study("limited", study.storage)  # worked out from the log
    assert again.answer.to_dict() == answer.to_dict()
    assert_chained(again)


def test_a_study_under_way_says_where_it_stands(storage_url):
    study, machine = made(storage_url), Machine(6)
    while len(study.status()["survivors"]) == 3:
        study.tell_many({pull.id: machine(pull.arm) for pull in study.ask(12)})
    assert "so that it cannot be simulated" in study.forecast().why
    assert study.status()["standing"]["limits"] == ["latency <= 50"]
    stopped = study.stop(reason="enough")
    among = "the best of those that keep latency <= 50, if there are any, is among those 2 with"
    assert among in stopped.guarantee
    assert sp.verify(stopped.certificate(), replay=True).replayed


def test_how_much_measurements_vary_is_an_estimate_and_not_a_unit(storage_url):
    symmetric = sp.Problem.unstructured(
        LABELS, noise="symmetric", numbers={"latency": "yes-no"}, minimise=True
    )
    study = made(storage_url, problem=symmetric, keep=["latency <= 50%"])
    assert study.status()["noise"] is None
    rng = np.random.default_rng(0)
    for _ in range(3):
        pulls = study.ask(30)
        told = {p.id: {"reward": 70 + 0.02 * rng.normal(), "latency": 0} for p in pulls}
        study.tell_many(told)
    assert 0.01 < study.status()["noise"] < 0.04


def test_a_study_that_is_opened_in_between_goes_on(storage_url):
    one, machine = made(storage_url), Machine(1)
    while not one.finished:
        study = sp.load_study("limited", one.storage)
        pulls = study.ask(7)
        study.tell_many({pull.id: machine(pull.arm) for pull in pulls})
    assert one.answer.label == "good"


def test_what_is_told_is_checked(storage_url):
    study = made(storage_url)
    (pull,) = study.ask()
    for wrong, why in (
        (1.0, "latency of measurement 0 is missing"),
        ({"latency": 3.0}, "has no 'reward'"),
        ({"reward": 1.0, "latency": 101.0}, "latency of measurement 0 is 101"),
        ({"reward": 1.0, "latency": 1.0, "size": 2.0}, "no such number"),
        ({"reward": 0.5, "latency": 1.0}, "0.5"),
    ):
        with pytest.raises(InvalidInputError, match="nothing was recorded") as refused:
            study.tell(pull.id, wrong)
        assert why in str(refused.value)
    assert study.tell(pull.id, {"reward": 1.0, "latency": 12.0}).status == "accepted"
    assert study.tell(pull.id, {"latency": 12.0, "reward": 1.0}).status == "duplicate"
    with pytest.raises(TellConflictError):
        study.tell(pull.id, {"reward": 1.0, "latency": 13.0})
    assert json.loads(study.rewards().numbers[0]) == {"latency": 12.0}


def test_rewards_are_corrected_and_withdrawn_with_their_numbers(storage_url):
    study, machine = made(storage_url), Machine(2)
    pulls = study.ask(100)
    study.tell_many({pull.id: machine(pull.arm) for pull in pulls})
    told = study.rewards()
    first = int(told.pulls[0])
    study.correct(first, 1.0 - float(told.values[0]), reason="swapped")
    assert json.loads(study.rewards().numbers[0]) == json.loads(told.numbers[0])
    study.withdraw(first, reason="wrong machine")
    with pytest.raises(UnknownPullError, match=r"waiting to be measured again|latency with it"):
        study.correct(first, 12.0, number="latency", reason="nobody knows")
    value = float(told.values[0])
    study.correct(first, 1.0 - value, reason="the machine was right")
    assert (study.rewards().values[0], study.rewards().numbers[0]) == (1 - value, told.numbers[0])
    finish(study, machine)
    assert study.answer.label == "good"
    assert_chained(study)
    found = sp.verify(study.answer.certificate())
    assert found.label == "good"


def test_a_further_number_is_corrected_alone(storage_url):
    study, machine = made(storage_url), Machine(2)
    (pull,) = study.ask()
    right = machine(pull.arm)
    study.tell(pull.id, right | {"latency": 99.0})
    change = study.correct(pull.id, right["latency"], number="latency", reason="99 was an error")
    assert (change.old, change.new, change.counted) == (99.0, right["latency"], False)
    assert "latency" in change.said
    again = study.correct(pull.id, right["latency"], number="latency", reason="lost answer")
    assert again.to_dict() == change.to_dict()
    for wrong, number, why in (
        (101.0, "latency", "latency of measurement 0 is 101"),
        (1.0, "size", "no such"),
    ):
        with pytest.raises(InvalidInputError, match=why):
            study.correct(pull.id, wrong, number=number, reason="oops")
    told = study.rewards()
    assert told.values[0] == right["reward"]
    assert json.loads(told.numbers[0]) == {"latency": right["latency"]}
    finish(study, machine)
    assert study.answer.label == "good"


def test_a_further_number_that_was_counted_is_worked_out_again_and_listed(storage_url):
    """A dozen readings of the best option were threefold; put right, it keeps the limit."""
    study, machine, typos = made(storage_url), Machine(3), {}
    while not study.finished and len(typos) < 12:
        for pull in study.ask(20):
            right = machine(pull.arm)
            wrong = {"latency": min(99.0, 3 * right["latency"])} if pull.arm == 1 else {}
            typos |= {pull.id: right["latency"]} if wrong else {}
            study.tell(pull.id, right | wrong)
    wrong = study.standing()["estimate"]
    for pull, latency in typos.items():
        assert study.correct(pull, latency, number="latency", reason="a factor of three").number
    np.testing.assert_array_equal(study.standing()["estimate"], wrong)  # rewards are as they were
    assert study.rebuild().standing().to_dict() == study.standing().to_dict()
    finish(study, machine)
    assert_chained(study)
    answer = study.answer
    assert answer.label == "good"
    assert "looked at again" in str(answer.guarantee)
    certificate = answer.certificate()
    assert {one["number"] for one in certificate["corrections"]} == {"latency"}
    assert "batches are what the algorithm asks for" in sp.verify(certificate, replay=True).replay
    again = sp.load_study(study.name, study.storage)
    assert again.corrections() == study.corrections()
    assert again.answer.to_dict() == answer.to_dict()
    certificate["corrections"][0]["number"] = "size"
    with pytest.raises(SurepickError, match="a number that there is not"):
        sp.verify(certificate | {"digest": fingerprint(certificate)})


def test_a_quantile_of_any_number_in_a_table(tmp_path):
    table = tmp_path / "options.csv"
    table.write_text("option\nslow\ngood\npoor\n")
    spec = StudySpec(
        name="table",
        table=sp.study.OptionTable.of(table),
        noise="yes-no",
        numbers={"latency": "any"},
        keep="p90 of latency <= 60",
        seed=1,
    )
    again = StudySpec.from_json(spec.to_json())
    assert again.prepared.problem == spec.prepared.problem
    study = sp.study.store(again, "memory://quantile-limits")
    finish(study, Machine(3))
    assert study.answer.label == "good"


def test_numbers_come_in_from_functions_and_go_out(storage_url, tmp_path):
    study, machine = made(storage_url, problem=problem(latency=(0, 100), note="any")), Machine(5)
    answer = study.run(lambda task: machine(task.arm) | {"note": 3.0})
    assert answer.label == "good"
    first = study.export(tmp_path / "all.csv").read_text().splitlines()[0].split(",")
    assert {"latency", "note"} <= set(first)


def before(path, head="label,reward,latency", each=8):
    """A table of measurements that were made before."""
    machine = Machine(9)
    rows = [(LABELS[arm], machine(arm)) for arm in (0, 1, 2) for _ in range(each)]
    lines = [f"{label},{one['reward']},{one['latency']}" for label, one in rows]
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def test_the_past_has_further_numbers_too(storage_url, tmp_path):
    spent = {}
    for chosen in (None, "in advance", "by results"):
        past = {} if chosen is None else {"past": before(tmp_path / "past.csv")}
        study = made(storage_url, f"before {chosen}", past_chosen=chosen, **past)
        assert_chained(study)
        finish(study, Machine(3))
        assert study.answer.label == "good"
        found = sp.verify(study.answer.certificate(), replay=True)
        assert found.replayed
        assert found.unknown == ()  # further numbers of the past are no news
        again = sp.load_study(study.name, study.storage)
        assert again.rebuild().answer == study.answer
        spent[chosen] = study.answer.samples
    assert spent["in advance"] < spent[None]


def test_columns_of_the_past_may_be_called_anything(tmp_path):
    named = before(tmp_path / "named.csv", "who,right,ms")
    study = made(
        "memory://renamed",
        past=named,
        past_chosen="in advance",
        past_columns={"label": "who", "reward": "right", "latency": "ms"},
    )
    plain = made("memory://plain", past=before(tmp_path / "plain.csv"), past_chosen="in advance")
    asked = [pull.arm for pull in study.ask(9)]
    assert asked
    assert asked == [pull.arm for pull in plain.ask(9)]
    for columns, why in (({"noise": "ms"}, "reward, and of latency"), ({"latency": "s"}, "'s'")):
        with pytest.raises(SurepickError, match=why):
            made(
                "memory://wrong",
                past=named,
                past_chosen="in advance",
                past_columns={"label": "who", "reward": "right"} | columns,
            )


@pytest.mark.parametrize(
    ("head", "cell", "why"),
    [
        ("label,reward,other", "50", "'latency' is missing"),
        ("label,reward,latency", "500", "column 'latency', line 3: 500, but"),
        ("label,reward,latency", "fast", "latency"),
    ],
)
def test_a_past_that_says_too_little_is_refused(tmp_path, head, cell, why):
    (tmp_path / "past.csv").write_text(f"{head}\nslow,1,50\ngood,1,{cell}\n")
    with pytest.raises(SurepickError, match=why):
        made("memory://refused", past=tmp_path / "past.csv", past_chosen="in advance")


@pytest.mark.parametrize(
    "more",
    [
        {"cheapest": True, "within": 0.1},
        {"items": 5},
        {"strata": "d"},
        {"quantile": 0.5},
    ],
)
def test_what_limits_cannot_be_combined_with(more):
    with pytest.raises(InvalidInputError) as refused:
        made("memory://refused", **more)
    assert str(refused.value).split(":")[0] in ("keep", *more)


def test_numbers_are_said_once():
    with pytest.raises(InvalidInputError, match="the problem already says"):
        made("memory://twice", numbers={"latency": (0, 1)})
    study = made(
        "memory://beside",
        problem=sp.Problem.unstructured(LABELS, noise="yes-no"),
        numbers={"latency": [0, 100]},
    )
    assert list(study.problem.numbers) == ["latency"]
