"""Segments: a winner for each, one for a mix that was stated, and shares that move."""

import json
from functools import cache

import numpy as np
import pytest
from tests.study.traffic import site

import surepick as sp
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.run.report import tell_report
from surepick.storage.memory import MemoryStorage
from surepick.study.sheet import Sheet

PHONE = {"a": 0.030, "b": 0.034, "c": 0.055}
DESK = {"a": 0.150, "b": 0.110, "c": 0.100}


def decided(rates, seed, delta, n=4000):
    problem = sp.Problem.unstructured([*rates], noise="yes-no")
    study = sp.create_study(
        "segment", problem, storage=MemoryStorage(), traffic=True, delta=delta, seed=seed
    )
    site.decide(study, n=n, rates=tuple(rates.values()), seed=seed)
    return study.answer


@pytest.mark.some(2)
@pytest.mark.parametrize("seed", range(8))
def test_each_segment_finds_its_own_winner(seed):
    phone, desk = (decided(rates, seed, 0.025) for rates in (PHONE, DESK))
    assert (phone.label, desk.label) == ("c", "a")
    assert (phone.guarantee.kind, desk.guarantee.kind) == ("pac", "pac")


@pytest.mark.parametrize("seed", range(8))
def test_shares_that_move_turn_no_comparison_around(seed):
    """Simpson's paradox: "good" is ahead on phones and on desks, and behind on the whole.

    On the first days buyers come from desks, and "poor" is sent nearly all; later from phones, when
    "good" is.
    """
    phone, desk = np.array([0.03, 0.04]), np.array([0.10, 0.13])
    problem = sp.Problem.unstructured(["poor", "good"], noise="yes-no")
    run = sp.algorithms.PooledPeleg(0.05).start(problem)
    rng, all_counts, all_hits = np.random.default_rng(seed), np.zeros(2), np.zeros(2)
    days = 0
    while not run.stopped and days < 40:
        early = days < 3
        counts = rng.multinomial(6000, [0.9, 0.1] if early else [0.1, 0.9])
        desks = rng.binomial(counts, 0.95 if early else 0.05)
        hits = rng.binomial(desks, desk) + rng.binomial(counts - desks, phone)
        told = ToldPulls(Pulls.from_counts(counts), hits.astype(float))
        tell_report(run, told, deal=str(seed))
        all_counts, all_hits, days = all_counts + counts, all_hits + hits, days + 1
    poor, good = all_hits / all_counts
    assert poor > good or days <= 4  # on the whole it looks the other way round
    assert run.stopped
    assert run.answer.label == "good"


SHARES = {"phone": 0.7, "desk": 0.3}


def weighed(rates, seed=0, storage=None, costs=None, **settings):
    problem = sp.Problem.unstructured([*rates], noise="yes-no", costs=costs)
    own = {"traffic": True, "segments": SHARES, "seed": seed} | settings
    return sp.create_study("mix", problem, storage=storage or MemoryStorage(), **own)


def day_of(study, rates, rng, phones, visits=6000, level=1.0):
    """A report of a period, of whose visitors so many have phones."""
    split, report = study.split(visits=visits), {}
    for label, n in split.visits.items():
        if split.shares[label]:
            on = rng.binomial(n, phones), 0
            counts = dict(zip(SHARES, (on[0], n - on[0])))
            chances = zip(counts.items(), rates[label])
            report[label] = {
                segment: (k, int(rng.binomial(k, level * p))) for (segment, k), p in chances
            }
    return report


def follow(study, rates, seed=0, phones=(0.95, 0.05), begun=0):
    rng, day = np.random.default_rng(seed), begun
    while not study.finished and day < 40:
        report = day_of(study, rates, rng, phones[day % len(phones)], level=1 + 0.2 * np.sin(day))
        study.record(report, period=f"day {day}")
        day += 1
    return study


#: "good" wins by the stated mix, and by far on phones; "desk" wins among desks, who come in crowds
OPPOSITE = {"poor": (0.03, 0.06), "good": (0.06, 0.06), "desk": (0.035, 0.10)}


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_is_about_the_mix_that_was_stated(seed):
    """Whoever comes: three of four visitors sit at desks here, where another version wins."""
    study = follow(weighed(OPPOSITE, seed), OPPOSITE, seed, phones=(0.3, 0.2))
    mix = {label: 0.7 * phone + 0.3 * desk for label, (phone, desk) in OPPOSITE.items()}
    assert max(mix, key=mix.get) == "good"
    assert study.answer.label == "good"
    assert study.answer.guarantee.kind == "pac"
    means = study.status()["means"]
    assert means[1] == pytest.approx(mix["good"], rel=0.15)


def test_certificates_of_a_mix_hold_and_are_replayed_also_after_a_correction(storage_url):
    study, rates = weighed(CLEAR, storage=storage_url), CLEAR
    rng = np.random.default_rng(1)
    first = day_of(study, rates, rng, 0.5)
    study.record(first, period="day 0")
    visits, yes = first["poor"]["desk"]
    change = study.correct_report(
        "day 0", first | {"poor": first["poor"] | {"desk": (visits - 9, yes)}}, reason="bots"
    )
    assert [(row.label, row.segment) for row in change.rows] == [("poor", "desk")]
    follow(study, rates, 2, phones=(0.5, 0.3), begun=1)
    certificate = study.answer.certificate()
    found = sp.verify(certificate, replay=True)
    assert found.label == "good"
    assert found.complete
    assert found.unknown == ()
    assert "'phone' 0.7, 'desk' 0.3" in found.statement
    assert "70 % phone and 30 % desk" in found.plain


CLEAR = {"poor": (0.03, 0.06), "good": (0.09, 0.06), "desk": (0.035, 0.10)}


@cache
def finished():
    return json.dumps(follow(weighed(CLEAR), CLEAR, phones=(0.5, 0.3)).answer.certificate())


def other_shares(body):
    body["problem"]["noise"]["segments"] = {"phone": 0.2, "desk": 0.8}


def moved_visitors(body):
    """Yes that came from desks, said to be of phones."""
    batch = body["batches"][-2]
    rows = [i for i, arm in enumerate(batch["arms"]) if arm == 1]
    batch["sums"][rows[0]] += 40
    batch["sums"][rows[1]] -= 40


def third_segment(body):
    body["batches"][-1]["parts"][-1] = 2


def no_traffic(body):
    del body["traffic"]


def not_looked_at(body):
    body["traffic"]["past"] = 1


@pytest.mark.parametrize(
    "forged", [other_shares, moved_visitors, third_segment, no_traffic, not_looked_at]
)
def test_forged_certificates_of_a_mix_are_refused(forged):
    body = json.loads(finished())
    assert sp.verify(body).label == "good"
    forged(body)
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError):
        sp.verify(body)


def test_an_empty_segment_decides_nothing():
    """Who has nobody of a segment has no rate of the mix in that period, however clear the rest."""
    problem = sp.Problem.unstructured(["a", "b"], noise={"segments": SHARES})
    run = sp.algorithms.PooledPeleg(0.05).start(problem)
    both = Pulls(np.array([0, 0, 1, 1]), np.array([500, 500, 500, 500]), np.array([0, 1, 0, 1]))
    tell_report(run, ToldPulls(both, np.array([10.0, 20.0, 10.0, 20.0])))
    half = Pulls(np.array([0, 0, 1]), np.array([9000, 9000, 9000]), np.array([0, 1, 0]))
    for _ in range(5):
        tell_report(run, ToldPulls(half, np.array([90.0, 900.0, 1800.0])))
    assert not run.stopped
    assert run.state.p_value() == 1.0
    for _ in range(5):
        whole = Pulls(both.arms, 18 * both.counts, both.parts)
        tell_report(run, ToldPulls(whole, np.array([90.0, 900.0, 900.0, 900.0])))
        if run.stopped:
            break
    assert run.answer.label == "b"


def test_bets_on_a_mix_are_fair():
    """Whatever the mix of those who come: on average a bet pays at most 1, by enumeration."""
    from surepick.algorithms.pooled.kinds.bounded import BoundedPayoff
    from surepick.algorithms.pooled.payoff import News

    shares = np.array([0.7, 0.3])
    rates = np.array([[0.3, 0.6], [0.2, (0.7 * 0.1 + 0.3 * 0.6) / 0.3]])
    assert shares @ rates[0] == pytest.approx(shares @ rates[1])
    counts, payoff = np.array([2, 1, 1, 2]), BoundedPayoff((1.0,), 0.0, 1.0, True)
    takes = np.concatenate([-shares / counts[:2], shares / counts[2:]])
    predicted = np.array([0.4, 0.4, 0.4, 0.4])
    total, chances = 0.0, np.zeros(0)
    grids = np.meshgrid(*(np.arange(n + 1) for n in counts), indexing="ij")
    for yes in np.stack([one.ravel() for one in grids], axis=1):
        ways = [
            float(np.prod(np.arange(n, n - k, -1)) / np.prod(np.arange(1, k + 1))) * p**k * q
            for n, k, p, q in zip(
                counts, yes, rates.ravel(), (1 - rates.ravel()) ** (counts - yes), strict=True
            )
        ]
        facts = (counts.astype(float), yes.astype(float), np.zeros(4), predicted)
        block = type("Seen", (), {"facts": facts})
        news = News(np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), takes[None, None])
        paid = payoff.staked(np.full((1, 1, 1, 1), 0.8), news, block)
        chances = np.append(chances, np.prod(ways))
        total += chances[-1] * float(np.exp(paid[0, 0, 0]))
    assert chances.sum() == pytest.approx(1.0)
    assert 0.8 < total <= 1.0 + 1e-12


LOW = {"poor": (0.09, 0.06), "good": (0.03, 0.06), "desk": (0.10, 0.02)}


def test_smaller_is_better_in_a_mix_too():
    turned = follow(weighed(LOW, minimise=True), LOW, phones=(0.6, 0.4))
    assert turned.answer.label == "good"
    assert sp.verify(turned.answer.certificate(), replay=True).label == "good"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"traffic": None}, "only a traffic study"),
        ({"segments": {"phone": 1.0}}, "two or more"),
        ({"segments": {"phone": 0.7, "desk": 0.7}}, "must sum to 1"),
        ({"segments": "phone 70%"}, "phone=70%,desk=30%"),
        ({"segments": "a=50%,a=50%"}, "twice"),
    ],
)
def test_segments_that_cannot_be_are_refused(settings, said):
    with pytest.raises(sp.SurepickError, match=said):
        weighed(OPPOSITE, **settings)


def test_numbers_of_a_mix_are_refused():
    own = {"storage": MemoryStorage(), "traffic": True, "segments": SHARES}
    problem = sp.Problem.unstructured(["a", "b"], noise=(0, 9))
    with pytest.raises(sp.SurepickError, match="yes or no"):
        sp.create_study("m", problem, **own)
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no", numbers={"seconds": (0, 60)})
    with pytest.raises(sp.SurepickError, match="'seconds' is not yes or no"):
        sp.create_study("m", problem, keep=["seconds <= 9"], **own)


REFUNDS = {"poor": (0.01, 0.01), "good": (0.012, 0.02), "desk": (0.05, 0.12)}
RATES = {"poor": (0.03, 0.06), "good": (0.09, 0.06), "desk": (0.12, 0.10)}


def in_a_mix(**asked):
    """A decided test in a mix, with refunds where these are to be limited."""
    if "keep" in asked:
        return guarded(weighed(RATES, delta=0.1, **asked), RATES, 1)
    if "cheapest" not in asked:
        return follow(weighed(CLEAR, **asked), CLEAR, phones=(0.5, 0.3))
    problem = sp.Problem.unstructured([*CLEAR], noise="yes-no", costs=[1, 2, 3])
    own = {"storage": MemoryStorage(), "traffic": True, "segments": SHARES, "seed": 0}
    return follow(sp.create_study("mix", problem, **own, **asked), CLEAR, phones=(0.5, 0.3))


_KEPT = {
    "a rate": ({"keep": ["refunds <= 3%"]}, "good"),
    "than another": ({"keep": ["refunds <= poor + 1%"]}, "good"),
    "nobody": ({"keep": ["refunds <= 0.1%"]}, None),
    "claims": ({"keep": ["refunds <= 3%"], "baseline": "poor"}, "good"),
    "close": ({"keep": ["refunds <= 3%"], "epsilon": 0.01}, "good"),
    "cheapest": (
        {"keep": ["refunds <= 3%"], "cheapest": True, "within": 0.03, "costs": [1, 2, 0.5]},
        "good",
    ),
    "two": ({"keep": ["refunds <= 3%"], "top": 2}, "good"),
}


def guarded(study, rates, seed, begun=0, days=40):
    """Reports by segment that say how many of the visitors sent things back, too."""
    for number in range(begun, days):
        if study.finished:
            break
        rng = np.random.default_rng([seed, number])
        report = day_of(study, rates, rng, (0.7, 0.3)[number % 2])
        for label, rows in report.items():
            for segment, (n, yes) in rows.items():
                chance = REFUNDS[label][[*SHARES].index(segment)]
                rows[segment] = (n, yes, int(rng.binomial(n, chance)))
        study.record(report, f"day {number}")
    return study


@pytest.mark.parametrize("asked", _KEPT)
def test_limits_are_kept_in_the_mix(asked):
    """The version with the best rate sends back too much, on phones less than at desks."""
    settings, best = _KEPT[asked]
    study = in_a_mix(**settings)
    answer = study.answer
    proven = ("nobody",) if best is None else ("pac", "eps-pac", "claims")
    assert answer.guarantee.kind in proven
    assert best in (None, answer.label)
    found = sp.verify(answer.certificate(), replay=True)
    assert found.complete
    assert found.unknown == ()
    assert "for refunds" not in found.plain
    body = json.loads(json.dumps(answer.certificate()))
    body["problem"]["numbers"]["refunds"]["segments"] = {"phone": 0.99, "desk": 0.01}
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError, match="nothing can be shown of the mean of 'refunds'"):
        sp.verify(body)


def test_limits_of_a_mix_hold_when_a_version_is_added_and_another_one_retired():
    rates = RATES
    study = weighed({"poor": 0, "desk": 0}, delta=0.1, keep=["refunds <= 3%"])
    guarded(study, rates, 2, days=2)
    study.add(["good"])
    guarded(study, rates, 2, begun=2, days=5)
    study.retire("desk", reason="it is gone")
    guarded(study, rates, 2, begun=5)
    assert study.answer.label == "good"
    assert sp.verify(study.answer.certificate(), replay=True).complete


@pytest.mark.parametrize("segments", [SHARES, None])
def test_compared_with_a_number_each_option_has_to_stay_on_its_side(segments):
    """A day on which everybody buys more moves options past a number, and none past another."""
    if segments is None:
        problem = sp.Problem.unstructured(["poor", "good"], noise="yes-no")
        own = {"storage": MemoryStorage(), "traffic": True, "delta": 0.2, "seed": 0}
        study = sp.create_study("number", problem, threshold=0.045, **own)
        for number in range(40):
            if not study.finished:
                came = np.random.default_rng(number)
                study.record(
                    site.visitors(study.split(), 4000, came, (0.03, 0.06)), f"day {number}"
                )
    else:
        study = follow(weighed(CLEAR, threshold=0.06, delta=0.2), CLEAR, phones=(0.5, 0.3))
    assert study.answer.better == ("good",)
    found = sp.verify(study.answer.certificate(), replay=True)
    assert found.complete
    steady = "options are better than the number, and which are worse, does not change from period"
    for said in (found.plain, study.answer.plain, found.statement, str(study.answer.guarantee)):
        assert steady in said
        assert "which of two options is better does not change" not in said


@pytest.mark.parametrize("segments", [SHARES, None])
@pytest.mark.parametrize("epsilon", [0.0, 0.004])
def test_the_cheapest_version_that_is_good_enough_is_found(segments, epsilon):
    """Who is out stays in view: to be good enough is to be so beside everybody, also later on."""
    rates = {"free": 0.03, "cheap": 0.07, "dear": 0.072, "dearest": 0.06}
    problem = sp.Problem.unstructured([*rates], noise="yes-no", costs=[1, 2, 3, 4])
    own = {"storage": MemoryStorage(), "traffic": True, "delta": 0.1, "seed": 1}
    own |= {"cheapest": True, "within": 0.015, "epsilon": epsilon, "segments": segments}
    study = sp.create_study("coupons", problem, **own)
    if segments:
        follow(study, {x: (1.1 * p, 0.63 * p) for x, p in rates.items()}, phones=(0.6, 0.4))
    for number in range(60):
        if not study.finished:
            came = np.random.default_rng(number)
            told = site.visitors(study.split(), 4000, came, tuple(rates.values()))
            study.record(told, f"day {number}")
    answer = study.answer
    assert (answer.label, answer.guarantee.kind[-3:]) == ("cheap", "pac")
    assert answer.cost == answer.pulls @ [1, 2, 3, 4]
    found = sp.verify(answer.certificate(), replay=True)
    assert found.complete
    for said in (found.plain, answer.plain, found.statement):
        assert "and whether by more than what is close enough, does not change from period" in said
    body = json.loads(json.dumps(answer.certificate()))
    body["batches"][-1]["sums"] = [0.0 for _ in body["batches"][-1]["sums"]]
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError):  # nothing shows again where nobody buys
        sp.verify(body)


def test_costs_are_for_the_cheapest_that_is_good_enough():
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no", costs=[1, 2])
    with pytest.raises(sp.SurepickError, match="ask for the cheapest that is good enough"):
        sp.create_study("c", problem, storage=MemoryStorage(), traffic=True)


def test_a_report_names_its_segments():
    study = weighed(OPPOSITE)
    report = day_of(study, OPPOSITE, np.random.default_rng(0), 0.5)
    with pytest.raises(sp.SurepickError, match=r"no segment is called 'tablet'; there are phone"):
        study.record(report | {"poor": {"tablet": (10, 1)}}, period="x")
    with pytest.raises(sp.SurepickError, match="for each segment"):
        study.record(report | {"poor": (10, 1)}, period="x")
    rows = ["label,segment,visits,successes"]
    rows += [f"{a},{s},{n},{k}" for a, own in report.items() for s, (n, k) in own.items()]
    assert study.record(Sheet(csv="\n".join(rows)), period="x").status == "accepted"
    assert study.status()["traffic"]["columns"] == ["label", "segment", "visits", "successes"]


def test_a_tag_that_dies_among_one_segment_is_noticed():
    study, rng = weighed(OPPOSITE), np.random.default_rng(0)
    level = dict.fromkeys(OPPOSITE, (0.05, 0.05))
    for day in range(3):
        report = day_of(study, level, rng, 0.5)
        if day == 2:
            report["poor"]["desk"] = (report["poor"]["desk"][0], 0)
        study.record(report, period=f"day {day}")
    said = study.checks().own_past.message
    assert said.startswith("Among desk: The rate of poor went its own way in period 'day 2'")


def test_a_mix_that_moves_raises_no_alarm():
    """Pooled over segments every rate would move, each by another factor."""
    steady = {"poor": (0.03, 0.09), "good": (0.05, 0.05), "desk": (0.02, 0.11)}
    study, rng = weighed(steady), np.random.default_rng(3)
    for day in range(6):
        study.record(day_of(study, steady, rng, 0.9 if day % 2 else 0.1), period=f"day {day}")
        if study.finished:
            break
    assert not study.checks().own_past


def test_segments_by_the_command_line(tmp_path):
    """Created by shares in per cent, reported with a column."""
    from click.testing import CliRunner

    from surepick.cli import cli

    where = ["--storage", f"sqlite:///{tmp_path}/s.db"]
    (tmp_path / "versions.csv").write_text("label\npoor\ngood\ndesk\n")
    runner = CliRunner()

    def say(*words):
        found = runner.invoke(cli, [*words, *where])
        assert found.exit_code == 0, found.output
        return found.output

    traffic = ["--traffic", "--rewards", "yes-no", "--segments", "phone=70%,desk=30%"]
    made = say("new", "shop", str(tmp_path / "versions.csv"), *traffic)
    assert "label, segment, visits, successes" in made
    say("split", "shop")
    rows = ["label,segment,visits,successes"]
    rows += [f"{a},{s},1000,{k}" for a in OPPOSITE for s, k in (("phone", 30), ("desk", 50))]
    (tmp_path / "day.csv").write_text("\n".join(rows) + "\n")
    said = say("record", "shop", str(tmp_path / "day.csv"), "--period", "monday")
    assert "6,000 visits recorded" in said
    assert "3.6 %" in say("status", "shop")  # 0.7 · 3 % + 0.3 · 5 %
    assert "segment" in say("export", "shop", "--what", "measurements")
