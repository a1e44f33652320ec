"""Studies where smaller is better: as with rewards turned, in the numbers that were told."""

import json

import numpy as np
import pytest

import surepick as sp
from surepick.errors import InvalidTypeError
from surepick.report.picture import view
from surepick.study import OptionTable, Sheet, StudySpec, look_back, store

LABELS = ["a", "b", "c", "d"]
MEANS = {"a": 5.0, "b": 3.0, "c": 4.5, "d": 6.0, "new": 2.0}


def created(name, minimise, noise="any", **settings):
    problem = sp.Problem.unstructured(LABELS, noise=noise, minimise=minimise)
    how = {"storage": f"memory://{name} {minimise}", "seed": 5} | settings
    return sp.create_study(name, problem, **how)


def measure(study, sign, most=None, seed=1, each=6):
    """Tell rewards until it is finished, or so many batches; what was asked for."""
    rng, asked = np.random.default_rng(seed), []
    while not study.finished and (most is None or len(asked) < most):
        pulls = study.ask(each)
        asked.append([(pull.id, pull.label) for pull in pulls])
        study.tell_many({p.id: sign * (MEANS[p.label] + 0.7 * float(rng.normal())) for p in pulls})
    return asked


def both(name, steps=(), **settings):
    """The study with smaller rewards better, and its twin with them turned."""
    found = []
    for minimise, sign in ((True, 1.0), (False, -1.0)):
        study = created(name, minimise, **settings)
        asked = []
        for number, step in enumerate(steps):
            asked += measure(study, sign, most=3, seed=number)
            step(study, sign)
        asked += measure(study, sign, seed=99)
        found.append((study, asked))
    (mine, asked), (twin, expected) = found
    assert asked == expected
    assert mine.answer.labels == twin.answer.labels
    assert mine.answer.guarantee.kind == twin.answer.guarantee.kind
    assert sp.verify(mine.answer.certificate())
    now, then = mine.status(), twin.status()
    assert now["standing"]["columns"]["state"] == then["standing"]["columns"]["state"]
    told = [x for x in now["means"] if x is not None]
    assert told == pytest.approx([-x for x in then["means"] if x is not None])
    assert json.dumps(now, allow_nan=False)
    return mine, twin


def corrected(study, sign):
    reward = study.rewards()
    pull = int(reward.pulls[0])
    study.correct(pull, float(reward.values[0]) + sign * 0.5, reason="a slip of the pen")
    study.withdraw(int(reward.pulls[1]), reason="the lid was open")


def more(study, sign):
    study.add(sp.Problem([[0.0, 0.0, 0.0, 0.0, 1.0]], labels=["new"]), reason="a late idea")


def fewer(study, sign):
    study.retire("d", reason="sold out")


@pytest.mark.some(1)
@pytest.mark.parametrize("noise", ["any", "symmetric"])
def test_rewards_are_corrected_and_options_come_and_go(noise):
    mine, _ = both(f"changing {noise}", [corrected, fewer, more], noise=noise)
    assert mine.answer.label == "new"
    assert "Smaller is better" in mine.answer.plain


def test_a_baseline_costs_and_limits():
    mine, twin = both("compared", baseline="c", noise=0.7, max_samples=400)
    assert mine.answer.better == twin.answer.better == ("b",)
    for label, lift in mine.answer.lifts.items():
        other = twin.answer.lifts[label]
        assert lift == pytest.approx((-other.estimate, -other.high, -other.low))
    seen, other = view(mine), view(twin)
    assert [row.label for row in seen.rows] == [row.label for row in other.rows]
    assert seen.rows[0].label == "b"
    assert seen.rows[0].value < 0


def test_past_measurements_and_what_lies_ahead():
    past = {"arms": [0, 1, 2, 3] * 6, "rewards": [5.1, 3.2, 4.4, 6.3] * 6}
    for chosen in ("in-advance", "by-results"):
        found = []
        for minimise, sign in ((True, 1.0), (False, -1.0)):
            table = {"arm": past["arms"], "reward": [sign * y for y in past["rewards"]]}
            study = created(
                f"past {chosen}",
                minimise,
                noise="symmetric",
                past=_table(table),
                past_chosen=chosen,
            )
            asked = measure(study, sign, most=2)
            found.append((asked, study.forecast().to_dict(), study.status()["leader"]))
        assert found[0] == found[1]


def _table(columns):
    import pandas as pd

    return pd.DataFrame(columns)


def test_fewest_successes_of_visitors():
    rates, rng = {"a": 0.10, "b": 0.04, "c": 0.09, "d": 0.11}, np.random.default_rng(0)
    problem = sp.Problem.unstructured(LABELS, noise="yes-no", minimise=True)
    rules = {"control": "a", "control_share": 0.2}
    study = sp.create_study("refunds", problem, storage="memory://refunds", traffic=rules)
    while not study.finished:
        split = study.split()
        counts = rng.multinomial(8000, [split.shares[label] for label in LABELS])
        report = {
            label: (int(n), int(rng.binomial(n, rates[label])))
            for label, n in zip(LABELS, counts)
            if n
        }
        study.record(report, period=f"day {split.number}")
    assert study.answer.label == "b"
    assert sp.verify(study.answer.certificate())
    status = study.status()
    assert status["traffic"]["leader_mean"] == pytest.approx(0.04, abs=0.01)
    lead = status["traffic"]["lift"][1]
    assert lead[0] < 0
    assert "points from a (the control)" in status["traffic"]["worth"]
    assert view(study).rows[0].label == "b"


def test_a_past_test_of_visitors_is_looked_at_the_same_way():
    days = "".join(f"{k},a,1000,90\n{k},b,1000,50\n" for k in range(9))
    sheet = Sheet(csv=f"period,label,visits,successes\n{days}")
    found = look_back(sheet, minimise=True, control="a")
    assert found.leader == "b"
    assert found.lift[0] < 0
    assert look_back(sheet).leader == "a"


def test_the_problem_or_the_setting_says_it(tmp_path):
    plain = sp.Problem.unstructured(LABELS)
    for problem, minimise in ((plain, True), (plain.with_direction(True), False)):
        spec = StudySpec(name="times", problem=problem, minimise=minimise)
        again = StudySpec.from_json(spec.to_json())
        assert spec.minimise
        assert again.prepared.problem.minimise
    options = tmp_path / "options.csv"
    options.write_text("label,size\na,1\nb,2\nc,4\n")
    spec = StudySpec(name="times", table=OptionTable.of(options), minimise=True)
    study = store(spec, "memory://of a table")
    assert study.problem.minimise
    assert study.status()["rewards"].endswith("smaller is better")
    with pytest.raises(InvalidTypeError, match="minimise must be true or false"):
        StudySpec(name="times", problem=plain, minimise="yes")
