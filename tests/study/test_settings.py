"""Settings as data: each is complete, those from outside are checked and kept like ours."""

import json

import pytest

import surepick as sp
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from surepick.study import StudySpec
from surepick.study.settings import Setting, find, known, register, unregister

PROBLEM = sp.Problem([[1.0], [2.0]])
ROOM = Setting(name="room", help="Where it is measured, not `delta`.", schema={"type": "string"})


@pytest.fixture
def room():
    register(ROOM)
    yield ROOM
    unregister("room")


@pytest.mark.parametrize("name", list(known()))
def test_every_setting_says_what_it_is(name):
    setting = known()[name]
    assert setting.help.endswith((".", "?"))
    assert setting.schema.keys() & {"type", "anyOf", "$ref"}
    assert setting.name == name
    assert not setting.question or setting.hint
    if setting.choices:
        assert setting.choices[0][0] == setting.default
    assert f"\n    {name}\n" in StudySpec.__doc__


def test_a_setting_that_only_says_something_is_kept(room):
    spec = StudySpec.of(name="s", problem=PROBLEM, room="kitchen", hedge=True)
    assert spec.prepared.meta == {"room": "kitchen", "hedge": True}
    again = StudySpec.from_json(spec.to_json())
    assert json.loads(spec.to_json())["room"] == "kitchen"
    assert again.prepared.meta == spec.prepared.meta
    assert StudySpec.of(name="s", problem=PROBLEM, room=None).prepared.meta == {}


def test_a_value_that_json_cannot_hold_is_refused(room):
    with pytest.raises(InvalidInputError, match="room must be what JSON can hold"):
        _ = StudySpec.of(name="s", problem=PROBLEM, room={1, 2}).prepared


def test_names_that_are_taken_or_are_none_are_refused(room):
    for taken in ("room", "delta"):
        with pytest.raises(InvalidInputError, match=f"{taken}' already exists"):
            register(Setting(name=taken, help="It.", schema={"type": "string"}))
    for wrong in ("", "Room", "a room", "_room", "room-1"):
        with pytest.raises(InvalidInputError, match="small letters"):
            register(Setting(name=wrong, help="It.", schema={"type": "string"}))


def test_a_setting_that_is_gone_is_unknown():
    with pytest.raises(UnknownNameError, match="unknown setting 'rom'"):
        find("rom")
    with pytest.raises(UnknownNameError, match="unknown setting 'room'"):
        StudySpec(name="s", problem=PROBLEM, added={"room": "kitchen"})


@pytest.mark.parametrize("name", ["overlap", "hedge", "again"])
def test_yes_or_no_is_true_or_false(name):
    with pytest.raises(InvalidTypeError, match=f"{name} must be true or false; got 'yes'"):
        StudySpec(name="s", problem=PROBLEM, **{name: "yes"})


def test_names_of_others_are_written_as_they_are_said_there():
    assert ROOM.helped() == "Where it is measured, not delta."
    assert ROOM.helped(str.upper) == "Where it is measured, not DELTA."
    assert find("overlap").flags == "--overlap/--no-overlap"
    assert find("max_samples").flags == "--max-samples"
