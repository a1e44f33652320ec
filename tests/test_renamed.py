"""What an argument was called in an earlier version keeps working, wherever it was taken."""

import inspect
import json

import pytest

import surepick as sp
from surepick.algorithms import PooledPeleg
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.certificate import fingerprint
from surepick.study import StudySpec

PROBLEM = sp.Problem.unstructured(["now", "new", "old"], noise=0.1)
MEANS = [1.0, 1.5, 0.4]


def measure(arm):
    return MEANS[arm]


def test_claims_were_called_control():
    asked = {"baseline": "now", "seed": 1}
    new = sp.identify(PROBLEM, measure, claims="fdr", **asked)
    old = sp.identify(PROBLEM, measure, control="fdr", **asked)
    assert (new.guarantee.kind, new.to_dict()) == ("fdr", old.to_dict())
    assert sp.identify(PROBLEM, measure, control="all", **asked).guarantee.kind == "claims"
    assert "control" not in inspect.signature(sp.identify).parameters
    config = PooledPeleg(0.1, baseline="now", control="fdr")
    assert config == PooledPeleg(0.1, baseline="now", claims="fdr")
    assert (config.claims, config.control, config.settings()["claims"]) == ("fdr", "fdr", "fdr")
    with pytest.raises(InvalidInputError, match="control is the old name of claims"):
        PooledPeleg(0.1, baseline="now", claims="fdr", control="fdr")


def test_studies_take_the_old_name_from_everywhere():
    given = {"problem": PROBLEM, "baseline": "now"}
    spec = StudySpec(name="s", control="fdr", **given)
    assert spec.to_json() == StudySpec(name="s", claims="fdr", **given).to_json()
    body = json.loads(spec.to_json())
    assert body["claims"] == "fdr"
    body["control"] = body.pop("claims")
    assert StudySpec.from_dict(body).claims == "fdr"
    with pytest.raises(InvalidInputError, match="control is the old name of claims"):
        StudySpec.from_dict(body | {"claims": "all"})
    study = sp.create_study("old name", storage="memory://renamed", control="fdr", **given)
    assert study.algorithm.claims == "fdr"


def test_files_of_before_have_the_old_name():
    run = PooledPeleg(0.05, baseline="now", claims="fdr").start(PROBLEM, seed=1)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, [measure(arm) for arm in batch.arms])
    certificate = run.answer.certificate()
    settings = certificate["algorithm"]["settings"]
    settings["control"] = settings.pop("claims")
    certificate["digest"] = fingerprint(certificate)
    assert sp.verify(certificate, replay=True).guarantee == "fdr"
    settings["claims"] = "fdr"
    certificate["digest"] = fingerprint(certificate)
    with pytest.raises(CertificateError, match="say twice"):
        sp.verify(certificate)
    saved = json.loads(run.to_json())
    text = json.dumps(saved).replace('"claims": "fdr"', '"control": "fdr"')
    assert '"control": "fdr"' in text
    assert sp.Run.from_json(text).algorithm.claims == "fdr"
