"""Certificates whose run is made again: nothing but rewards is left to invent."""

import copy
import json
import math
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from click.testing import CliRunner
from tests.verifier.kinds import KINDS, as_json, finished
from tests.verifier.samples import corrected, of_study
from tests.verifier.test_forgeries import (
    PROBLEM,
    RULERS,
    certificate_of,
    completed,
    sentence,
)

import surepick as sp
from surepick.algorithms.base import Pulls
from surepick.arrays import cutoffs
from surepick.cli import cli
from surepick.errors import CertificateError
from surepick.run import replay as replay_module
from surepick.run.certificate import comes_out_alike, fingerprint, made_here
from surepick.run.replay import DRAWN, EXACT, ROUNDED
from surepick.run.verify import verdict
from surepick.verifier.verify import verify as verify_alone

REPLAYED = {
    "phases",
    "phases of fixed width",
    "phases, scales by arm",
    "pooled",
    "pooled, scales unknown",
    "pooled, equal scales",
    "pooled, scales by arm",
    "static",
    "static by a union",
    "checked-fit",
}


@pytest.mark.some(5)
@pytest.mark.parametrize("ruler", RULERS)
def test_honest_certificates_are_replayed_where_that_is_possible(ruler):
    found = sp.verify(certificate_of(ruler), replay=True)
    if ruler in REPLAYED:
        assert (found.replayed, found.replay) == (True, EXACT)
    elif ruler.startswith("alba"):
        assert (found.replayed, found.complete, found.replay) == (False, False, f"in part: {DRAWN}")
    else:
        assert not found.replayed
        assert "cannot be computed from its certificate" in found.replay


@pytest.mark.some(1)
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_noise_with_a_past(name):
    for more in ({"past": 40}, {"past": 40, "in_advance": False}, {"epsilon": 0.3}):
        assert sp.verify(as_json(finished(name, **more)), replay=True).replay == EXACT


@pytest.mark.some(1)
@pytest.mark.parametrize("more", [{"max_batch": 7}, {"max_samples": 20}, {"by": "checked-fit"}])
def test_pieces_budgets_and_checks(more):
    assert sp.verify(as_json(finished("known", **more)), replay=True).replay == EXACT


def test_only_the_verifier_where_nobody_wants_a_replay():
    certificate = certificate_of("pooled")
    found = sp.verify(certificate, replay=False)
    assert (found.replayed, found.replay) == (False, "not done")
    assert found == verify_alone(certificate)
    assert sp.verify(certificate).replayed  # by default, as it takes no time


# -- batches left out, or in another order ---------------------------------------------------
def near_tie(seed):
    """A run on two arms that are nearly alike, the second of them the better one."""
    problem = sp.Problem(np.eye(2), noise=1.0)
    rng = np.random.default_rng(seed)
    run = sp.algorithms.PooledPeleg(0.2, max_samples=2000).start(problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, 0.02 * batch.arms + rng.normal(size=batch.size))
    return json.loads(json.dumps(run.answer.certificate()))


def rerun(batches):
    """A certificate of what the algorithm would have made of these batches, honestly recorded."""
    problem = sp.Problem(np.eye(2), noise=1.0)
    run = sp.algorithms.PooledPeleg(0.2, max_samples=2000).start(problem)
    for batch in batches:
        if run.stopped:
            break
        run.ask()
        pulls = Pulls(np.array(batch["arms"]), np.array(batch["counts"]))
        run.state.replace(pulls)
        run.tell_totals(run.put(pulls), np.array(batch["sums"]), None)
    return json.loads(json.dumps(run.answer.certificate())) if run.state.finished else None


def lead(batch):
    """Of the first arm, in standard errors."""
    if batch["arms"] != [0, 1]:
        return 0.0
    first, second = (total / count for total, count in zip(batch["sums"], batch["counts"]))
    return (first - second) / math.sqrt(sum(1 / count for count in batch["counts"]))


def lucky(certificate):
    """Wrong answers that come of leaving out batches, or of another order."""
    batches = certificate["batches"]
    best = sorted(batches, key=lead, reverse=True)
    for some in ([b for b in batches if lead(b) > 0.3], best, best[: len(best) // 2]):
        forgery = rerun(some)
        if forgery is not None and forgery["claim"]["candidate"] == 0:
            yield forgery


def pulls_of(certificate):
    return [(batch["arms"], batch["counts"]) for batch in certificate["batches"]]


@cache
def chosen_in_hindsight():
    """Records that hold, each by itself: only that their batches were chosen is wrong with them."""
    found, seed = [], 0
    while len(found) < 22:
        certificate, seed = near_tie(seed), seed + 1
        for forgery in lucky(certificate):
            # With the same pulls as before it has other rewards, which no replay can see.
            if pulls_of(forgery) != pulls_of(certificate)[: len(forgery["batches"])]:
                found.append(forgery)
    return found


@pytest.mark.validation
def test_batches_cannot_be_left_out_or_reordered():
    for forgery in chosen_in_hindsight():
        assert verify_alone(forgery).guarantee == "pac"
        for replay in (True, None):
            with pytest.raises(CertificateError, match="certificate refused: replayed, "):
                sp.verify(forgery, replay=replay)
    assert len(chosen_in_hindsight()) > 18


# What a forger may write so that the run cannot be made again, or need not come out the same.
def of_nobody(body):
    body["algorithm"]["name"] = "of-somebody-else"


def with_a_correction(body):
    """A reward that was changed after everything had been asked for."""
    known = {"pull": 0, "arm": 0, "batch": 0, "asked": len(body["batches"]), "by": None}
    body["corrections"] = [known | {"old": 0.1, "new": 0.2, "at": 1.0, "reason": "misread"}]
    body["claim"]["statement"] = sentence(body, "pac")


def of_another_machine(body):
    body["made"]["machine"] = "another kind"


def of_an_old_release(body):
    body["made"] = {"surepick": "0.2.0", "numpy": "2.0.0", "machine": "another kind"}


EXCUSES = (of_nobody, with_a_correction, of_another_machine, of_an_old_release)
DISGUISES = [some for n in (1, 2, 3) for some in combinations(EXCUSES, n)]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "disguise", DISGUISES, ids=lambda some: " and ".join(one.__name__ for one in some)
)
def test_hindsight_finds_no_excuse(tmp_path, disguise):
    """With --replay none passes: it is refused, or what was not checked is said before all else."""
    forgeries, path = chosen_in_hindsight(), tmp_path / "certificate.json"
    for number, plain in enumerate(forgeries):
        forgery = copy.deepcopy(plain)
        for excuse in disguise:
            excuse(forgery)
        forgery = sealed({key: value for key, value in forgery.items() if key != "digest"})
        assert verify_alone(forgery).guarantee == "pac"  # nothing but the replay is in its way
        try:
            found = sp.verify(forgery, replay=True)
        except CertificateError:
            found = None
        assert not found, number
        if number and found is not None:
            assert verdict(found)[0].startswith("NOT fully verified. The run could not be repeated")
            continue
        path.write_text(json.dumps(forgery))
        done = CliRunner().invoke(cli, ["verify", str(path), "--replay"])
        assert done.exit_code == 1
        first = done.output.splitlines()[0]
        assert first.startswith(("certificate refused: ", "NOT fully verified. ")), first


@pytest.mark.parametrize("disguise", EXCUSES)
def test_what_was_not_replayed_is_said_first_where_nobody_asked_for_it(tmp_path, disguise):
    path = tmp_path / "certificate.json"
    for plain in chosen_in_hindsight()[:3]:
        forgery = copy.deepcopy(plain)
        disguise(forgery)
        forgery = sealed({key: value for key, value in forgery.items() if key != "digest"})
        path.write_text(json.dumps(forgery))
        done = CliRunner().invoke(cli, ["verify", str(path)])
        first = done.output.splitlines()[0]
        if disguise in (of_nobody, with_a_correction):
            assert done.exit_code or first.startswith("Without a replay ("), first
        else:
            assert done.exit_code == 1


def sealed(body):
    return body | {"digest": fingerprint(body)}


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "ruler", ["phases", "pooled", "pooled, scales unknown", "static", "checked-fit"]
)
def test_changed_pulls_are_found(ruler):
    """A pull more of one arm, with a reward that fits, wherever the verifier lets it pass."""
    certificate = certificate_of(ruler)
    passed = 0
    for number in range(len(certificate["batches"])):
        forgery = copy.deepcopy(certificate)
        batch = forgery["batches"][number]
        batch["sums"][0] *= (batch["counts"][0] + 1) / batch["counts"][0]
        batch["counts"][0] += 1
        forgery["claim"]["samples"] += 1
        forgery = completed(forgery)
        try:
            verify_alone(forgery)
        except CertificateError:
            continue
        passed += 1
        with pytest.raises(CertificateError, match="replayed"):
            sp.verify(forgery, replay=True)
    assert passed or ruler in ("static", "checked-fit", "pooled, scales unknown")


def test_extra_pulls_are_worked_out_again():
    """A pull that was to check the model, passed off as one of the algorithm's own."""
    certificate = certificate_of("checked-fit", inner="peleg")
    passed = 0
    for number, extra in enumerate(certificate["evidence"]["extra"]):
        for arm in extra:
            forgery = copy.deepcopy(certificate)
            forgery["evidence"]["extra"][number].remove(arm)
            try:
                forgery = completed(forgery)
                verify_alone(forgery)
            except ValueError:  # nothing follows, or nothing can be worked out
                continue
            passed += 1
            with pytest.raises(CertificateError, match="replayed, the evidence"):
                sp.verify(forgery, replay=True)
    assert passed


def test_weights_of_a_design_are_worked_out_again():
    certificate = certificate_of("alba")
    forgery = copy.deepcopy(certificate)
    stage = forgery["evidence"]["stages"][-1]
    drawn = np.zeros(len(PROBLEM.arms))
    for batch in forgery["batches"][stage["batch"] :]:
        drawn[batch["arms"]] += batch["counts"]
    weights = drawn[stage["arms"]] / drawn.sum()
    stage["weights"] = (weights / weights.sum()).tolist()  # as drawn: estimates without a bias
    forgery = completed(forgery)
    assert verify_alone(forgery)
    with pytest.raises(CertificateError, match=r"evidence\.stages\.\d+\.weights"):
        sp.verify(forgery, replay=True)


# -- other machines --------------------------------------------------------------------------
def moved(certificate):
    """A pull of the first batch moved to another arm, as rounding might have it."""
    body = copy.deepcopy(certificate)
    batch = body["batches"][0]
    at = [i for i, count in enumerate(batch["counts"]) if count > 1][:2]
    for i, step in zip(at, (1, -1), strict=True):
        batch["sums"][i] *= (batch["counts"][i] + step) / batch["counts"][i]
        batch["counts"][i] += step
    return body


def test_single_pulls_that_rounding_may_have_moved():
    certificate = certificate_of("phases")
    with pytest.raises(CertificateError, match="single pulls of some batches differ"):
        sp.verify(completed(moved(certificate)), replay=True)  # made here, where nothing moves
    elsewhere = moved(certificate) | {"made": {"machine": "another kind"}}  # by an old release
    found = sp.verify(completed(elsewhere), replay=True)
    assert (found.replayed, found.replay) == (False, f"not exactly: {ROUNDED}")
    assert not found
    body = moved(moved(certificate))
    with pytest.raises(CertificateError, match="batch 0 is not what is asked for"):
        sp.verify(completed(body), replay=True)


def test_what_was_made_elsewhere_is_not_refused_unless_a_replay_is_demanded():
    other = moved(moved(certificate_of("phases")))
    other["made"] |= {"machine": "another kind", "surepick": "0.2.0"}
    del other["made"]["pulls_rule"]  # earlier releases had none
    other = completed(other)
    found = sp.verify(other)
    assert not found.replayed
    assert not found  # with or without being asked for, it came out differently
    assert "not possible here: batch 0" in found.replay
    assert "another kind of processor" in found.replay
    with pytest.raises(CertificateError, match="another kind of processor"):
        sp.verify(other, replay=True)


@pytest.mark.parametrize("times", [1, 2])
def test_pulls_are_the_same_on_every_machine_so_elsewhere_is_no_excuse(times):
    other = certificate_of("phases")
    for _ in range(times):
        other = moved(other)
    other["made"]["machine"] = "another kind"
    with pytest.raises(CertificateError, match="replayed"):
        sp.verify(completed(other))


def test_a_certificate_of_another_machine_is_replayed_in_full():
    other = copy.deepcopy(certificate_of("phases"))
    other["made"] |= {"machine": "another kind", "numpy": "9.9"}
    assert sp.verify(completed(other)).replayed


def test_very_large_tables_are_held_to_the_machine_of_their_kind():
    body = {"made": made_here() | {"machine": "another kind"}}
    assert comes_out_alike(body, cutoffs.LARGE_TABLE)
    assert not comes_out_alike(body, cutoffs.LARGE_TABLE + 1)
    assert not comes_out_alike(body | {"problem": {"large": True}}, 1)
    assert comes_out_alike({"made": made_here()}, cutoffs.LARGE_TABLE + 1)
    assert not comes_out_alike({"made": None}, 1)


def test_unknown_algorithms_and_settings():
    certificate = certificate_of("phases")
    theirs = copy.deepcopy(certificate)
    theirs["algorithm"]["name"] = "of-somebody-else"
    found = sp.verify(sealed(theirs), replay=True)
    assert "not a known algorithm here" in found.replay
    assert not found
    assert sp.verify(sealed(theirs))  # nobody asked for a replay: it says that there was none
    odd = copy.deepcopy(certificate)
    odd["algorithm"]["settings"]["growth"] = -1.0
    with pytest.raises(CertificateError, match="does not accept these settings"):
        sp.verify(sealed(odd), replay=True)


def test_nobody_waits_for_a_replay_that_takes_long(monkeypatch):
    certificate = certificate_of("pooled")
    monkeypatch.setattr(replay_module, "_MANY_PULLS", 10)
    assert "to run it anyway" in sp.verify(certificate).replay
    assert sp.verify(certificate, replay=True).replayed


def test_a_certificate_that_refers_to_its_arms():
    arms = np.tile(np.random.default_rng(0).normal(size=(4200, 4)), 16)
    problem = sp.Problem(arms, noise=0.3)
    run = sp.algorithms.PooledPeleg(0.1, epsilon=5.0).start(problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, arms[batch.arms, 0])
    certificate = run.answer.certificate()
    assert certificate["version"] == 1
    assert "to run it anyway" in sp.verify(certificate, problem).replay
    for given in (problem, arms):
        assert sp.verify(certificate, given, replay=True).replay == EXACT


# -- the command -----------------------------------------------------------------------------
def test_the_command_says_what_was_done(tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(certificate_of("pooled")))
    call = lambda *more: CliRunner().invoke(cli, ["verify", str(path), *more])  # noqa: E731
    assert f"Replay: {EXACT}." in call().output
    assert f"Replay: {EXACT}." in call("--replay").output
    assert "Replay: not done." in call("--no-replay").output
    assert json.loads(call("--json").output)["replayed"] is True
    path.write_text(json.dumps(completed(moved(moved(certificate_of("phases"))))))
    refused = call("--replay")
    assert refused.exit_code == 1
    assert "batch 0 is not what is asked for" in refused.output
    assert call("--no-replay").exit_code == 0


def test_a_replay_in_part_is_not_complete(tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(of_study(corrected())))
    call = lambda *more: CliRunner().invoke(cli, ["verify", str(path), *more])  # noqa: E731
    assert (call().exit_code, call("--replay").exit_code) == (0, 1)
    assert "NOT fully verified" in call("--replay").output.splitlines()[0]
    for words in ([], ["--replay"]):
        first = call(*words).output.splitlines()[0]
        assert "batches are what the algorithm asks for" in first
    assert "Without a replay" in call("--no-replay").output.splitlines()[0]


def test_pulls_that_were_drawn_are_not_called_replayed(tmp_path):
    """ALBA's draws cannot be made again: whoever chose among them in hindsight has as many."""
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(certificate_of("alba")))
    call = lambda *more: CliRunner().invoke(cli, ["verify", str(path), *more])  # noqa: E731
    demanded = call("--replay")
    assert demanded.exit_code == 1
    assert demanded.output.startswith(
        "NOT fully verified. The run could not be repeated in full: every batch is as large as "
    )
    assert json.loads(call("--replay", "--json").output)["holds"] is False
    assert call().exit_code == 0
    assert call().output.startswith("Without a replay (in part: ")


@pytest.mark.some(1)
@pytest.mark.parametrize("misfit", [0.15, np.inf])
def test_runs_whose_features_may_be_wrong_are_replayed(misfit):
    rng = np.random.default_rng(0)
    arms, truth = np.c_[np.ones(8), rng.normal(size=(8, 2))], np.linspace(0, 1, 8)
    run = sp.algorithms.PooledPeleg(0.05, max_samples=2000).start(
        sp.Problem(arms, noise="symmetric", misfit=misfit)
    )
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, truth[batch.arms] + 0.3 * rng.normal(size=len(batch.arms)))
    certificate = json.loads(json.dumps(run.answer.certificate()))
    assert sp.verify(certificate).replayed
    certificate["evidence"].pop("levels")
    certificate["digest"] = fingerprint({k: v for k, v in certificate.items() if k != "digest"})
    with pytest.raises(CertificateError):
        sp.verify(certificate)
