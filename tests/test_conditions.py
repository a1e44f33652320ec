"""Conditions of promises: stated by name, kept, printed everywhere, and none can be left out."""

import json

import numpy as np
import pytest

import surepick as sp
from surepick import conditions
from surepick.conditions import CONDITIONS, joined, read_stated, stated, written
from surepick.errors import CertificateError, FormatError, InvalidInputError, UnknownNameError
from surepick.run.certificate import fingerprint
from surepick.verifier import conditions as twin

STATED = conditions._MAY_BE_STATED
RECORDED = CONDITIONS.keys() - STATED.keys()
#: a value for every field that any condition has
VALUES = {"pulls": 3, "runs": 4, "comparisons": 40}


def example(name):
    return stated(name, **{field: VALUES[field] for field in STATED[name].fields})


def answered(names=STATED, **settings):
    """A run that states these conditions, saved and loaded on its way."""
    problem = sp.Problem.unstructured(["a", "b"], noise="symmetric")
    run = sp.algorithms.PooledPeleg(0.05, **settings).start(problem, seed=1)
    rng = np.random.default_rng(1)
    for name in names:
        run.rest_on(name, **{field: VALUES[field] for field in STATED[name].fields})
        run.rest_on(name, **{field: VALUES[field] for field in STATED[name].fields})
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, 3.0 * batch.arms + rng.normal(size=batch.size))
        run = sp.Run.from_json(run.to_json())
    return run.answer


def refused(certificate, **changes):
    body = json.loads(json.dumps(certificate)) | changes
    with pytest.raises(CertificateError):
        sp.verify(body | {"digest": fingerprint(body)})


def test_the_verifier_has_the_same_list():
    assert twin._MAY_BE_STATED.keys() == STATED.keys()
    for name, kind in STATED.items():
        sentence, fields = twin._MAY_BE_STATED[name]
        assert (sentence, tuple(fields)) == (kind.exact, kind.fields)
    texts = {value for value in vars(twin).values() if isinstance(value, str)}
    assert {CONDITIONS[name].exact for name in RECORDED} <= texts


@pytest.mark.some(4)
@pytest.mark.parametrize("name", STATED)
def test_a_condition_is_kept_and_said_everywhere(name):
    answer, one = answered([name]), example(name)
    assert answer.guarantee.endswith(f"; {one}") or f"; {one};" in answer.guarantee
    assert (one.plain or one.meaning) in answer.plain
    listed = answer.to_dict()["guarantee"]["conditions"]
    assert one.stated | {"exact": str(one), "plain": one.plain or one.meaning} in listed
    certificate = answer.certificate()
    assert certificate["conditions"] == [one.stated]
    found = sp.verify(certificate, replay=True)
    assert found.replayed
    assert not found.unknown
    assert str(one) in found.statement
    assert (one.plain or one.meaning) in found.plain


def test_several_are_said_each_once():
    answer = answered()
    assert answer.certificate()["conditions"] == [example(name).stated for name in STATED]
    assert sp.verify(answer.certificate(), replay=True).replayed
    assert all(answer.guarantee.count(example(name)) == 1 for name in STATED)


def test_none_can_be_left_out_or_changed():
    certificate = answered().certificate()
    listed, claim = certificate["conditions"], certificate["claim"]
    for i, one in enumerate(listed):
        rest = listed[:i] + listed[i + 1 :]
        refused(certificate, conditions=rest)
        shorter = claim["statement"].replace(f"; {read_stated([one])[0]}", "")
        assert shorter != claim["statement"]
        refused(certificate, claim=claim | {"statement": shorter})
        refused(certificate, conditions=[*rest, {"name": "nobody-knows-it"}])
        refused(certificate, conditions=[*rest, one, one])
        refused(certificate, conditions=[*rest, one | {"more": 1}])
    for other in ([], None, {}, "lost", [1], [{}], [{"name": 1}]):
        refused(certificate, conditions=other)


def test_what_cannot_be_stated():
    with pytest.raises(UnknownNameError, match="can state hedged, lost"):
        stated("cheap")
    with pytest.raises(UnknownNameError):
        stated("past")  # the record says it
    for fields in ({}, {"pulls": None}, {"pulls": ""}, {"pulls": True}, {"pulls": np.inf}):
        with pytest.raises(InvalidInputError, match="lost"):
            stated("lost", **fields)
    for saved in ([1], [{}], [{"name": None}]):
        with pytest.raises(FormatError, match="object with a name"):
            read_stated(saved)


def test_they_are_data():
    some = joined([stated("lost", pulls=2)], [stated("lost", pulls=2), stated("hedged", pulls=1)])
    assert written(some) == [{"name": "lost", "pulls": 2}, {"name": "hedged", "pulls": 1}]
    assert read_stated(written(some)) == some


def test_every_condition_has_a_name_of_its_own():
    assert len(conditions.CONDITIONS) == len(conditions._RECORDED) + len(conditions._STATED)
