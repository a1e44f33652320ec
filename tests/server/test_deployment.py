"""The unit for systemd starts what the service understands."""

import configparser
import shlex
from pathlib import Path

import click

from surepick.cli.serve import command

UNIT = Path(__file__).parents[2] / "examples" / "surepick.service"


def lines(name):
    """All values of a setting: it may be said several times."""
    return [
        line.split("=", 1)[1]
        for line in UNIT.read_text().splitlines()
        if line.startswith(f"{name}=")
    ]


def test_the_unit_starts_the_service_with_options_that_it_has():
    (start,) = lines("ExecStart")
    program, verb, *options = shlex.split(start)
    assert (Path(program).name, verb) == ("surepick", "serve")
    given = command.make_context("serve", options, resilient_parsing=False).params
    assert given["signing_key"].startswith("/var/lib/surepick/")
    assert given["proxy"]
    assert given["allowed_hosts"]


def test_what_the_unit_keeps_lies_in_its_own_folder():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(UNIT)
    assert unit["Service"]["StateDirectory"] == "surepick"
    assert unit["Service"]["ProtectSystem"] == "strict"  # all else is read-only
    settings = dict(
        pair.split("=", 1) for line in lines("Environment") for pair in shlex.split(line)
    )
    storage = next(option for option in command.params if option.name == "storage")
    assert isinstance(storage, click.Option)
    assert storage.envvar == "SUREPICK_STORAGE"
    assert settings["SUREPICK_STORAGE"].startswith("sqlite:////var/lib/surepick/")
    assert settings["NUMBA_CACHE_DIR"].startswith("/var/lib/surepick/")
