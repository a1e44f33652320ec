"""Files that the programs themselves wrote (data/README.md): read, they say what their makers say.

What the programs make of our files is seen by ``python -m benchmarks.evaluation_tools``.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from surepick.integrations.evaluations import (
    ScoreTable,
    decide,
    read_lm_eval,
    read_promptfoo,
    write_lm_eval,
    write_promptfoo,
)

DATA = Path(__file__).parent / "data"
PROMPTFOO, LM_EVAL = DATA / "promptfoo" / "results.json", DATA / "lm_eval" / "out"
COLUMNS = ("small · plain", "small · steps", "large · plain", "large · steps")


def counted(path=PROMPTFOO):
    """What promptfoo counted for each column."""
    return [prompt["metrics"] for prompt in json.loads(path.read_text())["results"]["prompts"]]


def summaries():
    """What the harness found for each model, by its name."""
    found = [json.loads(path.read_text()) for path in LM_EVAL.glob("*/results_*.json")]
    return {summary["model_name"]: summary["results"] for summary in found}


# -- promptfoo -------------------------------------------------------------------------------
def test_promptfoos_totals_are_those_of_what_was_read():
    passed = read_promptfoo(PROMPTFOO)
    assert passed.options == COLUMNS
    assert passed.items == tuple(f"test {i}" for i in range(6))
    for row, counts in zip(passed.scores, counted()):
        assert np.nansum(row) == counts["testPassCount"]
        assert (row == 0).sum() == counts["testFailCount"]
        assert np.isnan(row).sum() == counts["testErrorCount"]
    assert sum(counts["testErrorCount"] for counts in counted()) == 1
    totals = np.nansum(read_promptfoo(PROMPTFOO, "score").scores, axis=1)
    assert totals == pytest.approx([counts["score"] for counts in counted()])


def test_promptfoos_named_scores_are_read_where_there_is_an_answer():
    """The test that ended in an error has no named scores at all."""
    brevity = read_promptfoo(PROMPTFOO, "brevity")
    assert np.isnan(brevity.of("small · steps", "test 3"))
    assert np.nansum(brevity.scores, axis=1) == pytest.approx(
        [counts["namedScores"]["brevity"] for counts in counted()]
    )


def test_the_order_in_which_answers_came_does_not_matter(tmp_path):
    body = json.loads(PROMPTFOO.read_text())
    body["results"]["results"].reverse()
    (tmp_path / "results.json").write_text(json.dumps(body))
    found, known = read_promptfoo(tmp_path / "results.json"), read_promptfoo(PROMPTFOO)
    assert (found.options, found.items) == (known.options, known.items)
    np.testing.assert_array_equal(found.scores, known.scores)


def test_only_the_error_is_evaluated_again_and_all_comes_back_to_promptfoo(tmp_path):
    asked = []

    def evaluate(option, item):
        asked.append((option, item))
        return 1.0

    found = decide(read_promptfoo(PROMPTFOO), evaluate)
    assert asked == [("small · steps", "test 3")]
    # Two never fail, and a third no longer does: nobody is proven to be better.
    assert (found.option, found.how) == ("small · steps", "complete")
    path = write_promptfoo(found.table, tmp_path / "ours.json")
    np.testing.assert_array_equal(read_promptfoo(path).scores, found.table.scores)
    # promptfoo takes its totals from these after an import.
    assert [counts["testPassCount"] for counts in counted(path)] == [3, 6, 6, 6]
    assert [counts["testFailCount"] for counts in counted(path)] == [3, 0, 0, 0]


# -- lm-evaluation-harness -------------------------------------------------------------------
@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
def test_the_harness_means_are_those_of_what_was_read(metric):
    table = read_lm_eval(LM_EVAL, "sums", metric)
    assert table.options == ("school/large", "school/medium", "school/small")
    assert table.items == tuple(f"doc {i}" for i in range(16))  # one has a line separator in it
    for option, mean in zip(table.options, table.scores.mean(axis=1)):
        assert mean == pytest.approx(summaries()[option]["sums"][f"{metric},none"])


@pytest.mark.parametrize(("filter", "mean"), [("as-it-is", 0.5), ("loud", 0.25)])
def test_each_filter_of_the_harness_has_its_mean(filter, mean):
    table = read_lm_eval(LM_EVAL, "jokes", "exact_match", filter=filter)
    for option, row in zip(table.options, table.scores):
        said = summaries()[option]["jokes"][f"exact_match,{filter}"]
        assert row.mean() == said == mean


def test_what_was_decided_is_written_about_the_same_documents(tmp_path):
    known = read_lm_eval(LM_EVAL, "sums")
    found = decide(ScoreTable(known.options, known.items), known.of, max_evaluations=40).table
    assert 0 < found.known <= 40
    write_lm_eval(found, tmp_path, "sums")
    folders = [{path.name for path in folder.iterdir()} for folder in (tmp_path, LM_EVAL)]
    assert folders[0] == folders[1]
    for path in tmp_path.glob("*/samples_*"):
        lines = path.read_text().splitlines()
        option = f"school/{path.parent.name.removeprefix('school__')}"
        written = {f"doc {row['doc_id']}": row["acc"] for row in map(json.loads, lines)}
        row = dict(zip(found.items, found.scores[found.options.index(option)]))
        assert written == {item: score for item, score in row.items() if not np.isnan(score)}
