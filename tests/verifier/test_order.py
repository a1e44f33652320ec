import pytest

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.verifier.verify import verify

PROBLEM = sp.Problem.unstructured(["a", "b"])


@pytest.fixture(scope="module")
def certificate():
    return sp.identify(PROBLEM, lambda arm: float(arm), seed=3).certificate()


def forged(certificate, order):
    body = {key: value for key, value in certificate.items() if key != "order"}
    body |= {} if order is None else {"order": order}
    return body | {"digest": fingerprint(body)}


def test_records_of_older_versions_have_no_order(certificate):
    assert verify(forged(certificate, None))
    assert verify(forged(certificate, {"rule": "shuffled", "seed": 2**53 - 1}))


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ({"rule": "by hand", "seed": 3}, "unknown rule"),
        ({"rule": "shuffled"}, "lacks a rule or a seed"),
        ({"rule": "shuffled", "seed": 3, "more": 1}, "lacks a rule or a seed"),
        ({"rule": "shuffled", "seed": -1}, "out of range"),
        ({"rule": "shuffled", "seed": 2**53}, "out of range"),
        ({"rule": "shuffled", "seed": 1.5}, "seed of its order"),
        ({"rule": 1, "seed": 3}, "rule of its order"),
        (7, "order of its pulls"),
    ],
)
def test_what_makes_no_sense_is_refused(certificate, order, why):
    with pytest.raises(CertificateError, match=why):
        verify(forged(certificate, order))


def test_a_changed_seed_is_found(certificate):
    with pytest.raises(CertificateError, match="digest differs"):
        verify(certificate | {"order": {"rule": "shuffled", "seed": 4}})
