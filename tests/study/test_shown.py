"""What judges see of two options."""

import base64

import pytest

import surepick as sp
from surepick.errors import InvalidInputError
from surepick.study.pulls import Pull
from surepick.study.sheet import OptionTable, Sheet
from surepick.study.shown import picture, shown

CSV = "prompt,tokens,asked,text\na,1,Why?,Short.\nb,2,Why?,notes/b.txt\nc,3,Why?,pic.png\n"
DOT = base64.b64decode("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "b.txt").write_text("Long <b>text</b>.")
    (tmp_path / "pic.png").write_bytes(DOT)
    (tmp_path / "unused.png").write_bytes(DOT)
    return tmp_path


def study_of(name, csv=CSV, **settings):
    table = OptionTable(Sheet(csv=csv))
    return sp.create_study(name, table=table, pairs=True, storage=f"memory://{name}", **settings)


def seen(study, first, second, item=None, **how):
    labels = study.problem.candidate_labels
    both = labels.index(first), labels.index(second)
    return shown(study.meta, labels, both, item, **how)


def test_columns_of_texts_are_shown_once_where_they_are_the_same_and_labels_are_not(folder):
    study = study_of("columns", files=folder)
    found = seen(study, "b", "c")
    assert found["both"] == [{"name": "asked", "kind": "text", "content": "Why?"}]
    assert found["first"] == [{"name": "text", "kind": "text", "content": "Long <b>text</b>."}]
    assert found["second"] == [{"name": "text", "kind": "file", "content": "pic.png"}]
    assert sorted(study.meta["files"]) == ["notes/b.txt", "pic.png"]
    assert picture(study.meta["files"]["pic.png"], "pic.png") == ("image/png", DOT)
    (pull,) = study.ask()
    (own,) = study.shown([pull])
    assert own == seen(study, pull.first, pull.second)


def test_columns_can_be_chosen_and_labels_stand_in_where_there_is_nothing_else():
    assert [one["content"] for one in seen(study_of("tokens", show="tokens"), "a", "b")["first"]]
    chosen = seen(study_of("chosen", show="prompt, tokens"), "a", "b")
    assert [one["content"] for one in chosen["first"]] == ["a", "1"]
    bare = seen(study_of("bare", "label\ntea\nmilk\n"), "milk", "tea")
    assert (bare["first"][0]["content"], bare["second"][0]["content"]) == ("milk", "tea")
    numbers = seen(study_of("numbers", "label,x\ntea,1\nmilk,2\n"), "milk", "tea")
    assert numbers["first"] == [{"name": "x", "kind": "text", "content": "2"}]


def test_items_are_named_in_cells(tmp_path):
    for option in "ab":
        (tmp_path / option).mkdir()
        for item in (0, 1):
            (tmp_path / option / f"{item}.txt").write_text(f"{option} on {item}")
    csv = "name,said\na,a/{item}.txt\nb,b/{item}.txt\n"
    study = study_of("items", csv, files=tmp_path)
    assert len(study.meta["files"]) == 4
    found = seen(study, "b", "a", item=1)
    assert [found[which][0]["content"] for which in ("first", "second")] == ["b on 1", "a on 1"]
    assert study.shown([Pull(0, 0, "a vs b", item=0)])[0]["first"][0]["content"] == "a on 0"


def test_only_plain_links_are_links_and_pictures_of_other_sites_are_asked_for():
    links = ["https://a.org/x.png", "javascript:alert(1)", "data:text/html;x", "ftp://a.org/b"]
    rows = "".join(f"o{i},{link}\n" for i, link in enumerate(links))
    study = study_of("links", f"name,where\n{rows}")
    kinds = [seen(study, f"o{i}", f"o{(i + 1) % 4}")["first"][0]["kind"] for i in range(4)]
    assert kinds == ["link", "text", "text", "text"]
    allowed = seen(study, "o0", "o1", pictures_from=("https://a.org",))
    assert allowed["first"][0]["kind"] == "picture"
    assert seen(study, "o0", "o1", pictures_from=("https://b.org",))["first"][0]["kind"] == "link"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"show": "nothing"}, "show: there is no column 'nothing'; there are 'tokens'"),
        ({"files": "nowhere"}, "files: nowhere is not a folder"),
        ({"files": {"other.txt": "x"}}, "files: no cell of the table names one of them"),
        ({"files": {"pic.png": "data:image/svg+xml;base64,AA"}}, "not a picture"),
        ({"files": {"pic.png": "data:image/png;base64,?"}}, "not written in base64"),
        ({"files": {"pic.png": "x" * (5 * 2**20)}}, "5.0 MB are too much"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_words(settings, why):
    with pytest.raises(InvalidInputError, match=why):
        study_of("refused", **settings)
    table = OptionTable(Sheet(csv=CSV))
    with pytest.raises(InvalidInputError, match="add pairs"):
        sp.create_study("no", table=table, show="text", storage="memory://refused")
