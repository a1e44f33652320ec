"""What a text may be that comes in: the same everywhere, whatever it is kept in."""

import json

import pytest

import surepick as sp
from surepick.errors import InvalidInputError
from surepick.text import as_line, as_output, as_passage, unfit, unfit_in_json

FIT = ["", "one\ttwo\nthree\r\n", "é €", "\u05d0\u200f \u05d1", "\U0001f600"]
FIT += ["\\u0000", "\\\\u0000"]
UNFIT = ["a\0b", "\x1b[2J", "\x7f", "\x85", "\u202e", "\u2066x", "\ud83d", "\ude00\ud83d", "\\\0"]


@pytest.mark.parametrize("text", FIT)
@pytest.mark.parametrize("escaped", [True, False])
def test_what_can_be_kept_comes_in(text, escaped):
    assert unfit(text) == "" == unfit_in_json(_json({"k": [text]}, escaped), "body")
    assert as_output(text) == text == as_passage(text, "note")


@pytest.mark.parametrize("text", UNFIT)
@pytest.mark.parametrize("escaped", [True, False])
def test_what_cannot_is_named(text, escaped):
    why = unfit(text)
    assert why.startswith("the character U+")
    with pytest.raises(InvalidInputError, match=r"note must not have the character"):
        as_passage(text, "note")
    with pytest.raises(InvalidInputError, match="name must be 1 to 200 printable"):
        as_line(text, "name")
    assert unfit(as_output(text)) == ""
    if escaped or not any("\ud800" <= c < "\ue000" for c in text):
        body = _json({"k": [0, {"note": text}]}, escaped)
        assert f"body.k.1.note must not have {why}" in unfit_in_json(body, "body")
        long = _json({"k": " " * 70_000, "note": text}, escaped)
        assert "cannot be kept at byte 7" in unfit_in_json(long, "body")


def test_names_of_fields_are_texts_too():
    assert "a name in body.k must not have" in unfit_in_json(_json({"k": {"\0": 1}}, True), "body")


def test_text_that_is_no_json_is_left_to_whoever_reads_it():
    assert unfit_in_json(b'{"a": "\\u0000"', "body") == ""


@pytest.mark.parametrize("label", ["a\0", "\ud800", "\u202etfel"])
def test_labels(label):
    with pytest.raises(InvalidInputError, match=r"the label of row 1 must not have the char"):
        sp.Problem.unstructured(["a", label])


def test_labels_may_have_lines():
    assert sp.Problem.unstructured(["a\nb", "a\tb"]).labels == ("a\nb", "a\tb")


def _json(value, escaped: bool) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=escaped).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
