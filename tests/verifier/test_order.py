import pytest

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.verifier.verify import verify

PROBLEM = sp.Problem.unstructured(["a", "b"], noise="symmetric")


@pytest.fixture(scope="module")
def certificate():
    return sp.identify(PROBLEM, lambda arm: float(arm), seed=3).certificate()


def forged(certificate, order):
    body = {key: value for key, value in certificate.items() if key != "order"}
    body |= {} if order is None else {"order": order}
    return body | {"digest": fingerprint(body)}


def test_every_record_has_its_order(certificate):
    with pytest.raises(CertificateError, match="does not say in which order"):
        verify(forged(certificate, None))
    assert verify(forged(certificate, {"rule": "shuffled", "seed": 2**53 - 1}))


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ({"rule": "by hand", "seed": 3}, "unknown rule"),
        ({"rule": "shuffled"}, "its order lacks 'seed'"),
        ({"rule": "shuffled", "seed": 3, "more": 1}, "its order does not say what it has to"),
        ({"rule": "shuffled", "seed": -1}, "out of range"),
        ({"rule": "shuffled", "seed": 2**53}, "out of range"),
        ({"rule": "shuffled", "seed": 1.5}, "its order: its seed is 1.5"),
        ({"rule": 1, "seed": 3}, "its order: its rule is 1"),
        (7, "its order is 7"),
    ],
)
def test_what_makes_no_sense_is_refused(certificate, order, why):
    with pytest.raises(CertificateError, match=why):
        verify(forged(certificate, order))


def test_a_changed_seed_is_found(certificate):
    with pytest.raises(CertificateError, match="digest differs"):
        verify(certificate | {"order": {"rule": "shuffled", "seed": 4}})


def in_pieces(**settings):
    problem = sp.Problem.unstructured(4, noise="symmetric")
    algorithm = sp.algorithms.PooledPeleg(0.1, max_batch=5, **settings)
    return sp.identify(problem, lambda arm: 3.0 * arm, algorithm=algorithm, seed=8).certificate()


@pytest.mark.parametrize("settings", [{}, {"top": 2}, {"baseline": 0}])
def test_blocks_in_pieces_were_dealt_by_the_seed(settings):
    certificate = in_pieces(**settings)
    pieces = [block["batches"] for block in certificate["evidence"]["blocks"]]
    assert max(pieces) > 1
    assert verify(certificate)
    assert sp.verify(certificate, replay=True).replayed
    with pytest.raises(CertificateError, match=r"block \d+ was not dealt into batches by the seed"):
        verify(forged(certificate, {"rule": "shuffled", "seed": 9}))


def test_pieces_filled_up_arm_by_arm_are_refused():
    run = sp.algorithms.PooledPeleg(0.1, max_batch=5).start(
        sp.Problem.unstructured(4, noise="symmetric"), 8
    )
    run.order_seed = None  # whoever measures keeps to no order
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, 3.0 * batch.arms)
    certificate = run.answer.certificate()
    with pytest.raises(CertificateError, match="does not say in which order"):
        verify(certificate)
    with pytest.raises(CertificateError, match="was not dealt into batches"):
        verify(forged(certificate, {"rule": "shuffled", "seed": 8}))
