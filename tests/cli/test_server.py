"""Every verb about studies that are under way works on a study of a service, too."""

import json
import sqlite3

import pytest
from tests.server.conftest import service  # noqa: F401  # pyright: ignore

VERBS = [
    "ask",
    "tell",
    "fail",
    "run",
    "split",
    "record",
    "status",
    "answer",
    "correct",
    "withdraw",
    "add",
    "retire",
    "limit",
    "act",
    "pause",
    "resume",
    "stop",
    "delete",
]


@pytest.fixture
def there(service, folder):  # noqa: F811
    """Where a study is: the options to type, after the name."""
    (folder / "token").write_text(f"{service.token}\n")
    return ("--server", service.url, "--token-file", folder / "token")


def made(service, name, **fields):  # noqa: F811
    with service.client() as client:
        client.create_study(name, table="options.csv", **{"noise": 0.5, "seed": 1} | fields)


@pytest.mark.parametrize("verb", VERBS)
def test_the_option_is_there(verb, surepick):
    assert "--server" in surepick(verb, "--help")[1]


def test_a_study_of_a_service_from_beginning_to_end(surepick, service, there, folder):  # noqa: F811
    made(service, "teas at a service", features=["price"])
    name = "teas at a service"
    code, out, _ = surepick("ask", name, "-n", 3, "--worker", "ann", *there)
    assert code == 0
    head, *rows = [line.split("\t") for line in out.splitlines()]
    assert head == ["pull", "option"]
    assert len(rows) == 3
    assert surepick("tell", name, rows[0][0], "4,56", "--worker", "ann", *there)[0] == 0
    (folder / "told.csv").write_text(f"pull,option,reward\n{rows[1][0]},{rows[1][1]},1.5\n")
    code, out, _ = surepick("tell", name, "--file", "told.csv", "--worker", "ann", *there)
    assert (code, out.splitlines()[0]) == (0, "1 reward is recorded.")
    other = next(label for label in "abcd" if label != rows[2][1])
    (folder / "mixed.csv").write_text(f"pull,option,reward\n{rows[2][0]},{other},1.5\n")
    code, _, err = surepick("tell", name, "--file", "mixed.csv", "--worker", "ann", *there)
    assert code == 2
    assert f"was for {rows[2][1]!r}, not for {other!r}" in err
    code, out, _ = surepick("correct", name, rows[0][0], 4.5, "--reason", "typing", *there)
    assert code == 0
    content = json.loads(surepick("status", name, "--json", *there)[1])
    assert content["batch"]["told"] == 2
    assert "still in" in surepick("status", name, *there)[1]
    assert surepick("answer", name, *there)[0] == 4
    assert surepick("pause", name, *there)[0] == 0
    assert surepick("ask", name, *there)[0] == 4
    assert surepick("resume", name, *there)[0] == 0
    assert surepick("limit", name, "--max-samples", 500, *there)[0] == 0
    assert surepick("stop", name, *there)[0] == 0
    assert surepick("answer", name, *there)[0] == 7
    assert surepick("delete", name, "--yes", *there)[0] == 0
    assert surepick("status", name, *there)[0] == 2


def test_a_website_test_of_a_service(surepick, service, there, folder):  # noqa: F811
    made(service, "shop at a service", noise="yes-no", traffic={})
    name = "shop at a service"
    shares = json.loads(surepick("split", name, "--json", *there)[1])["shares"]
    rows = "".join(f"{label},100,{10 + i}\n" for i, label in enumerate(shares))
    (folder / "report.csv").write_text(f"label,visits,successes\n{rows}")
    code, out, err = surepick("record", name, "report.csv", "--period", "monday", *there)
    assert code == 0, err
    assert "400 visits recorded" in out
    assert surepick("split", name, "--period", "tuesday", *there)[0] == 0
    sqlite3.connect(folder / "shop.db").execute("create table events (who)")
    label = next(iter(shares))
    query = f"select '{label}' as label, 70 as visits, :number as successes where :since <= :until"
    asked = ("--sql", query, "--database", f"sqlite:///{folder}/shop.db", "--period", "tuesday")
    code, out, err = surepick("record", name, *asked, *there)
    assert code == 0, err
    assert "70 visits recorded" in out


def test_what_is_missing_or_too_much_is_said(surepick, service, there, monkeypatch):  # noqa: F811
    monkeypatch.delenv("SUREPICK_TOKEN", raising=False)
    code, _, err = surepick("status", "s", "--server", service.url)
    assert (code, "a server needs a token" in err) == (2, True)
    code, _, err = surepick("status", "s", "--storage", "sqlite:///x.db", *there)
    assert (code, "server: not with --storage" in err) == (2, True)
