"""Numbers that may be mistyped are asked about, early; those that just scatter hardly ever are."""

import numpy as np
import pytest
from click.testing import CliRunner

import surepick as sp
from surepick.cli import cli
from surepick.errors import InvalidInputError
from surepick.study.checks.typed import Readings, questions, rates

LABELS = {i: f"option {i}" for i in range(5)}
#: laws, the most questions about 1,000 right ones, and how many of ten tenfold ones are noticed
LAWS = {
    "normal": (lambda r, a: 0.8 + 0.1 * r.normal(size=len(a)), 0.0, 9),
    "students": (lambda r, a: 10 + r.standard_t(3, len(a)), 2.0, 8),
    "coarse": (lambda r, a: np.round(5 + 0.3 * r.normal(size=len(a))), 0.0, 9),
    "times": (lambda r, a: r.lognormal(0, 0.5, len(a)), 0.0, 0),
    "long times": (lambda r, a: r.lognormal(0, 1.5, len(a)), 0.0, 0),
    "cauchy": (lambda r, a: r.standard_cauchy(len(a)), 20.0, 0),
    "yes or no": (lambda r, a: (r.random(len(a)) < 0.3) * 1.0, 0.0, 0),
    "mostly zeros": (lambda r, a: (r.random(len(a)) < 0.05) * r.lognormal(3, 1, len(a)), 0.0, 0),
    "by option": (lambda r, a: 10.0 ** (a / 2) * r.normal(size=len(a)), 10.0, 0),
}


def part(arms, values, some):
    return Readings(np.arange(len(arms))[some], arms[some], values[some])


@pytest.mark.parametrize("law", LAWS)
def test_tenfold_ones_are_asked_about_and_right_ones_hardly_ever(law):
    draw, most, noticed = LAWS[law]
    asked = found = tried = n = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        arms = rng.permutation(np.repeat(np.arange(5), 20))
        values = draw(rng, arms)
        for i in range(len(arms)):
            known, here = part(arms, values, slice(i)), slice(i, i + 1)
            asked += len(questions(known, part(arms, values, here), LABELS))
            n += 1
            if (arms[:i] == arms[i]).sum() in (2, 5):  # the third reading of an option, the sixth
                wrong = part(arms, 10.0 * values, here)
                found += len(questions(known, wrong, LABELS))
                tried += 1
    assert 1000 * asked / n <= most
    assert 10 * found / tried >= noticed


def test_what_was_mistyped_before_does_not_hide_what_is_mistyped_now():
    rng = np.random.default_rng(3)
    arms = np.arange(60) % 4
    values = 0.8 + 0.05 * rng.normal(size=60)
    values[[20, 41]] *= 10.0
    asked = questions(part(arms, values, slice(59)), part(arms, 10 * values, slice(59, 60)), LABELS)
    assert list(asked) == [59]


@pytest.mark.parametrize(("times", "said"), [(1000, "1,000 times"), (0.1, "a 10th of"), (1, None)])
def test_numbers_in_another_unit_are_asked_about_once(times, said):
    rng = np.random.default_rng(1)
    arms, values = np.arange(24) % 3, 2.0 + 0.2 * rng.normal(size=24)
    values[12:] *= times
    asked = questions(part(arms, values, slice(12)), part(arms, values, slice(12, None)), LABELS)
    assert len(asked) == (said is not None)
    assert all(said in text and "12 results" in text for text in asked.values())


def test_every_door_asks_and_none_refuses_or_drops(tmp_path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    problem = sp.Problem.unstructured(["a", "b", "c"], numbers={"latency": (0, 100)})
    study = sp.create_study("doors", problem, storage=url)
    rng = np.random.default_rng(2)
    good = lambda: {"reward": 0.8 + 0.04 * rng.random(), "latency": 20 + rng.random()}  # noqa: E731
    quiet = []
    while study.progress().batch < 3:
        quiet += [study.tell(pull.id, good()).warning for pull in study.ask(4)]
    assert set(quiet) == {None}
    pulls = [None] * 16 + study.ask(4)
    told = study.tell(pulls[16].id, good() | {"reward": 8.1})
    assert "8.1, others 0.8" in told.warning
    assert told.warning.endswith("typed right?")
    assert told.used
    told = study.tell(pulls[17].id, good() | {"latency": 2.1})
    assert f"({pulls[17].label}), latency: 2.1, others 20" in told.warning
    with pytest.raises(InvalidInputError, match=r"typed right\? Nothing was recorded"):
        study.tell(pulls[18].id, good() | {"reward": 81.0}, strict=True)
    command = ["tell", "doors", str(pulls[18].id), "0.082", "--number", "latency=20.5"]
    done = CliRunner().invoke(cli, [*command, "--storage", url])
    assert done.exit_code == 0
    assert "0.082, others 0.8" in done.stderr
    assert "typed right? If it is wrong: surepick correct doors" in done.stderr
    assert {8.1, 0.082} <= set(study.rewards().values.tolist())


def day(rng, visits=1000, rate=0.02, tenfold=None):
    sums = rng.binomial(visits, rate, size=3).astype(float)
    if tenfold is not None:
        sums[tenfold] *= 10
    return np.arange(3), np.full(3, float(visits)), sums


def test_a_count_with_a_digit_too_many_is_asked_about_and_chance_is_not():
    noticed, tried = 0, 0
    for seed in range(20):
        rng, before = np.random.default_rng(seed), []
        for number in range(12):
            few = 0.002 if seed % 2 else 0.02
            own = day(rng, rate=few * (1.0 + number % 2))  # the weekend sells twice as much
            assert rates(before, own, "abc", successes=True) == []
            wrong = day(rng, rate=few * (1.0 + number % 2), tenfold=1)
            asked = rates(before, wrong, "abc", successes=True)
            assert {text.partition(":")[0] for text in asked} <= {"b"}
            if number >= 2 and few > 0.01:
                noticed, tried = noticed + len(asked), tried + 1
            before.append(own)
    assert noticed >= 0.9 * tried


def test_a_report_is_asked_about_when_it_is_checked_and_recorded_all_the_same(tmp_path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    options = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    site = sp.create_study("site", options, storage=url, traffic=True)
    for name, wrong in (("monday", 40), ("tuesday", 44), ("wednesday", 430)):
        site.split()
        report = {"a": (1000, 42), "b": (1000, wrong)}
        checked = site.record(report, name, check=True)
        assert bool(checked.asked) == (name == "wednesday")
        done = site.record(report, name)
        assert (done.status, done.asked) == ("accepted", checked.asked)
    assert done.asked == ["b: 0.43 on average, 0.04 to 0.044 in other periods: typed right?"]
    site.correct_report("wednesday", {"a": (1000, 42), "b": (1000, 43)}, reason="typo")
    site.split()
    file = tmp_path / "report.csv"
    file.write_text("label,visits,successes\na,1000,41\nb,1000,4\n")
    command = ["record", "site", str(file), "--period", "thursday", "--check", "--storage", url]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    assert "some numbers to look at" in done.output
    assert "b: 0.004 on average" in done.output
