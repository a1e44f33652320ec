"""One reader: what is looked at, what is worked out and what was signed are one and the same."""

import base64
import copy
import json
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner
from tests.study.traffic.test_per_segment import finished, sealed

import surepick as sp
from surepick.cli import cli
from surepick.errors import CertificateError, FormatError, InvalidTypeError
from surepick.run import verify_segments
from surepick.run.certificate import fingerprint
from surepick.verifier.record import (
    PAYLOAD_TYPE,
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    Certificate,
    OfSegments,
    read,
    read_one,
)
from surepick.verifier.verify import verify


@cache
def written():
    """A certificate at δ = 0.4 of some problem."""
    problem = sp.Problem([[1.0], [2.0]], labels=["x", "y"], noise=1.0)
    answer = sp.identify(problem, lambda arm: 0.3 * arm, delta=0.4)
    return json.dumps(answer.certificate())


def honest():
    return json.loads(written())


def wrapped(held, **more):
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [],
        "predicateType": PREDICATE_TYPE,
        "predicate": held,
    }
    payload = base64.b64encode(json.dumps(statement).encode()).decode()
    return {"payload": payload, "payloadType": PAYLOAD_TYPE, "signatures": []} | more


def of_several(parts, delta=1e-6):
    body = {"format": "surepick-segments", "version": 1, "of": "shop", "test": "a"}
    return sealed(body | {"delta": delta, "segments": parts})


# -- certificates in something -------------------------------------------------------------
def test_a_part_in_an_envelope_is_not_what_it_says_outside(tmp_path):
    """The outer dictionary says that it belongs; the certificate inside is of another test."""
    own = {"of": "shop", "all": ["phone", "desk"], "delta": 1e-6, "test": "a"}
    parts = {name: wrapped(honest(), segment=own | {"name": name}) for name in own["all"]}
    body = of_several(parts)
    with pytest.raises(CertificateError, match="not a surepick certificate"):
        verify_segments(body)
    (tmp_path / "all.json").write_text(json.dumps(body))
    done = CliRunner().invoke(cli, ["verify", str(tmp_path / "all.json")])
    assert done.exit_code == 1


def test_an_envelope_is_opened_once_and_says_nothing_itself():
    assert verify(wrapped(honest())).label == "y"
    with pytest.raises(FormatError, match="an envelope in an envelope"):
        verify(wrapped(wrapped(honest())))
    for more in ({"format": "surepick-certificate"}, {"segment": {}}, {"delta": 1e-9}):
        with pytest.raises(FormatError, match="ambiguous"):
            verify(wrapped(honest(), **more))
    statement = json.loads(base64.b64decode(wrapped(honest())["payload"])) | {"more": 1}
    payload = base64.b64encode(json.dumps(statement).encode()).decode()
    with pytest.raises(FormatError, match="other fields"):
        verify(wrapped(honest()) | {"payload": payload})
    for payload in (3, None, "?", "e30", [1]):
        with pytest.raises(FormatError):
            verify(wrapped(honest()) | {"payload": payload})
    for kind in ([PAYLOAD_TYPE], None, PAYLOAD_TYPE.upper()):
        with pytest.raises(FormatError, match="this envelope holds"):
            verify(wrapped(honest()) | {"payloadType": kind})


def test_what_is_in_an_envelope_is_as_strict_as_what_is_not():
    text = base64.b64decode(wrapped(honest())["payload"]).decode()
    twice = text.replace('"delta": 0.4', '"delta": 1e-6, "delta": 0.4', 1)
    payload = base64.b64encode(twice.encode()).decode()
    with pytest.raises(FormatError, match="'delta' stands twice"):
        verify(wrapped(honest()) | {"payload": payload})
    changed = honest() | {"delta": 0.1}
    with pytest.raises(CertificateError, match="digest differs"):
        verify(wrapped(changed))


def test_all_segments_may_come_in_an_envelope():
    body = json.loads(finished())
    found = read(wrapped(body))
    assert isinstance(found, OfSegments)
    assert found.envelope is not None
    assert verify_segments(found, replay=False).delta == 0.05
    assert read(found) is found
    with pytest.raises(FormatError, match="for each segment"):
        verify(wrapped(body))


def test_what_was_read_is_what_everything_takes():
    found = read_one(written())
    assert isinstance(found, Certificate)
    assert read(found) is found
    assert verify(found).label == sp.verify(found).label == "y"
    with pytest.raises(CertificateError, match="digest differs"):
        read(honest() | {"claim": {}})


# -- parts of a whole ----------------------------------------------------------------------
def another_problem(part):
    part["problem"]["labels"] = ["old", "bold", "free"]


def another_noise(part):
    part["problem"]["noise"] = [0.0, 1.0]


def another_delta(part):
    part["delta"] = part["algorithm"]["settings"]["delta"] = 0.02


def another_rule(part):
    part["traffic"]["at_least"] = 0.1


def another_wait(part):
    part["traffic"]["waits"]["least"] = 86400.0


def another_setting(part):
    part["algorithm"]["settings"]["max_samples"] = 10**6


def another_study(part):
    part["chain"]["study"] = "shop@phone"


def chain_of_the_other(part):
    part["chain"]["head"] = json.loads(finished())["segments"]["phone"]["chain"]["head"]


def other_periods(part):
    for period, name in zip(part["traffic"]["periods"], ("day 1", "day 0"), strict=True):
        period["name"] = name


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (another_problem, "another problem"),
        (another_noise, "another problem"),
        (another_delta, "another algorithm"),
        (another_rule, "another rule of traffic"),
        (another_wait, "another rule of traffic"),
        (another_setting, "another algorithm"),
        (another_study, "of another study"),
        (chain_of_the_other, "the chain of another segment"),
        (other_periods, "in another order"),
    ],
)
def test_parts_are_of_one_test(forge, said):
    body = json.loads(finished())
    part = body["segments"]["desk"]
    forge(part)
    part["digest"] = fingerprint(part)
    with pytest.raises(CertificateError, match=f"segment 'desk'.*{said}"):
        verify_segments(sealed(body), replay=False)


def test_options_that_came_to_one_segment_only_leave_it_of_one_test():
    body = json.loads(finished())
    part = body["segments"]["desk"]
    part["problem"]["labels"].append("free")
    for row in part["problem"]["arms"]:
        row.append(0.0)
    part["problem"]["arms"].append([0.0, 0.0, 0.0, 1.0])
    part["options"] = [{"change": "added", "arms": [3], "features": [3, 4]}]
    part["digest"] = fingerprint(part)
    with pytest.raises(CertificateError, match="lacks 'reason'"):  # not another problem
        verify_segments(sealed(body), replay=False)


# -- JSON ----------------------------------------------------------------------------------
@pytest.mark.parametrize("word", ["1e999", "-1e999", "NaN", "Infinity"])
def test_no_number_is_infinite_wherever_it_stands(word):
    text = written().replace('"made": {', f'"made": {{"score": {word}, ', 1)
    assert text != written()
    with pytest.raises(FormatError, match="not JSON"):
        verify(text)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (1, 0),
        (True, 0),
        (None, 0),
        ("x", float("nan")),
        ("x", float("inf")),
        ("x", (1, 2)),
        ("x", np.float64(1.0)),
        ("x", np.int64(1)),
        ("x", {1, 2}),
        ("x", b"1"),
        ("\ud800", 0),
        ("x", "\ud800"),
    ],
    ids=repr,
)
def test_a_dict_holds_what_json_can_hold(key, value):
    """The digest of {1: 0} would be that of {"1": 0}, and that of (1, 2) that of [1, 2]."""
    with pytest.raises(FormatError, match="not JSON"):
        verify(honest() | {"made": {key: value}})


def test_huge_numbers_are_refused_not_followed():
    for text in ("1" * 5000, "-" + "9" * 400, "1e308"):
        with pytest.raises((CertificateError, FormatError)):
            verify(written().replace('"delta": 0.4', f'"delta": {text}', 1))
    for value in (10**400, -(10**25), 2**63):
        for path in (("claim", "candidate"), ("claim", "samples"), ("delta",), ("batches", 0)):
            body = honest()
            place = body
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            with pytest.raises(CertificateError):
                verify(body | {"digest": fingerprint(body)})


def test_depth_has_an_end_also_where_a_dict_holds_itself():
    for opened in ("[", '{"a":'):
        with pytest.raises(FormatError, match=r"too deep|not JSON"):
            verify('{"format": "surepick-certificate", "x": ' + opened * 200_000)
        shut = {"[": "]", '{"a":': "}"}[opened]
        with pytest.raises(FormatError, match="too deep"):
            verify(f'{{"x": {opened * 100}1{shut * 100}}}'.replace("[1]", "[]"))
    body = honest()
    body["made"] = body
    with pytest.raises(FormatError, match="too deep"):
        verify(body)


def test_keys_that_only_look_like_others_are_none_of_them():
    for name in ("delt\u0430", "\uff44elta", "delta\u200b", "delta\x00", "Delta", " delta"):
        body = honest()
        body[name] = 1e-9
        found = verify(body | {"digest": fingerprint(body)})
        assert found.delta == 0.4
        (said,) = found.unknown
        assert said.isascii()
        assert said.isprintable()
        assert said != "delta"
        del body["delta"]
        with pytest.raises(CertificateError, match="lacks 'delta'"):
            verify(body | {"digest": fingerprint(body)})


def test_a_table_by_reference_is_one_only_where_it_was_given():
    """{"shape", "data"} is a table nowhere; {"shape", "sha256"} only with the arms beside it."""
    body = honest()
    for held in (
        {"shape": [2, 1], "data": [1.0, 2.0]},
        {"shape": [2, 1], "data": [1.0, 2.0], "sha256": "0" * 64},
    ):
        body["problem"]["arms"] = held
        made = body | {"digest": fingerprint(body)}
        with pytest.raises((CertificateError, sp.SurepickError)):
            verify(made)
        with pytest.raises(CertificateError):
            verify(made, np.array([[1.0], [2.0]]))
    body = honest()
    body["batches"][0]["sums"] = {"shape": [2], "data": body["batches"][0]["sums"]}
    with pytest.raises(CertificateError):
        verify(body | {"digest": fingerprint(body)})


def test_the_digest_is_of_what_is_read():
    for digest in (None, 3, "", written()[:64], honest()["digest"].upper(), [honest()["digest"]]):
        with pytest.raises(CertificateError, match="digest differs"):
            verify(honest() | {"digest": digest})
    body = honest()
    del body["digest"]
    with pytest.raises(CertificateError, match="digest differs"):
        verify(body)


@pytest.mark.parametrize("given", [3, None, [1], b"[]", b"\xff", "{", b"{}", b'"x"', True])
def test_what_is_no_certificate_is_not_read(given):
    with pytest.raises((FormatError, InvalidTypeError)):
        read(copy.copy(given))


def test_everything_that_is_said_of_a_file_is_about_the_same_bytes(tmp_path, monkeypatch):
    """Verified first and read again for its stamp, it could have been another file by then."""
    path = tmp_path / "c.json"
    path.write_text(written())
    seen = []
    whole = type(path).read_bytes
    monkeypatch.setattr(type(path), "read_bytes", lambda own: seen.append(own) or whole(own))
    assert CliRunner().invoke(cli, ["verify", str(path)]).exit_code == 0
    assert seen == [path]
