"""Which tests a change concerns."""

import pytest
from benchmarks import outdated
from tests.changed import ROOT, chosen

# It takes long to read which module imports which.
pytestmark = pytest.mark.validation


@pytest.mark.parametrize(
    ("file", "inside", "outside"),
    [
        ("src/surepick/client/requests.py", "tests/client/test_async.py", "tests/design/"),
        (
            "src/surepick/proof/payoffs/bounded.py",
            "tests/proof/payoffs/test_bounded.py",
            "tests/research/game/test_learners.py",
        ),
        ("src/surepick/research/rage.py", "tests/conformance/test_algorithms.py", "-"),
        (
            "src/surepick/verifier/questions/best.py",
            "tests/verifier/",
            "tests/research/game/test_learners.py",
        ),
        (
            "src/surepick/problem/problem.py",
            "tests/study/test_study.py",
            "tests/research/game/test_learners.py",
        ),
        ("src/surepick/proof/bets.py", "tests/proof/test_bets.py", "tests/client/"),
        ("docs/start.md", "tests/docs/test_pages.py", "tests/client/"),
        (
            "tests/research/game/test_learners.py",
            "tests/research/game/test_learners.py",
            "tests/client/",
        ),
        ("src/surepick/server/page/js/main.js", "tests/server/page/", "tests/client/"),
    ],
)
def test_what_is_chosen(file, inside, outside):
    found = chosen([file])
    assert any(name.startswith(inside) for name in found), found
    assert not [name for name in found if name.startswith(outside)]


def test_nothing_has_changed():
    assert chosen([]) == []


def test_every_module_is_tested_by_something():
    without = {"__main__.py"}
    for file in (ROOT / "src").glob("surepick/**/*.py"):
        if "migrations/versions" not in file.as_posix() and file.name not in without:
            assert chosen([file.relative_to(ROOT).as_posix()]), file


def test_records_know_which_files_decide_about_them():
    found = outdated.deciding_files(outdated.ROOT / "benchmarks" / "yes_no.py")
    assert "src/surepick/algorithms/pooled/planning.py" in found
    assert not any("/cli/" in file or "/report/" in file for file in found)
    assert all((outdated.ROOT / file).is_file() for file in found)
