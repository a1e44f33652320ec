"""Choices made after the rewards were seen: nothing measured is changed, only what was to be fixed.

Every number in these forgeries is what the data give under the choice made, and the digest fits.
"""

import copy
import json
import math

import numpy as np
import pytest
from tests.verifier.test_forgeries import (
    ARMS,
    certificate_of,
    completed,
    proper,
    refused,
    sentence,
)

import surepick as sp
from surepick.verifier import conditions
from surepick.verifier.verify import verify

DELTA = 0.1
PAIR = sp.Problem(np.eye(2), noise=1.0)


def pair_run(seed):
    """Twelve phases of PELEG on two arms that are nearly alike; the second is the better one."""
    rng = np.random.default_rng(seed)
    run = sp.algorithms.Peleg(DELTA, growth=1.05).start(PAIR)
    while not run.stopped and run.batches < 12:
        batch = run.ask()
        counts = batch.pulls.counts
        noise = np.sqrt(counts) * rng.standard_normal(2)
        run.tell(batch, sums=counts * np.array([0.0, 1e-3]) + noise)
    return [
        {"arms": [0, 1], "counts": told.pulls.counts.tolist(), "sums": told.sums.tolist()}
        for told in run.told()
    ]


def all_on_the_luckiest(batches):
    """The wrong arm dropped nobody by honest levels: give all of delta to its luckiest phase."""
    counts, sums = (np.array([b[key] for b in batches], dtype=float) for key in ("counts", "sums"))
    lead = sums[:, 0] / counts[:, 0] - sums[:, 1] / counts[:, 1]
    spread = np.sqrt((1 / counts).sum(axis=1))
    lucky = int(np.argmax(lead / spread))
    batches = batches[: lucky + 1]
    rest = 1e-6 / len(batches)
    levels = [rest] * lucky + [DELTA * (1 - 1e-5)]
    dropped = {"candidate": [], "by": [], "gap": [], "width": []}
    phases = [{"level": level, "threshold": None, "dropped": dropped} for level in levels]
    width = spread[lucky] * math.sqrt(2 * math.log(1 / levels[-1]))
    phases[-1] = phases[-1] | {
        "dropped": {"candidate": [1], "by": [0], "gap": [lead[lucky]], "width": [width]}
    }
    settings = {"delta": DELTA, "growth": 1.05, "epsilon": 0.0}
    body = {
        "format": "surepick-certificate",
        "version": 1,
        "algorithm": {"name": "peleg", "settings": settings},
        "problem": {
            "arms": np.eye(2).tolist(),
            "candidates": None,
            "noise": 1.0,
            "labels": ["0", "1"],
            "candidate_labels": None,
        },
        "delta": DELTA,
        "epsilon": 0.0,
        "batches": batches,
        "evidence": {"rule": "phases", "phases": phases},
        "claim": {
            "candidate": 0,
            "label": "0",
            "survivors": [0],
            "samples": int(counts[: lucky + 1].sum()),
            "guarantee": "pac",
            "statement": "the best with probability at least 0.9 (phased elimination with "
            "fixed-design widths; union over one-sided comparisons); "
            f"{conditions.ALONE}; {conditions.AFRESH}",
        },
    }
    return completed(json.loads(json.dumps(body))), lead[lucky] > width


def test_levels_are_not_given_to_the_luckiest_phase():
    enough = 0
    for seed in range(60):
        forgery, beats = all_on_the_luckiest(pair_run(seed))
        enough += beats
        assert refused(forgery), seed
    assert enough > 4  # by their own levels, so many would drop the better arm


def changed(ruler, changes):
    """A certificate with another choice in its evidence, all numbers worked out by it."""
    forgery = certificate_of(ruler)
    changes(proper(forgery["evidence"]), forgery)
    claim = forgery["claim"]
    claim["statement"] = sentence(forgery, claim["guarantee"], len(claim["survivors"]))
    return completed(forgery)


def set_key(**values):
    return lambda evidence, _: evidence.update(values)


def all_stages(**values):
    def change(evidence, _):
        for stage in evidence["stages"]:
            stage.update(values)

    return change


def smaller_levels(evidence, _):
    """Levels that add up to less: no reason to think that they were fixed in advance."""
    for record in evidence.get("phases") or evidence.get("stages"):
        record["level"] *= 0.999


def other_first_arms(evidence, certificate):
    """Those of the arms pulled for which the threshold is lowest."""
    pulled = certificate["batches"][0]["arms"]
    pairs = [(i, j) for i in pulled for j in pulled if i < j]
    honest = tuple(evidence["first"])
    evidence["first"] = list(max((p for p in pairs if p != honest), key=_least))


def _least(pair):
    whitened = ARMS @ np.linalg.inv(np.linalg.cholesky(ARMS.T @ ARMS)).T
    rows = whitened[list(pair)]
    return np.linalg.eigvalsh(rows.T @ rows)[0]


@pytest.mark.parametrize(
    ("ruler", "changes"),
    [
        ("phases", smaller_levels),
        ("phases of fixed width", smaller_levels),
        ("alba", smaller_levels),
        ("alba", all_stages(first=1)),
        ("alba", all_stages(first=80)),
        ("ellipsoid", set_key(regularisation=0.7)),
        ("ellipsoid", set_key(regularisation=1.3)),
        ("ellipsoid", set_key(level=0.09)),
        ("ellipsoid", set_key(level=0.001)),
        ("static", set_key(level=0.01)),
        ("glr by a determinant", set_key(threshold="self-normalised", scales=[2, 16, 128, 1024])),
        ("glr", set_key(threshold="determinant", slack=0.1, first=[0, 1])),
    ],
)
def test_what_a_proof_needs_fixed_is_not_chosen_in_hindsight(ruler, changes):
    assert refused(changed(ruler, changes))


@pytest.mark.parametrize("lam", [0.5, 2.0])
def test_a_regularisation_set_in_advance_is_part_of_the_statement(lam):
    honest = certificate_of("ellipsoid", regularisation=lam)
    assert f"regularisation={lam:g}" in honest["claim"]["statement"]
    assert verify(honest)
    silent = copy.deepcopy(honest)
    silent["claim"]["statement"] = certificate_of("ellipsoid")["claim"]["statement"]
    assert refused(completed(silent))


def test_a_regularised_threshold_says_so_too():
    settings = {"threshold": "regularised", "norm_bound": 2.0, "regularisation": 0.5}
    honest = certificate_of("glr", **settings)
    assert "regularisation=0.5" in honest["claim"]["statement"]
    assert verify(honest)
    other = copy.deepcopy(honest)
    other["evidence"]["regularisation"] = 0.6
    assert refused(completed(other))


def test_the_name_of_an_algorithm_goes_with_its_rule():
    honest = certificate_of("phases")
    for name in ("rage", "xy-adaptive"):  # the same levels
        other = copy.deepcopy(honest)
        other["algorithm"]["name"] = name
        assert verify(completed(other))
    for name in ("glucb", "peleg-paper", "pooled-peleg", "checked-fit"):
        other = copy.deepcopy(honest)
        other["algorithm"]["name"] = name
        assert refused(completed(other)), name


def test_the_length_of_a_cycle_is_not_chosen_in_hindsight():
    """Longer cycles, fewer of them: another test of the same pulls."""
    honest = certificate_of("static", PAIR, np.array([0.3, 0.0]))
    cycles = sum(sum(batch["counts"]) for batch in honest["batches"]) // 2
    longer = [k for k in range(2, cycles + 1) if cycles % k == 0]
    assert len(longer) > 2
    for k in longer:
        forgery = copy.deepcopy(honest)
        forgery["evidence"]["cycle"][1] = [k, k]
        assert refused(completed(forgery))


def test_arms_pulled_first_are_not_chosen_in_hindsight():
    honest = certificate_of("glr by a determinant", theta=np.array([-0.3, -0.52]))
    forgery = copy.deepcopy(honest)
    other_first_arms(forgery["evidence"], forgery)
    assert verify(completed(honest))
    assert refused(completed(forgery))


@pytest.mark.parametrize("large", [False, True])
def test_arms_that_span_are_found_again(large):
    from surepick.verifier.rules.glr import span_by_rule
    from surepick.verifier.tables import Rows

    rng = np.random.default_rng(0)
    for K, d in ((5, 2), (40, 6), (3000, 4)):
        arms = rng.normal(size=(K, d))
        problem = sp.Problem(arms, noise=1.0, large=large)
        s, vt = np.linalg.svd(arms, full_matrices=False)[1:]
        found = problem.spanning_arms
        assert span_by_rule(Rows(arms), vt.T / s, found)
        other = found.copy()
        other[0] = next(k for k in range(K) if k not in found)
        assert not span_by_rule(Rows(arms), vt.T / s, np.sort(other))
