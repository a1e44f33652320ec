"""Types in certificates are exact: what is shown is what is worked out."""

import json
import time
from itertools import count

import numpy as np
import pytest
from tests.lazily import Lazily
from tests.verifier.kinds import as_json, finished
from tests.verifier.test_certificate import (
    CERTIFICATES,
    CIRCLE,
    certified,
    forged,
    replaced,
    walk,
)
from tests.verifier.test_forgeries import certificate_of

import surepick as sp
from surepick.algorithms import Peleg
from surepick.errors import CertificateError, FormatError
from surepick.verifier import conditions
from surepick.verifier.verify import verify

SAMPLES = Lazily(
    {
        ruler: lambda ruler=ruler: certificate_of(ruler)
        for ruler in (
            "phases",
            "pooled",
            "static",
            "alba",
            "intervals",
            "ellipsoid",
            "checked-fit",
            "glr by a determinant",
        )
    }
    | {
        "parts": lambda: as_json(finished("symmetric", past=30)),
        "transductive": lambda: CERTIFICATES["transductive"],
    }
)


def read_as_numbers(certificate):
    """Places of numbers other than the version, whose refusal is of another kind."""
    for path, value in walk(certificate):
        if type(value) in (int, float) and path != ("version",):
            yield path, value


def refused(certificate):
    try:
        verify(certificate)
    except (CertificateError, FormatError):
        return True
    return False


def test_true_is_no_candidate():
    """As an index it stands for everybody: each is compared with itself, and nobody is better."""
    certificate = certified(
        sp.Problem(CIRCLE, noise=9.0), CIRCLE @ [1.0, 0.0], Peleg(0.1, epsilon=0.1, max_samples=30)
    )
    assert certificate["claim"]["survivors"] == [0, 1, 2]
    certificate["evidence"]["phases"][-1]["leads"] = [0.0, 0.0, 0.0]
    certificate["claim"] |= {
        "candidate": True,
        "label": "1",
        "guarantee": "eps-pac",
        "statement": "within 0.1 of the best with probability at least 0.9 (phased elimination "
        "with fixed-design widths; union over one-sided comparisons); "
        f"{conditions.ALONE}; if rewards are linear in the features; {conditions.AFRESH}",
    }
    with pytest.raises(CertificateError, match="candidate is True, not a whole number"):
        verify(forged(certificate))


@pytest.mark.some(4)
@pytest.mark.parametrize("name", SAMPLES)
def test_neither_truth_values_nor_fractions_stand_for_whole_numbers(name):
    certificate = SAMPLES[name]
    places = [(path, value) for path, value in read_as_numbers(certificate) if type(value) is int]
    rng = np.random.default_rng(0)
    for path, value in [places[i] for i in rng.permutation(len(places))[:20]]:
        for change in (float(value), str(value), [value], None):
            assert refused(forged(replaced(certificate, path, change))), (path, change)


@pytest.mark.some(2)
@pytest.mark.parametrize("name", SAMPLES)
def test_truth_values_are_no_numbers(name):
    certificate = SAMPLES[name]
    for path, value in read_as_numbers(certificate):
        if value in (0, 1):
            assert refused(forged(replaced(certificate, path, bool(value)))), path


def test_a_version_is_a_whole_number():
    for version in (True, 1.0, "1"):
        with pytest.raises(FormatError, match="version"):
            verify(forged(SAMPLES["phases"] | {"version": version}))


@pytest.mark.parametrize("name", ["phases", "pooled"])
def test_no_key_stands_twice(name):
    """Python takes the last of two; a reader may have looked at the first."""
    certificate = SAMPLES[name]
    text = json.dumps(certificate)
    places = count()
    for key in ("candidate", "delta", "arms", "noise", "level", "statement", "format"):
        at = text.find(f'"{key}": ')
        if at < 0:
            continue
        next(places)
        with pytest.raises(FormatError, match=f"'{key}' stands twice"):
            verify(f'{text[:at]}"{key}": 0, {text[at:]}')
    assert next(places) > 4
    assert verify(text)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_in_json_is_none_here(word):
    text = json.dumps(SAMPLES["static"]).replace('"margin": ', f'"margin": {word}, "was": ', 1)
    with pytest.raises(FormatError, match=word):
        verify(text)


def test_what_nests_too_deep_is_refused_not_followed():
    deep = current = []
    for _ in range(100_000):
        current.append([])
        current = current[0]
    with pytest.raises(FormatError, match="too deep"):
        verify(SAMPLES["phases"] | {"more": deep})


def test_a_doubled_key_among_very_many_is_found_at_once():
    """Looking for each key among all others took 15 seconds for 200 kB."""
    keys = ",".join(f'"{i}":1' for i in range(40_000))
    started = time.process_time()
    with pytest.raises(FormatError, match="'39999' stands twice"):
        verify(f'{{{keys},"39999":2}}')
    assert time.process_time() - started < 2
