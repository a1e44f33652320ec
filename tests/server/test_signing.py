"""What the service signs: certificates and heads of chains, with a key of its own."""

import base64
import json
import os
import stat

import pytest
from click.testing import CliRunner
from tests.server.served import OPTIONS, Served

import surepick as sp
from surepick.cli import cli
from surepick.errors import CertificateError, FormatError, InvalidInputError
from surepick.run.certificate import fingerprint
from surepick.run.signature import check_signature, check_signed, signed_text
from surepick.server.signing import Signer, default_path
from surepick.verifier.record import signed_bytes

pytest.importorskip("cryptography")  # of the extra "server"


def finish(study):
    while pulls := study.ask(50):
        study.tell_many([(pull.id, float(pull.arm)) for pull in pulls])


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """A service with a finished study: it, the certificate, the status, the key."""
    folder = tmp_path_factory.mktemp("signed")
    with Served(f"sqlite:///{folder}/studies.db", folder) as served:
        with served.http() as http:
            new = {"name": "s", "table": {"csv": OPTIONS, "features": ["price"]}, "noise": 0.5}
            assert http.post("/api/v1/studies", json=new).status_code == 201
            finish(served.client().load_study("s"))
            certificate = http.get("/api/v1/studies/s/certificate").json()
            status = http.get("/api/v1/studies/s").json()
            key = http.get("/api/v1/key").json()
        yield served, certificate, status, key


def test_certificates_are_signed_with_the_key_that_the_service_tells(signed, tmp_path):
    _, certificate, _, key = signed
    assert key["algorithm"] == "Ed25519"
    assert certificate["signature"]["key"] == key["key"]
    assert sp.verify(certificate, replay=True).replayed
    assert check_signature(certificate, key["key"]) == key["key"]
    path, public = tmp_path / "c.json", tmp_path / "key"
    path.write_text(json.dumps(certificate))
    public.write_text(key["key"] + "\n")
    for given in (key["key"], str(public)):
        done = CliRunner().invoke(cli, ["verify", str(path), "--signed-by", given])
        assert done.exit_code == 0
        assert f"Signed by {key['key']}." in done.output
    other = CliRunner().invoke(cli, ["verify", str(path), "--signed-by", "0" * 64])
    assert other.exit_code == 1
    assert "signed with another key" in other.output


def test_a_changed_certificate_is_not_what_was_signed(signed):
    _, certificate, _, key = signed
    changed = json.loads(json.dumps(certificate))
    changed["made"]["machine"] = "another"
    changed["digest"] = fingerprint(changed)
    assert sp.verify(changed, replay=False)
    with pytest.raises(CertificateError, match="signature does not match its key"):
        check_signature(changed, key["key"])
    bare = {name: value for name, value in certificate.items() if name != "signature"}
    assert bare["digest"] == fingerprint(bare)
    with pytest.raises(CertificateError, match="not signed"):
        check_signature(bare, key["key"])
    for wrong in ({"key": key["key"]}, {"key": key["key"], "value": "00"}, {"value": 3}):
        with pytest.raises(CertificateError):
            check_signature(bare | {"signature": wrong}, key["key"])


def test_heads_of_chains_are_signed(signed):
    _, certificate, status, key = signed
    chain = status["chain"]
    assert chain["head"] == certificate["chain"]["head"]
    assert chain["signature"]["key"] == key["key"]
    check_signed(signed_text("chain", chain["head"]), chain["signature"], "chain")
    with pytest.raises(CertificateError):
        check_signed(signed_text("chain", "0" * 64), chain["signature"], "chain")


def test_the_key_outlives_the_service_and_is_nobody_elses(signed):
    served, _, _, key = signed
    path = served.folder / "signing-key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key["key"] not in path.read_text()
    served.stop()
    served.start()
    with served.http() as http:
        assert http.get("/api/v1/key").json() == key
    assert os.listdir(served.folder).count("signing-key") == 1


def test_keys_that_are_none_are_refused(tmp_path):
    (tmp_path / "k").write_text("hello")
    with pytest.raises(InvalidInputError, match="not a key of this service"):
        Signer(tmp_path / "k")
    with pytest.raises(InvalidInputError, match="neither a key of 64"):
        check_signature({}, "hello")


def test_where_the_key_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert str(default_path("sqlite:////data/s.db")) == "/data/s.db.signing-key"
    there = default_path("postgresql+psycopg://me@host/studies")
    assert there == tmp_path / "surepick" / "signing-key"
    one, other = Signer(there), Signer(there)
    assert one.public == other.public
    assert one.sign("chain", "x") == other.sign("chain", "x")


@pytest.fixture(scope="module")
def enveloped(signed):
    """The certificate in an envelope, and the key as a file of other tools holds it."""
    served, _, _, key = signed
    with served.http() as http:
        return http.get("/api/v1/studies/s/envelope").json(), key["pem"]


def test_an_envelope_is_checked_by_somebody_elses_verifier(enveloped):
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import SSlibKey

    envelope, pem = enveloped
    theirs = Envelope.from_dict(json.loads(json.dumps(envelope)))
    keyid = envelope["signatures"][0]["keyid"]
    public = SSlibKey.from_crypto(load_pem_public_key(pem.encode()), keyid=keyid)
    assert list(theirs.verify([public], 1)) == [keyid]
    changed = envelope | {"payload": base64.b64encode(theirs.payload + b" ").decode()}
    with pytest.raises(VerificationError):
        Envelope.from_dict(json.loads(json.dumps(changed))).verify([public], 1)


def test_an_envelope_is_a_certificate_to_us(signed, enveloped, tmp_path):
    _, certificate, _, key = signed
    envelope, _ = enveloped
    statement = json.loads(base64.b64decode(envelope["payload"]))
    bare = {name: value for name, value in certificate.items() if name != "signature"}
    assert statement["predicate"] == bare
    assert statement["subject"][0]["name"] == "s"
    assert sp.verify(envelope, replay=True).replayed
    path = tmp_path / "c.dsse.json"
    path.write_text(json.dumps(envelope))
    done = CliRunner().invoke(cli, ["verify", str(path), "--signed-by", key["key"]])
    assert (done.exit_code, f"Signed by {key['key']}." in done.output) == (0, True)
    other = CliRunner().invoke(cli, ["verify", str(path), "--signed-by", "0" * 64])
    assert (other.exit_code, "not signed with this key" in other.output) == (1, True)


def test_a_changed_envelope_is_refused(signed, enveloped):
    _, _, _, key = signed
    envelope, _ = enveloped
    statement = json.loads(base64.b64decode(envelope["payload"]))

    def holding(content, **more):
        payload = base64.b64encode(json.dumps(content).encode()).decode()
        return envelope | {"payload": payload} | more

    changed = json.loads(json.dumps(statement))
    changed["predicate"]["made"]["machine"] = "another"
    changed["predicate"]["digest"] = fingerprint(changed["predicate"])
    with pytest.raises(CertificateError, match="signature does not match"):
        check_signature(holding(changed), key["key"])
    for wrong, said in (
        (holding(statement | {"_type": "other"}), "not a statement"),
        (holding(statement | {"predicateType": "other"}), "not about a certificate"),
        (holding(statement, payloadType="text/plain"), "this envelope holds 'text/plain'"),
        (envelope | {"payload": "?"}, "not in base64"),
    ):
        with pytest.raises(FormatError, match=said):
            sp.verify(wrong)
    for signatures in ([], [{"keyid": key["key"]}], [{"keyid": key["key"], "sig": "AA=="}], 3):
        with pytest.raises(CertificateError, match="envelope refused"):
            check_signature(envelope | {"signatures": signatures}, key["key"])


def test_the_service_may_not_say_what_the_statement_is_about_wrongly(signed, tmp_path):
    _, certificate, _, _ = signed
    signer = Signer(tmp_path / "key")
    envelope = signer.enveloped(certificate, "s")
    assert check_signature(envelope, signer.public) == signer.public
    statement = json.loads(base64.b64decode(envelope["payload"]))
    statement["subject"][0]["digest"]["sha256"] = "0" * 64
    payload = base64.b64encode(json.dumps(statement).encode()).decode()
    forged = envelope | {"payload": payload}
    signed = signed_bytes(forged["payloadType"], base64.b64decode(payload))
    value = base64.b64encode(signer._key.sign(signed)).decode()
    forged["signatures"] = [{"keyid": signer.public, "sig": value}]
    with pytest.raises(CertificateError, match="about another certificate"):
        check_signature(forged, signer.public)
