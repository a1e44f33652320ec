"""Whatever is said of a study, and wherever: no two statements contradict each other."""

import html
import io
import re

import numpy as np
import pytest
from click.testing import CliRunner

import surepick as sp
from surepick.algorithms.findings import PROVEN
from surepick.cli import answer as answer_verb
from surepick.cli.status import screen
from surepick.report.colleague import study_page
from surepick.report.picture import view
from surepick.run.forecast import Ahead

MEANS = {"a": 1.0, "b": 1.5, "c": 0.2, "d": 1.3, "e": 0.6}
PROMISES = re.compile(r"[Oo]f [\d,]+ studies|[Oo]n average over studies|at most [\d.]+ %")
NEAR = MEANS | {"d": 1.48}


def numbers(study, rng, means=MEANS, noise=0.1, failing=None):
    """Measure until it is finished, or 300 times; stops now and then to look."""
    n, looks = 0, [20, 50]
    while not study.finished and n < 300:
        rewards = {}
        for pull in study.ask(10):
            if pull.label == failing and rng.random() < 0.75:
                study.fail(pull.id)
                continue
            rewards[pull.id] = means[pull.label] + noise * rng.normal()
            n += 1
        study.tell_many(rewards)
        if looks and n >= looks[0]:
            looks.pop(0)
            yield
    yield


def visitors(study, rng, rates, lost=None):
    """Record periods of visits until it is finished, or 12 of them."""
    for k in range(12):
        if study.finished:
            break
        split = study.split(visits=8000, period=f"day {k}")
        report = {}
        for label, n in split.visits.items():
            n = n // 2 if label == lost else n
            report[label] = (n, int(rng.binomial(n, rates[label])))
        study.record(report, period=f"day {k}")
        if k in (0, 3):
            yield
    yield


def unstructured(**noise):
    return sp.Problem.unstructured(list(MEANS), **({"noise": "symmetric"} | noise))


def workers(place, **fields):
    return sp.create_study("s", unstructured(noise=0.1), storage=place, **fields)


def on_questions(place, **fields):
    return sp.create_study("s", unstructured(noise="yes-no"), storage=place, **fields)


def site(place, **fields):
    problem = sp.Problem.unstructured(["now", "new", "other"], noise="yes-no")
    return sp.create_study("s", problem, storage=place, traffic=fields.pop("rules", True), **fields)


def several_levels(study, rng):
    """Each plate has a level of its own."""
    plate = 0
    while not study.finished:
        pulls = study.ask(10, stratum=f"plate {plate}")
        told = {p.id: MEANS[p.label] + plate % 3 + 0.05 * rng.normal() for p in pulls}
        study.tell_many(told)
        plate += 1
    yield


def on_items(study, rng):
    hard = rng.random(40)
    while not study.finished:
        pulls = study.ask(20)
        yes = {p.id: rng.random() < MEANS[p.label] / 3 + hard[p.item] / 3 for p in pulls}
        study.tell_many({pull: float(one) for pull, one in yes.items()})
    yield


def turning(study, rng):
    means = MEANS | {"new": 1.2}
    moments = numbers(study, rng, means)
    next(moments)
    study.add(["new"])
    yield
    next(moments)
    study.retire("d", reason="sold out")
    yield from moments


def stopped(study, rng):
    moments = numbers(study, rng)
    next(moments)
    study.stop("enough")
    yield


RATES = {"now": 0.05, "new": 0.08, "other": 0.04}
STUDIES = {
    "plain": (workers, {}, numbers, {}),
    "near enough": (workers, {"epsilon": 0.1}, numbers, {"means": NEAR}),
    "the two best": (workers, {"top": 2}, numbers, {}),
    "two near enough": (
        workers,
        {"top": 2, "epsilon": 0.2},
        numbers,
        {"means": NEAR | {"a": 1.47}},
    ),
    "baseline": (workers, {"baseline": "a"}, numbers, {}),
    "baseline, near": (workers, {"baseline": "d", "epsilon": 0.1}, numbers, {}),
    "discoveries": (workers, {"baseline": "a", "claims": "fdr"}, numbers, {}),
    "a number": (workers, {"threshold": 1.2}, numbers, {}),
    "too few": (workers, {"max_samples": 40}, numbers, {"means": NEAR}),
    "budget": (workers, {"budget": 45}, numbers, {"means": NEAR}),
    "guess": (workers, {"max_samples": 60, "guess": True}, numbers, {"means": NEAR}),
    "other noise": (workers, {}, numbers, {"noise": 0.4}),
    "failures": (workers, {}, numbers, {"failing": "c"}),
    "stopped": (workers, {}, stopped, {}),
    "stopped, baseline": (workers, {"baseline": "d"}, stopped, {}),
    "strata": (workers, {"strata": "plate"}, several_levels, {}),
    "items": (on_questions, {"items": 40}, on_items, {}),
    "turning": (workers, {}, turning, {}),
    "elimination": (workers, {"algorithm": "rage"}, numbers, {}),
    "traffic": (site, {}, visitors, {"rates": RATES}),
    "traffic, control": (site, {"rules": {"control": "now"}}, visitors, {"rates": RATES}),
    "traffic, near": (site, {"epsilon": 0.03}, visitors, {"rates": RATES | {"other": 0.079}}),
    "traffic, lost": (site, {}, visitors, {"rates": RATES, "lost": "new"}),
    "traffic, baseline": (site, {"baseline": "now"}, visitors, {"rates": RATES}),
}


def all_said(study, status, seen):
    """What each door says, as text."""
    ahead = Ahead(None, None, None, 0, "it is not asked here").to_dict()
    from rich.console import Console

    terminal = Console(record=True, width=160, file=io.StringIO())
    terminal.print(screen(study, status | {"forecast": ahead}, 0))
    asked = CliRunner().invoke(answer_verb.command, ["s", "--storage", study.storage.url])
    found = {"status": terminal.export_text(), "answer": asked.output}
    if seen is not None:
        found["picture"] = f"{seen.title}\n{seen.subtitle}"
        page = study_page(study, png=b"").partition("Appendix")[0]
        found["report"] = html.unescape(re.sub("<[^>]+>", " ", page.partition("<body>")[2]))
        found["notebook"] = study.current_run.standing()._repr_html_()
    return found


def look(study):
    """Every rule, at this moment."""
    status = study.status()
    with pytest.MonkeyPatch.context() as patch:  # it takes long, and is the same for all of them
        patch.setattr(study, "status", lambda: status)
        seen = view(study, 0) if status["leader"] is not None else None
        said, now = all_said(study, status, seen), status["standing"]
    kind, columns = status["promise"]["kind"], now["columns"]
    text = "\n".join(said.values())
    # A promise that does not stand is nowhere made.
    if kind not in PROVEN:
        rest = re.sub(r"Exactly: .*", "", text)  # says what would be, otherwise
        rest = re.sub(r"at most [\d,]+ of [\d,]+ studies would ever show", "", rest)
        rest = re.sub(r"The best is among those \d+: of 100 studies[^.]*", "", rest)
        assert not PROMISES.search(rest), PROMISES.search(rest)
        assert "Decided" not in re.sub("Decided by", "", text)
    # No p-value is called a chance of being wrong, and nothing decided has one above delta.
    assert "chance" not in text
    if status["traffic"] and status["finished"] and kind in PROVEN:
        assert status["traffic"]["risk"] <= status["delta"] + 1e-12
    # Better is never out; in or out only where the best are asked for.
    if now["question"] == "baseline":
        assert not re.search("ruled out|still in|looks best|is ahead", text)
        assert len(status["survivors"]) == columns["state"].count("undecided")
    else:
        assert len(status["survivors"]) == sum(s in ("in", "leads") for s in columns["state"])
        rows_agree(status)
    # Where epsilon decided, it says what was shown.
    if status["finished"] and kind == "eps-pac":
        near = f"within {study.problem.noise_kind.apart(status['epsilon'])} of the"
        assert all(near in said[door] for door in ("answer", "status", "picture", "report"))
        assert "is best" not in text
    # The count of options, wherever it is given.
    left = len(status["survivors"])
    for count in re.findall(r"(\d+) of \d+ options (?:still in|undecided|not ruled out)", text):
        assert int(count) == left
    steps = [(0, status["started_with"])] if seen is None else seen.steps
    assert steps[0][1] == status["started_with"]
    if "no limit" in text:
        assert [status["limits"][name] for name in ("max_samples", "budget")] == [None, None]
    return steps


def rows_agree(status):
    """In, out and the leader say the same as p-values and ends."""
    columns = status["standing"]["columns"]
    names = ("state", "p_value", "behind_low", "behind_high")
    for state, p, low, high in zip(*(columns[name] for name in names)):
        if p is None:
            assert low is None or state == "retired"
            continue
        assert (p <= status["delta"] + 1e-12) == (state == "out")
        if state == "out":
            assert (low, high) == (0.0, None)
        elif status["standing"]["question"] == "best":
            assert low is None or low <= 0.0
            assert high is None or high >= 0.0


@pytest.mark.some(3)
@pytest.mark.parametrize("name", STUDIES)
def test_nothing_contradicts_anything(name, tmp_path):
    make, fields, measure, how = STUDIES[name]
    study = make(f"sqlite:///{tmp_path}/s.db", **fields)
    look(study)
    for _ in measure(study, np.random.default_rng(3), **how):
        steps = look(study)
    counts = [count for _, count in steps]
    if name not in ("turning", "discoveries"):
        assert counts == sorted(counts, reverse=True)
    withdrawn = {"other noise", "failures", "traffic, lost"}
    if name in withdrawn:
        assert study.status()["promise"]["kind"] not in PROVEN
