"""``surepick set-aside``: what is said, and what is refused."""

import json

from tests.cli.conftest import folder, surepick  # noqa: F401

import surepick as sp


def test_a_day_is_set_aside_before_and_after(surepick, folder):  # noqa: F811
    how = ("--traffic", "--rewards", "yes-no", "--unstructured")
    assert surepick("new", "shop", "options.csv", *how)[0] == 0
    code, out, _ = surepick(
        "set-aside", "shop", "--period", "sale", "--reason", "as every year", "--yes"
    )
    assert code == 0
    assert "Period 'sale' is set aside for all options, as recorded in advance." in out
    code, out, _ = surepick("split", "shop", "--period", "monday", "--json")
    labels = json.loads(out)["shares"]
    rows = "".join(f"{label},100,{7 + i}\n" for i, label in enumerate(labels))
    (folder / "monday.csv").write_text("label,visits,successes\n" + rows)
    assert surepick("record", "shop", "monday.csv", "--period", "monday")[0] == 0
    why = ("--reason", "bots", "--blind", "--by", "ann", "--yes")
    code, out, _ = surepick("set-aside", "shop", "--period", "monday", *why, "--json")
    made = json.loads(out)
    assert (code, made["decided"], made["left_out"]) == (0, "blind", 100 * len(labels))
    code, out, _ = surepick("status", "shop", "--json")
    assert json.loads(out)["samples"] == 0
    code, _, err = surepick("set-aside", "shop", "--period", "tuesday", "--reason", "bots")
    assert code != 0
    assert "Set period tuesday aside for all options?" in err
    assert "cannot be undone" in err
    assert len(sp.load_study("shop").acts("set-aside")) == 2
    for wrong in (("--batch", "0"), (), ("--period", "a", "--stratum", "b")):
        code, _, err = surepick("set-aside", "shop", *wrong, "--reason", "x", "--yes")
        assert code == 2, err
    assert surepick("set-aside", "shop", "--period", "monday")[0] == 2  # without a reason


def test_a_day_is_set_aside_in_every_segment(surepick, folder):  # noqa: F811
    how = ("--traffic", "--rewards", "yes-no", "--unstructured", "--segments", "phone,desk")
    code, _, err = surepick("new", "parts", "options.csv", *how)
    assert code == 0, err
    code, out, _ = surepick(
        "set-aside", "parts", "--period", "sale", "--reason", "x", "--json", "--yes"
    )
    assert {one["decided"] for one in json.loads(out).values()} == {"in advance"}
    assert len(json.loads(out)) == 2


def test_what_is_accepted_may_be_said_in_per_cent_where_rewards_are_rates(surepick, folder):  # noqa: F811
    for name, rewards in (("clicks", "yes-no"), ("grams", "number")):
        how = ("--rewards", rewards, "--unstructured")
        assert surepick("new", name, "options.csv", *how)[0] == 0
    code, out, _ = surepick("accept", "clicks", "0.2%", "--reason", "alike")
    assert code == 0
    assert "within 0.002 of the best" in out
    code, _, err = surepick("accept", "grams", "0.2%", "--reason", "alike")
    assert code == 2
    assert "per cent are for rewards that are rates" in err
