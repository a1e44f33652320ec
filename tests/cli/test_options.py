"""A new candidate on Wednesday, and one that is sold out, as the laboratory types it."""

import json

import surepick as sp

MORE = "label,price,colour\ne,9,green\n"


def measure(study):
    """Until it is finished: what an option costs is what it is worth."""
    while pulls := study.ask(20, worker="w"):
        prices = [(p.id, float(study.features_of(p.arm)["price"])) for p in pulls]
        study.tell_many([(pull, price + 0.1 * (pull % 3)) for pull, price in prices])


def test_options_are_added_and_retired_by_hand(surepick, folder):
    assert surepick("new", "s", "options.csv", "--noise", "0.5")[0] == 0
    surepick("ask", "s", "--worker", "w")
    (folder / "more.csv").write_text(MORE)
    code, out, _ = surepick("add", "s", "more.csv", "--reason", "it is new")
    assert code == 0
    assert "Added: e. It comes with the next batch.\nMeasurements left in the open batch" in out
    assert "After this batch added: e" in surepick("status", "s")[1]
    code, _, err = surepick("add", "s", "options.csv")
    assert (code, "an option 'a' already exists" in err) == (2, True)
    code, _, err = surepick("retire", "s", "z", "--reason", "sold out")
    assert (code, "unknown option 'z'" in err) == (2, True)
    assert surepick("retire", "s", "a")[0] == 2, "it takes a reason"
    measure(sp.load_study("s", "sqlite:///surepick.db"))
    assert "e" in surepick("answer", "s")[1].splitlines()[0]
    code, out, _ = surepick("retire", "s", "e", "--reason", "sold out", "--by", "ann", "--json")
    said = json.loads(out)
    assert (said["change"], said["waits"], said["finished"]) == ("retired", False, False)
    measure(sp.load_study("s", "sqlite:///surepick.db"))
    code, out, _ = surepick("status", "s")
    assert "retired" in out
    assert "of 4 options" in out
    assert surepick("verify", "s")[0] == 0
    rows = surepick("export", "s", "--what", "option-changes")[1].splitlines()
    assert [row.split(",")[1:5] for row in rows[1:]] == [
        ["added", "e", "it is new", ""],
        ["retired", "e", "sold out", "ann"],
    ]
