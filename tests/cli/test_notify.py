import json

from surepick.study import load_study


def test_addresses_are_added_listed_and_removed(surepick, study, folder):
    assert surepick("notify", study)[1] == "Nobody is told of this study.\n"
    to = ("--to", "http://127.0.0.1:9/x?key=1", "--private", "--on", "decided,stuck")
    code, out, _ = surepick("notify", study, *to)
    assert code == 0
    assert "Secret (shown only now): whsec_" in out
    assert "key=1" not in out
    (row,) = json.loads(surepick("notify", study, "--json")[1])["webhooks"]
    assert row["on"] == ["decided", "stuck"]
    assert "whsec" not in json.dumps(row)
    opened = load_study(study)
    while not opened.finished:
        for pull in opened.ask(20, "ann"):
            opened.tell(pull.id, 3.0 * pull.arm, "ann")
    code, out, _ = surepick("notify", study, "--send")
    assert (code, out) == (0, "1 new notice; 0 arrived.\n")
    assert "study.decided  attempt 1: " in surepick("notify", study)[1]
    assert surepick("notify", study, "--remove", row["id"])[0] == 0
    assert surepick("notify", study, "--remove", row["id"])[0] == 2


def test_what_there_is_to_tell_is_printed_for_a_mail(surepick, study):
    code, out, _ = surepick("notify", study, "--text", "--on", "decided")
    assert (code, out) == (0, "There is nothing to tell.\n")
    opened = load_study(study)
    while not opened.finished:
        for pull in opened.ask(20, "ann"):
            opened.tell(pull.id, 3.0 * pull.arm, "ann")
    subject, text = surepick("notify", study, "--text")[1].splitlines()
    assert f"{study}: decided after" in subject
    assert text == opened.answer.plain


def test_what_cannot_be_is_said(surepick, study):
    code, _, err = surepick("notify", study, "--to", "https://10.0.0.1/x")
    assert (code, "private network" in err) == (2, True)
    code, _, err = surepick("notify", study, "--to", "https://example.org/x", "--on", "decied")
    assert (code, "did you mean 'decided'" in err) == (2, True)
    code, _, err = surepick("notify", study, "--send", "--remove", "x")
    assert (code, "give one of" in err) == (2, True)
