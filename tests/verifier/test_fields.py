"""Fields of a certificate that the verifier does not know are listed, and no others."""

import copy

import pytest
from tests.verifier.fuzz import RULES
from tests.verifier.test_forgeries import certificate_of, completed

import surepick as sp
from surepick.run.verify import verdict
from surepick.verifier.verify import unknown_fields, verify


@pytest.mark.parametrize("rule", RULES)
def test_all_fields_of_honest_certificates_are_known(rule):
    for made in RULES[rule]:
        assert unknown_fields(made()) == ()


def test_what_nobody_looks_at_is_listed():
    forged = copy.deepcopy(certificate_of("phases"))
    forged["approved"] = "by the authorities"
    forged["claim"]["lead"] = 12.0
    forged["evidence"]["phases"][0]["also"] = {"deep": 1}
    found = verify(completed(forged))
    assert set(found.unknown) == {"approved", "claim.lead", "evidence.phases.also"}
    assert "claim.lead" in verdict(found)[1]
    assert verify(certificate_of("phases")).unknown == ()


def test_settings_of_algorithms_are_theirs():
    problem = sp.Problem([[1.0], [2.0]], noise=0.1)
    peleg = sp.algorithms.Peleg(0.05, growth=1.5)
    answer = sp.identify(problem, lambda arm: float(arm), algorithm=peleg)
    assert sp.verify(answer.certificate()).unknown == ()
