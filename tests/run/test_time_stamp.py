"""Time stamps: those of a real authority (openssl's) hold, and nothing else does."""

import datetime
import functools
import json
import subprocess

import pytest
from tests.authority import OPENSSL, Authority, call

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.time_stamp import check_stamp, received, request_for

pytest.importorskip("rfc3161_client")  # of the extra "timestamp"
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="the authority is openssl's")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("clock") / "it")


@pytest.fixture(scope="module")
def another(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("clock") / "other", digests="sha512")


@functools.cache
def certificate():
    answer = sp.identify(sp.Problem([[1.0], [2.0]]), lambda arm: float(arm))
    return json.dumps(answer.certificate()).encode()


# -- stamps ----------------------------------------------------------------------------------
def test_a_stamp_holds_here_and_for_openssl(authority, another, tmp_path):
    request = request_for(certificate())
    stamp = authority.stamp(request.content)
    before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=1)
    assert before < received(stamp, certificate(), request)
    at = check_stamp(stamp, certificate(), authority.root)
    assert before < at < before + datetime.timedelta(minutes=2)
    assert check_stamp(stamp, certificate(), another.root + authority.root) == at
    (tmp_path / "c.json").write_bytes(certificate())
    (tmp_path / "c.json.tsr").write_bytes(stamp)
    root = authority.folder / "root.pem"
    names = ("-data", tmp_path / "c.json", "-in", tmp_path / "c.json.tsr", "-CAfile", root)
    assert b"Verification: OK" in call("ts", "-verify", *names).stdout


def test_a_stamp_that_openssl_asked_for_holds(authority, tmp_path):
    (tmp_path / "c.json").write_bytes(certificate())
    for digest in ("-sha256", "-sha512"):
        query = call("ts", "-query", "-data", tmp_path / "c.json", digest, "-cert").stdout
        assert check_stamp(authority.stamp(query), certificate(), authority.root)


def test_a_stamp_is_about_one_content_and_one_request(authority):
    request = request_for(certificate())
    stamp, longer = authority.stamp(request.content), certificate() + b"\n"
    with pytest.raises(CertificateError, match="another file, or another version"):
        check_stamp(stamp, longer, authority.root)
    with pytest.raises(CertificateError, match="another file, or another version"):
        received(stamp, longer, request)
    with pytest.raises(CertificateError, match="answers another request"):
        received(stamp, certificate(), request_for(certificate()))


def test_a_stamp_of_somebody_else_is_refused(authority, another, tmp_path):
    stamp = authority.stamp(request_for(certificate()).content)
    with pytest.raises(CertificateError, match="no authority that you trust"):
        check_stamp(stamp, certificate(), another.root)
    codes = Authority(tmp_path / "codes", usage="stamping")
    call("x509", "-req", "-in", codes.folder / "signer.csr", "-CA", codes.folder / "root.pem",
         "-CAkey", codes.folder / "root.key", "-extfile", codes.rules, "-extensions", "signing",
         "-out", codes.folder / "code.pem")  # fmt: skip
    with pytest.raises(subprocess.CalledProcessError):  # openssl does not sign with it at all
        call("ts", "-reply", "-queryfile", authority.folder / "query.tsq", "-config", codes.rules,
             "-signer", codes.folder / "code.pem")  # fmt: skip


def test_changed_stamps_are_refused(authority):
    stamp = authority.stamp(request_for(certificate()).content)
    for place in range(0, len(stamp), 7):
        changed = bytearray(stamp)
        changed[place] ^= 1
        try:
            at = check_stamp(bytes(changed), certificate(), authority.root)
        except CertificateError:
            continue
        assert at == check_stamp(stamp, certificate(), authority.root), place


def test_what_is_no_stamp_is_refused(authority, another):
    refusal = another.stamp(request_for(certificate()).content)  # it signs SHA-512 only
    with pytest.raises(CertificateError, match="granted none"):
        check_stamp(refusal, certificate(), another.root)
    for content in (b"", b"{}", b"\x30\x03\x02\x01\x00"):
        with pytest.raises(CertificateError, match="time stamp refused"):
            check_stamp(content, certificate(), authority.root)
    stamp = authority.stamp(request_for(certificate()).content)
    for trusted in (b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nAAAA\n"):
        with pytest.raises(InvalidInputError, match="certificates in PEM"):
            check_stamp(stamp, certificate(), trusted)
