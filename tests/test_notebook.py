"""What a notebook shows, in a real one."""

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import surepick as sp
from surepick import notebook

CELLS = [
    """
import numpy as np, surepick as sp
problem = sp.Problem(np.eye(3), labels=["a", "b", "<i>c</i>"], noise=1.0)
problem
""",
    """
def measure(arm):
    return (0.0, 3.0, -3.0)[arm]

sp.identify(problem, measure, on_batch=sp.notebook.Live())
""",
    """
study = sp.create_study("shown", problem, storage="memory://")
study.tell_many([(pull.id, measure(pull.arm)) for pull in study.ask(6)])
study
""",
    """
run = sp.algorithms.PooledPeleg(0.05).start(problem)
run.tell(batch := run.ask(), [measure(arm) for arm in batch.arms])
run.standing()
""",
    "sp.identify(problem, measure, baseline='a')",
]


@pytest.fixture(scope="module")
def shown():
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    return [
        [(output.output_type, output.get("data", {}).get("text/html")) for output in cell.outputs]
        for cell in book.cells
    ]


def last(outputs):
    kind, html = outputs[-1]
    assert kind == "execute_result"
    return html


def test_a_problem_is_a_table_of_its_options_and_labels_are_text(shown):
    html = last(shown[0])
    assert html.count("<tr>") == 4
    assert "&lt;i&gt;c&lt;/i&gt;" in html
    assert "<i>" not in html


def test_progress_is_live_and_stays_in_its_place(shown):
    kinds = [kind for kind, _ in shown[1]]
    assert kinds == ["display_data", "execute_result"]  # updated in place, not piled up
    live = shown[1][0][1]
    assert "1 candidates left" not in live
    assert "stopped" in live  # the last of the updates
    assert "Of 100 studies like this one, at most 5 name a wrong option" in last(shown[1])


def test_a_study_says_who_is_in_the_race(shown):
    html = last(shown[2])
    assert "shown: 6 measurements" in html
    assert html.index("<td>b</td>") < html.index("<td>a</td>")  # the leader first


def test_a_standing_and_a_comparison_are_tables(shown):
    assert "b is ahead" in last(shown[3])
    verdicts = last(shown[4])
    assert "<td>better</td>" in verdicts
    assert "at least" in verdicts


def test_long_tables_are_cut_and_say_so():
    problem = sp.Problem(np.eye(40))
    html = problem._repr_html_()
    assert html.count("<tr>") == notebook.MOST_ROWS + 1
    assert f"… and {40 - notebook.MOST_ROWS} more" in html
    assert "feature 11" not in html
