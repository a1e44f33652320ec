"""Past tests: what would have been said, and when."""

import numpy as np
import pytest
from tests.study.traffic import site

from surepick.errors import InvalidInputError, UnknownNameError
from surepick.study import Sheet, look_back

RATES = (0.04, 0.05, 0.06, 0.08)
SHARED = "period,label,share,visits,successes"


def table(days, columns="period,label,visits,successes"):
    rows = [",".join(map(str, (day, *row))) for day, rows in days.items() for row in rows]
    return Sheet(csv="\n".join([columns, *rows, ""]))


def with_fixed_shares(rates, seed=0, days=12, n=8000):
    """A test whose owner sent everybody in equal shares, and never looked."""
    rng = np.random.default_rng(seed)
    share = 1 / len(rates)
    return {
        f"day {day}": [
            (label, f"{share:.6f}", c, rng.binomial(c, rate))
            for label, rate, c in zip("abcdefghij", rates, rng.multinomial(n, [share] * len(rates)))
        ]
        for day in range(days)
    }


def test_a_study_looked_back_at_says_what_it_said(tmp_path):
    study = site.create(control="plain", rates=RATES)
    days = site.decide(study, rates=RATES)
    found = look_back(study.export(tmp_path / "past.csv"), control="plain")
    assert found.decided
    assert found.leader == study.answer.label
    assert len(found.periods) == days == found.all_periods
    assert [one.left for one in found.periods] == [row["survivors"] for row in study.history()]
    now = study.status()["traffic"]
    assert found.periods[-1].risk == now["risk"]
    assert list(found.lift) == now["lift"][site.LABELS.index(found.leader)]
    assert found.doubts == ()  # its export has the shares, and counts fit


def test_shares_of_others_do_as_well_and_what_came_after_is_not_needed():
    past = with_fixed_shares(RATES)
    found = look_back(table(past, SHARED))
    assert (found.decided, found.leader) == (True, "d")
    assert len(found.periods) < found.all_periods == 12
    assert found.visits == 8000 * len(found.periods)
    assert found.periods[0].risk == 1.0  # the first period only guides
    assert found.doubts == ()
    bare = {day: [(label, c, h) for label, _, c, h in rows] for day, rows in past.items()}
    again = look_back(table(bare))
    assert again.periods == found.periods
    assert "could not be compared with the shares" in again.doubts[0]


def test_ties_in_fixed_shares_are_rarely_ruled_out():
    out = 0
    for seed in range(12):
        past = with_fixed_shares([0.1] * 4, seed, days=8, n=2000)
        out += 4 - look_back(table(past, SHARED), delta=0.2).periods[-1].left
    assert out <= 0.2 * 12 * 4  # each of them with a chance of δ at most


def test_doubts_are_said():
    past = with_fixed_shares(RATES)
    for day in list(past)[:2]:
        past[day] = [("a", "0.5", 4000, 160), ("b", "0.5", 4000, 200)]
    assert look_back(table(past, SHARED)).late == ("c", "d")
    assert "joined later" in look_back(table(past, SHARED)).doubts[0]
    broken = {f"day {k}": [("a", "0.5", 5000, 250), ("b", "0.5", 4000, 400)] for k in range(9)}
    (said,) = look_back(table(broken, SHARED)).doubts
    assert "a got" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("period,label,visits,successes\nmon,a,10,11\nmon,b,9,1\n", "'successes', line 2: '11'"),
        ("period,label,visits,successes\nmon,a,10,1\n,b,9,1\n", "'period', line 3: the name"),
        ("period,label,visits,successes\nmon,a,10,1\nmon,a,9,1\nmon,b,1,1\n", "line 3: 'a' is th"),
        ("period,label,visits,successes\nmon,a,10,1\n", "at least two options"),
        (
            "period,label,share,visits,successes\nmon,a,0.5,9,1\nmon,b,0.4,9,1\n",
            "must sum to 1; th",
        ),
        ("period,label,share,visits,successes\nmon,a,5,9,1\nmon,b,0.4,9,1\n", "'5' is not a share"),
    ],
)
def test_mistakes_are_refused_with_their_place(text, message):
    with pytest.raises(InvalidInputError, match=message):
        look_back(Sheet(csv=text))


def test_a_control_is_one_of_the_options():
    with pytest.raises(UnknownNameError, match="control"):
        look_back(table(with_fixed_shares(RATES, days=1), SHARED), control="z")
