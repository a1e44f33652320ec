"""Numbers of any kind: the verifier's bets are averages over all matchings, and the algorithm's."""

import math

import numpy as np
import pytest
from tests.proof.payoffs.test_wins import by_enumeration
from tests.verifier.samples import of_any_kind

import surepick as sp
from surepick.errors import CertificateError
from surepick.proof.payoffs.wins import MOST, STAKE, log_wins
from surepick.proof.payoffs.wins_kernels import paired_win_payoffs
from surepick.run.certificate import fingerprint
from surepick.verifier.payoffs.wins import PairedWins, _log_paid


@pytest.mark.parametrize("seed", range(12))
def test_a_stake_pays_the_average_over_all_matchings(seed):
    rng = np.random.default_rng(seed)
    n, k, values = rng.integers(1, 6), rng.integers(1, 6), int(rng.integers(1, 9))
    r, x = (rng.integers(values, size=m).astype(float) for m in (n, k))
    lead, mean = float(rng.uniform(0.0, 1.0)), float(rng.choice([0.5, 0.4]))
    stake = min(lead * STAKE / (1.0 + min(n, k) / max(n, k)), 0.95 / mean)
    found = _log_paid(r, x, np.array([lead]), mean)[0]
    assert math.exp(found) == pytest.approx(by_enumeration(r, x, stake, mean), rel=1e-9)


def test_no_stake_is_so_large_that_one_loss_takes_everything():
    found = _log_paid(np.zeros(3), np.ones(3), np.array([50.0]), 0.5)[0]
    assert found == pytest.approx(3 * math.log(0.05))


@pytest.mark.parametrize("n", [MOST, MOST + 1, 2 * MOST + 1])
def test_large_blocks_are_dealt_into_the_same_groups(n):
    rng = np.random.default_rng(n)
    r, x = np.round(rng.normal(0.3, 1.0, n), 1), np.round(rng.normal(size=n + 9), 1)
    stake = 0.2 * STAKE / (1.0 + n / (n + 9))
    assert _log_paid(r, x, np.array([0.2]), 0.5)[0] == pytest.approx(log_wins(r, x, stake))


def test_on_items_ties_count_half_on_both_sides():
    rng = np.random.default_rng(5)
    table = rng.integers(3, size=(2, 9)).astype(float)
    stakes, variance = rng.uniform(0.1, 3.0, size=(1, 1, 1, 4)), 0.7
    unit = 4.0 / math.sqrt(2.0 * math.pi * variance)
    places = np.array([0]), np.array([1])
    found = paired_win_payoffs(
        *places, np.array([9, 9]), table, np.full((1, 1), 0.5), unit * stakes
    )
    apart = table[1] - table[0]
    own = PairedWins._pay(None, apart, stakes[0, 0, 0], variance, 0.0)
    assert found[0, 0, 0] == pytest.approx(own)
    each = np.minimum(unit * stakes[0, 0, 0], 0.95 / 0.5)
    won = (apart > 0) + 0.5 * (apart == 0)
    products = [math.prod(1.0 + stake * (y - 0.5) for y in won) for stake in each]
    assert math.exp(own) == pytest.approx(np.mean(products))


def test_two_rewards_cannot_be_told_as_one():
    body = of_any_kind().answer.certificate()
    batch = body["batches"][-1]
    first = {key: values.pop(1) for key, values in batch.items() if key in ("arms", "parts")}
    assert first["arms"] == batch["arms"][0]
    for key in ("counts", "sums"):
        batch[key][0] += batch[key].pop(1)
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError):
        sp.verify(body)
