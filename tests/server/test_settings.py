"""What must be said before the service can be reached by others."""

import pytest

from surepick.errors import InvalidInputError
from surepick.server.bodies import too_deep
from surepick.server.quotas import Rate
from surepick.server.settings import Settings

DATABASE = "sqlite:///x.db"


def test_defaults_are_for_this_machine_only():
    settings = Settings(storage=DATABASE)
    assert settings.loopback
    assert settings.hosts == {"localhost", "127.0.0.1", "[::1]"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"host": "0.0.0.0"}, "unencrypted"),
        ({"host": "example.org"}, "unencrypted"),
        ({"host": "0.0.0.0", "plain_http": True}, "--allowed-host"),
        ({"tls_cert": "x.pem"}, "both"),
        ({"tls_cert": "no.pem", "tls_key": "no.key"}, "no file"),
        ({"storage": "memory://"}, "database"),
        ({"workers": 0}, "workers"),
        ({"port": 70000}, "port"),
        ({"rate": 0}, "rate"),
    ],
)
def test_settings_that_are_refused(given, says):
    with pytest.raises(InvalidInputError, match=says):
        Settings(**({"storage": DATABASE} | given))


def test_settings_survive_the_way_to_another_process():
    settings = Settings(
        storage=DATABASE, host="0.0.0.0", proxy=("10.0.0.1",), allowed_hosts=("s.example",)
    )
    assert Settings.from_json(settings.to_json()) == settings


def test_depth():
    assert not too_deep(b"[[]]", 2)
    assert too_deep(b"[[[]]]", 2)
    assert not too_deep(b'["[[[[[[", {"a": "{{\\"{{"}]', 2)
    assert too_deep(b'["\\\\", [[]]]', 2)
    assert not too_deep(b"[" + b"[],{}," * 1000 + b"0]", 2)
    assert too_deep(b"[" * 10, 5)


def test_rates_are_kept_apart():
    rate = Rate(0.001, 3)
    assert [rate.wait("a") for _ in range(3)] == [0.0] * 3
    assert rate.wait("a") > 900
    assert rate.wait("b") == 0.0
