"""Files of evaluation tools: read as those tools write them, and written so that they come back."""

import json

import numpy as np
import pytest

from surepick.errors import FormatError, InvalidInputError
from surepick.integrations.evaluations import (
    ScoreTable,
    read_lm_eval,
    read_promptfoo,
    write_lm_eval,
    write_promptfoo,
)

NAN = float("nan")
TABLE = ScoreTable(["small", "large · short"], ["one", "two", "three"], [[1, 0, NAN], [1, 1, 0]])


def result(prompt, test, success, score=None, **more):
    """A row as promptfoo writes it, less what nobody reads here."""
    return {
        "id": f"row-{prompt}-{test}",
        "promptIdx": prompt,
        "testIdx": test,
        "promptId": "9f86d081",
        "provider": {"id": ["openai:small", "openai:large"][prompt % 2], "label": ""},
        "prompt": {"raw": "Answer: {{question}}", "label": ["plain", "plain", "steps"][prompt]},
        "vars": {"question": f"What is {test} + 1?"},
        "response": {"output": str(test + 1), "cached": False},
        "success": success,
        "score": float(success) if score is None else score,
        "namedScores": {"brevity": 0.25},
        "failureReason": 0 if success else 1,
        "error": None,
        "latencyMs": 512,
        **more,
    }


def promptfoo(tmp_path, rows):
    body = {
        "evalId": "eval-a1",
        "results": {"version": 3, "results": rows, "stats": {}},
        "config": {},
    }
    path = tmp_path / "results.json"
    path.write_text(json.dumps(body))
    return path


def test_promptfoo_is_read(tmp_path):
    rows = [
        *(result(0, 0, True), result(1, 0, False), result(2, 0, True, 0.8)),
        *(result(0, 1, False, 0.3), result(2, 1, True)),
        result(1, 1, False, failureReason=2, error="429 Too Many Requests"),
    ]
    path = promptfoo(tmp_path, rows)
    table = read_promptfoo(path)
    assert table.options == ("openai:small · plain", "openai:large · plain", "openai:small · steps")
    assert table.items == ("test 0", "test 1")
    assert table.rewards == "yes-no"
    np.testing.assert_equal(table.scores, [[1, 0], [0, NAN], [1, 1]])  # an error is no answer
    assert read_promptfoo(path, "score").of("openai:small · plain", "test 1") == 0.3
    assert read_promptfoo(path, "brevity").of("openai:small · steps", "test 0") == 0.25
    with pytest.raises(InvalidInputError, match="known: pass, score, brevity"):
        read_promptfoo(path, "length")
    same = [r | {"provider": {"id": "same"}, "prompt": {"raw": "same"}} for r in rows[:3]]
    assert read_promptfoo(promptfoo(tmp_path, same)).options == ("same #0", "same #1", "same #2")


def test_promptfoo_comes_back(tmp_path):
    path = write_promptfoo(TABLE, tmp_path / "out.json")
    found = read_promptfoo(path)
    assert found.options == TABLE.options
    np.testing.assert_equal(found.scores, TABLE.scores)
    summary = json.loads(path.read_text())["results"]
    assert summary["version"] == 3
    assert summary["stats"] == {"successes": 3, "failures": 2, "errors": 0}
    assert len(summary["prompts"]) == 2
    scores = ScoreTable(["a"], ["x", "y"], [[2.5, 0]], rewards=(0, 5))
    back = read_promptfoo(write_promptfoo(scores, path), "score", rewards=(0, 5))
    np.testing.assert_equal(back.scores, scores.scores)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "no list results.results"),
        ('{"results": {"results": []}}', "has no results"),
        ('{"results": {"results": [{"promptIdx": 0}]}}', "result 0 is not one of promptfoo's"),
    ],
)
def test_other_files_are_not_promptfoos(tmp_path, body, message):
    (tmp_path / "results.json").write_text(body)
    with pytest.raises(FormatError, match=message):
        read_promptfoo(tmp_path / "results.json")


def sample(doc, filter="none", **metrics):
    return {
        "doc_id": doc,
        "doc": {"question": f"What is {doc} + 1?"},
        "target": str(doc + 1),
        "arguments": {"gen_args_0": {"arg_0": "Question: …"}},
        "resps": [["2"]],
        "filtered_resps": ["2"],
        "filter": filter,
        "metrics": list(metrics),
        "doc_hash": f"hash {doc}",
        "prompt_hash": "aa",
        "target_hash": "bb",
        **metrics,
    }


def samples(folder, model, rows, task="sums", date="2026-11-16T10-00-00.123456"):
    (folder / model).mkdir(exist_ok=True)
    path = folder / model / f"samples_{task}_{date}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_lm_eval_is_read(tmp_path):
    samples(tmp_path, "small", [sample(0, acc=1.0), sample(1, acc=0.0)])
    samples(tmp_path, "small", [sample(0, acc=0.0)], date="2026-11-01T10-00-00.5")  # an older run
    samples(tmp_path, "small", [sample(0, acc=0.0)], task="sums_hard")  # another task
    samples(tmp_path, "large", [sample(1, acc=1.0), sample(2, acc=1.0)])
    table = read_lm_eval(tmp_path, "sums")
    assert table.options == ("large", "small")
    assert table.items == ("doc 1", "doc 2", "doc 0")
    np.testing.assert_equal(table.scores, [[1, 1, NAN], [0, NAN, 1]])
    named = read_lm_eval({"S": tmp_path / "small"}, "sums")
    assert named.options == ("S",)
    with pytest.raises(InvalidInputError, match=r"no samples of 'sum'; there are: sums, sums_hard"):
        read_lm_eval({"S": tmp_path / "small"}, "sum")
    with pytest.raises(InvalidInputError, match="no number 'f1'; there are: acc"):
        read_lm_eval(tmp_path, "sums", "f1")


def test_lm_eval_of_other_documents_and_filters_is_refused(tmp_path):
    samples(tmp_path, "a", [sample(0, acc=1.0)])
    samples(tmp_path, "b", [sample(0, acc=1.0) | {"doc_hash": "other"}])
    with pytest.raises(FormatError, match="doc 0 differs from the document"):
        read_lm_eval(tmp_path, "sums")
    rows = [sample(0, "strict", em=1.0), sample(0, "loose", em=0.0)]
    samples(tmp_path, "c", rows, task="gsm")
    with pytest.raises(InvalidInputError, match="has loose, strict; choose one"):
        read_lm_eval({"c": tmp_path / "c"}, "gsm", "em")
    assert read_lm_eval({"c": tmp_path / "c"}, "gsm", "em", filter="strict").scores.item() == 1.0
    samples(tmp_path, "d", [sample(0, acc=1.0), sample(0, acc=0.0)])
    with pytest.raises(FormatError, match="'d' has two scores on 'doc 0'"):
        read_lm_eval({"d": tmp_path / "d"}, "sums")


def test_lm_eval_comes_back(tmp_path):
    write_lm_eval(TABLE, tmp_path, "exam", "em")
    found = read_lm_eval(tmp_path, "exam", "em")
    assert found.options == ("large · short", "small")
    assert found.items == ("doc 0", "doc 1", "doc 2")
    np.testing.assert_equal(found.scores, TABLE.scores[::-1])
    # What was read and is written again is about the same documents.
    part = ScoreTable(["small"], ["doc 17", "doc 3"], [[1, 0]])
    back = read_lm_eval(write_lm_eval(part, tmp_path / "part", "exam"), "exam")
    assert (back.items, back.scores.tolist()) == (("doc 17", "doc 3"), [[1, 0]])


def test_no_option_is_written_over_another(tmp_path):
    """Their folders would be called the same, or be no folders of their own."""
    names = ["a/b", "a:b", "A b", "a_b_2", "..", "é" * 300, "é" * 299, "nobody looked"]
    scores = [[i % 2] for i in range(7)] + [[NAN]]
    table = ScoreTable(names, ["q"], scores)
    found = read_lm_eval(write_lm_eval(table, tmp_path / "in" / "out", "exam"), "exam")
    assert {name: found.of(name, "doc 0") for name in found.options} == dict(
        zip(names[:7], np.ravel(scores[:7]))
    )
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["out"]
    with pytest.raises(InvalidInputError, match="without a path"):
        write_lm_eval(table, tmp_path, "../exam")


def test_models_are_called_as_their_summaries_say_if_that_is_clear(tmp_path):
    samples(tmp_path, "org__small", [sample(0, acc=1.0)])
    samples(tmp_path, "org__large", [sample(0, acc=0.0)])
    assert read_lm_eval(tmp_path, "sums").options == ("org__large", "org__small")
    for folder, name in (("org__small", "org/small"), ("org__large", "org/large")):
        summary = tmp_path / folder / "results_2026-11-16T10-00-00.123456.json"
        summary.write_text(json.dumps({"model_name": name}))
    assert read_lm_eval(tmp_path, "sums").options == ("org/large", "org/small")
    summary.write_text(json.dumps({"model_name": "org/small"}))
    assert read_lm_eval(tmp_path, "sums").options == ("org__large", "org__small")
    with pytest.raises(InvalidInputError, match="does not have one folder per model; give"):
        read_lm_eval(tmp_path / "org__small", "sums")


@pytest.mark.parametrize("bad", [None, NAN, "good", [1]])
def test_one_bad_line_is_one_cell(tmp_path, bad, caplog):
    rows = [result(0, 0, True), result(1, 0, False, 0.5), result(0, 1, True), result(1, 1, True)]
    rows[1]["score"] = bad
    table = read_promptfoo(promptfoo(tmp_path, rows), "score")
    assert np.isnan(table.scores).tolist() == [[False, False], [True, False]]
    assert "prompt 1, test 0: the score is" in caplog.text
    folder = write_lm_eval(TABLE, tmp_path / "out", "exam")
    (file,) = folder.glob("small/samples_*")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[1]["acc"] = bad
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    again = read_lm_eval(folder, "exam")
    row = again.scores[again.options.index("small")]
    assert (row[again.items.index("doc 0")], again.known) == (1.0, TABLE.known - 1)
