"""``surepick run --known``: scores that are known already."""

import json
import random

LABELS = ["short", "long", "steps"]


def test_a_table_that_is_complete_is_all_it_takes(folder, surepick):
    (folder / "prompts.csv").write_text("\n".join(["label", *LABELS, ""]))
    rows = [
        f"{label},{item},{int(random.Random(f'{label}{item}').random() < 0.2 + 0.3 * i)}"
        for i, label in enumerate(LABELS)
        for item in range(30)
    ]
    (folder / "known.csv").write_text("\n".join(["label,item,reward", *rows, ""]))
    surepick("new", "p", "prompts.csv", "--complete", "30", "--rewards", "yes-no", "--seed", "1")
    code, out, _ = surepick("run", "p", "--known", "known.csv", "--json")
    assert (code, json.loads(out)["finished"]) == (0, True)
    # What is missing has to be measured somehow.
    surepick("new", "q", "prompts.csv", "--complete", "31", "--rewards", "yes-no", "--seed", "2")
    (folder / "known.csv").write_text("label,item,reward\nlong,0,1\n")
    code, _, err = surepick("run", "q", "--known", "known.csv", "--retries", "0")
    assert code == 5
    assert "say how to measure it (--exec or --call)" in err


def test_it_needs_items_and_a_way(folder, study, surepick):
    (folder / "known.csv").write_text("label,item,reward\nb,0,1\n")
    code, _, err = surepick("run", study, "--known", "known.csv", "--exec", "true")
    assert code == 2
    assert "only studies with items" in err
    # Where items come up again and again, one frozen score would count as many.
    table = "label\na\nb\n"
    (folder / "two.csv").write_text(table)
    surepick("new", "again", "two.csv", "--items", "20", "--rewards", "yes-no")
    code, _, err = surepick("run", "again", "--known", "known.csv")
    assert code == 2
    assert "would count as a new measurement each time; make the study with --complete" in err
    assert surepick("run", study)[0] == 2
