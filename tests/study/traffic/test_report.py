"""Reports with mistakes: each is refused with its row and column, and nothing is recorded."""

import math

import numpy as np
import pytest
from tests.study.traffic import site

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.report import tell_report
from surepick.statistics.reported import Reported
from surepick.study import Sheet
from surepick.study.traffic import kinds
from surepick.study.traffic.block import told_of
from surepick.study.traffic.lookback import look_back
from surepick.study.traffic.report import Counts, read_report

GOOD = [("plain", "1000", "41"), ("bold", "990", "50"), ("photo", "0", "0"), ("video", "1010", "9")]
HEAD = "label,visits,successes\n"


def as_csv(rows, head=HEAD):
    return Sheet(csv=head + "".join(",".join(f'"{c}"' for c in row) + "\n" for row in rows))


@pytest.fixture
def study():
    study = site.create()
    study.split()
    return study


@pytest.mark.parametrize(
    ("row", "cells", "message"),
    [
        (0, ("plain", "40", "41"), "column 'successes', line 2: '41' successes are more than 40"),
        (1, ("bold", "-3", "0"), "column 'visits', line 3: '-3' is negative"),
        (1, ("bold", "3.5", "0"), "column 'visits', line 3: '3.5' is not a whole number"),
        (1, ("bold", "99 %", "0"), "column 'visits', line 3: '99 %' is a percentage"),
        (1, ("bold", "990", "5.1%"), "column 'successes', line 3: '5.1%' is a percentage"),
        (1, ("bold", "990", "0.051"), "column 'successes', line 3: '0.051': a rate?"),
        (
            1,
            ("bold", "1,990", "50"),
            "column 'visits', line 3: write '1,990' without thousands separators",
        ),
        (1, ("bold", "1 990", "50"), "write '1 990' without thousands separators"),
        (2, ("fotos", "10", "1"), "column 'label', line 4: no option is called 'fotos'"),
        (2, ("bold", "10", "1"), "column 'label', line 4: 'bold' is there twice"),
        (2, ("photo", "0", "1"), "column 'successes', line 4: '1' cannot come from 0 visits"),
        (3, ("video", "1000000000000", "1"), "more than any site has"),
        (3, ("video", "", "1"), "column 'visits', line 5: a number is missing"),
        (3, ("video", "nan", "1"), "is not a finite number"),
        (3, ("video", "many", "1"), "'many' is not a number"),
        (None, (), r"label: 'video' is missing \(1 of 4 options are\); write 0 visits"),
    ],
)
def test_a_mistake_is_named_with_its_place(study, row, cells, message):
    rows = [cells if i == row else good for i, good in enumerate(GOOD)]
    with pytest.raises(InvalidInputError, match=message):
        study.record(as_csv(rows if row is not None else GOOD[:-1]), "monday")
    assert study.current_run.samples == 0
    assert study.record(as_csv(GOOD), "monday").visits == 3000


def test_reports_of_other_forms_are_refused(study):
    for report, message in [
        ({"plain": 0.04}, r"report\['plain'\] must be \(visits, successes\); got 0.04"),
        ({"plain": (10, 1, 1)}, r"must be \(visits, successes\)"),
        ({"plain": (True, 1)}, r"report\['plain'\]: visits: a number is missing"),
        (Sheet(csv="label,visits\nplain,3\n"), "has no column 'successes'"),
        (dict.fromkeys(site.LABELS, (0, 0)), "nobody came"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            study.record(report, "monday")
    assert study.current_run.samples == 0


def test_visitors_of_an_option_without_a_share_are_refused():
    problem = sp.Problem(np.eye(2), noise="yes-no", labels=["a", "b"])
    with pytest.raises(InvalidInputError, match="'b' had no share in this period"):
        read_report(problem, {"a": (5, 1), "b": (1, 0)}, np.array([1.0, 0.0]))
    assert read_report(problem, {"a": (5, 1)}, np.array([1.0, 0.0])).arms == (0,)


def test_sums_of_squares_must_be_possible():
    problem = sp.Problem(np.eye(2), noise=(0.0, 500.0), labels=["a", "b"])
    shares = np.array([0.5, 0.5])
    rewards = np.array([0.0, 30.0, 470.0])
    good = (3, rewards.sum(), (rewards**2).sum())
    told = told_of(read_report(problem, {"a": good, "b": good}, shares), 2)
    assert told.spreads == pytest.approx([((rewards - rewards.mean()) ** 2).sum()] * 2)
    for squares in (80_000.0, 260_000.0):
        with pytest.raises(
            InvalidInputError, match=r"squares: .* cannot be the sum of squares of 3"
        ):
            read_report(problem, {"a": (3, 500.0, squares), "b": good}, shares)
    with pytest.raises(InvalidInputError, match="lie between 0 and 500"):
        read_report(problem, {"a": (3, 1501.0, 750_000.0), "b": good}, shares)


def test_buckets_are_groups_and_become_fewer_where_too_few_came():
    counts = Counts((0,) * 16 + (1,) * 3, (5,) * 16 + (4, 2, 1), tuple(map(float, range(19))))
    counts = Counts(counts.arms, counts.visits, counts.sums, None, (*range(16), 0, 5, 6))
    told = told_of(counts, 2)
    assert told.pulls.arms.tolist() == [0] * 16 + [1, 1]
    assert told.pulls.parts.tolist() == [*range(16), 0, 1]
    assert told.pulls.counts.tolist() == [5] * 16 + [5, 2]  # 0 and 6 are even, 5 is odd
    assert told.sums.tolist() == [*map(float, range(16)), 16.0 + 18.0, 17.0]


def test_revenue_of_unknown_scale_is_reported_by_bucket():
    rng = np.random.default_rng(3)
    study = site.create(noise=None, delta=0.1)
    number = 0
    while not study.finished and number < 60:
        split = study.split()
        counts = rng.multinomial(4000, list(split.shares.values()))
        report = {}
        for arm, (label, n) in enumerate(zip(split.shares, counts)):
            of = np.bincount(rng.integers(16, size=n), minlength=16)
            report[label] = {
                b: (int(m), float(rng.normal(5 + 2 * arm, 20, m).sum())) for b, m in enumerate(of)
            }
        study.record(report, f"day {number}")
        number += 1
    assert study.answer.label == "video"
    assert sp.verify(study.answer.certificate(), replay=True).replayed
    with pytest.raises(InvalidInputError, match=r"must be a dict with \(visits, sum\) for each"):
        read_report(study.problem, {"plain": (5, 1.0)}, np.full(4, 0.25))
    with pytest.raises(InvalidInputError, match="buckets are numbered from 0 to 15; got 16"):
        read_report(study.problem, {"plain": {16: (5, 1.0)}}, np.full(4, 0.25))


def offset_reports(n, seed, offset=1e8):
    """Periods of two options whose rewards are the offset or one more, half of the time each."""
    rng = np.random.default_rng(seed)
    while True:
        rewards = [offset + (rng.random(n) < 0.5) for _ in range(2)]
        sums = [(n, float(y.sum()), float((y * y).sum())) for y in rewards]
        yield dict(zip("ab", sums, strict=True))


def test_rewards_far_from_nought_prove_nothing_by_rounding():
    """Sums of squares near 5e18 are exact to 1024: nothing was left of what rewards differ by."""
    problem = sp.Problem(np.eye(2), noise=(1e8, 1e8 + 1), labels=["a", "b"])
    for seed in range(4):
        run = sp.algorithms.PooledPeleg(0.2).start(problem)
        for _, report in zip(range(8), offset_reports(500, seed), strict=False):
            told = told_of(read_report(problem, report, np.array([0.5, 0.5])), 2)
            assert told.spreads == pytest.approx([125.0, 125.0], rel=0.05)
            if not run.stopped:
                tell_report(run, told)
        assert not run.stopped


def test_rewards_far_from_nought_are_refused_with_what_to_do_instead():
    cure = r"subtract 100000000.0 from each reward .* between 0 and 1.0"
    with pytest.raises(InvalidInputError, match=cure):
        site.create(noise=(1e8, 1e8 + 1))
    days = "period,label,visits,sum,squares\nmonday,a,9,9,9\nmonday,b,9,9,9\n"
    with pytest.raises(InvalidInputError, match=cure):
        look_back(Sheet(csv=days), rewards="100000000..100000001")
    site.create(noise=(273.0, 373.0))


@pytest.mark.parametrize("careful", [True, False])
def test_a_certificate_fails_where_rounding_hides_what_rewards_differ_by(monkeypatch, careful):
    monkeypatch.setattr(kinds, "FARTHEST", math.inf)
    study = site.create(noise=(1e7, 1e7 + 1), rates=(0.2, 0.8), delta=0.2)
    rng = np.random.default_rng(1)
    if not careful:
        monkeypatch.setattr(Reported, "spread", 0.0)
    for day in range(9):
        if not study.finished:
            study.split()
            rewards = [1e7 + (rng.random(200) < rate) for rate in (0.2, 0.8)]
            sums = [(200, float(y.sum()), float((y * y).sum())) for y in rewards]
            study.record(dict(zip(site.LABELS, sums, strict=False)), f"day {day}")
    assert study.finished
    certificate = study.answer.certificate()
    if careful:
        sp.verify(certificate)
    else:
        with pytest.raises(CertificateError, match="rounding may hide that rewards differ"):
            sp.verify(certificate)
