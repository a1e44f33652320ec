"""The numbers on the page are those of the service, in the order that the page says."""

import math
import re

import pytest
from playwright.sync_api import expect

import surepick as sp

MEANS = {"best": 2.0, "near": 1.85, "mid": 1.2, "low": 0.0, "gone": 2.6, "late": 1.7}


def worked(study, most):
    """Measure so often; every ninth pull fails at first."""
    while most > 0 and (pulls := study.ask(min(6, most), "ann")):
        for pull in pulls:
            if pull.id % 9 == 4 and pull.attempt == 1:
                study.fail(pull.id, "broke")
                continue
            study.tell(pull.id, MEANS[pull.label] + 0.1 * ((5 * pull.id) % 7 - 3))
            most -= 1


@pytest.fixture(scope="module")
def numbers(client):
    """A study whose options have come and gone, and cost different amounts, in the middle."""
    labels = [*MEANS][:-1]
    problem = sp.Problem(
        [[float(i == k) for i in range(5)] for k in range(5)],
        labels=labels,
        noise=0.4,
        costs=[1.0, 2.0, 3.0, 1.5, 4.0],
    )
    study = client.create_study("numbers", problem, max_samples=400, overlap=False)
    worked(study, 60)
    study.retire("gone", reason="sold out")
    more = sp.Problem([[0.0] * 5 + [1.0]], labels=["late"], costs=[2.5])
    study.add(more, reason="new")
    worked(study, 70)
    assert not study.finished
    return study


def rows_of(page):
    """What the table of options says, row by row and column by column."""
    table = page.get_by_role("table", name="Options")
    lines = table.locator(".grid-row")
    expect(lines).to_have_count(len(MEANS))
    found = []
    for k in range(len(MEANS)):
        line = lines.nth(k)
        found.append(
            {
                "label": line.locator(".name").inner_text(),
                "estimate": line.locator(".estimate").inner_text(),
                "behind": line.locator(".behind .said").inner_text(),
                "evidence": line.locator(".evidence .said").inner_text(),
                "pulls": line.locator(".pulls").inner_text(),
                "failures": line.locator(".failures").inner_text(),
            }
        )
    return found


def number(text):
    return float(re.match(r"[−+]?[\d.,]+", text)[0].replace("−", "-").replace(",", ""))


def test_rows_say_what_the_service_says(page, numbers):
    status = numbers.status()
    page.goto("/#/studies/numbers")
    expect(page.locator(".headline")).to_contain_text(f"{status['samples']} measurements")
    expect(page.locator(".headline")).to_contain_text(f"{math.floor(status['cost'] + 0.5)} spent")
    left = f"{len(status['survivors'])} of {status['options']} options still in"
    expect(page.locator(".headline")).to_contain_text(left)
    found = rows_of(page)
    states = status["standing"]["columns"]["state"]
    for row in found:
        i = status["labels"].index(row["label"])
        assert number(row["pulls"]) == status["pulls"][i]
        assert number(row["failures"]) == status["failures"][i]
        assert number(row["estimate"]) == pytest.approx(status["estimates"][i], abs=0.006)
        if i == status["leader_index"]:
            assert (row["behind"], row["evidence"]) == ("leads", "still in")
            continue
        assert number(row["behind"]) == pytest.approx(status["behind"][i], abs=0.006)
        if states[i] == "in":
            error = row["behind"].split("±")[1]
            assert float(error) == pytest.approx(status["standard_error"][i], abs=0.006)
            share = min(99, int(100 * status["evidence"][i]))
            assert row["evidence"] == f"{share} %"
        else:
            assert row["evidence"].startswith({"out": "ruled out", "retired": "retired"}[states[i]])
    assert {"out", "retired", "in", "leads"} <= set(states)


@pytest.mark.validation
def test_where_the_best_usually_wins_a_column_says_how_often(page, client):
    study = client.create_study("speed", sp.Problem.unstructured(["a", "b", "c"], noise="any"))
    page.goto("/#/studies/speed")
    rivals, told = page.get_by_role("region", name="Closest rivals"), 0
    while not study.finished:
        if study.progress().batch == 2:
            share = 100 * min(one for one in study.status()["wins"] if one is not None)
            expect(rivals).to_contain_text(f"the leader wins {share:.0f} %")
        pulls = study.ask(6, "ann")
        study.tell_many([(p.id, 2.0 * p.arm + (told + i) % 7) for i, p in enumerate(pulls)])
        told += len(pulls)
    wins = study.answer.wins
    table = page.get_by_role("table", name="Options")
    expect(table.get_by_role("columnheader", name="The leader wins")).to_be_visible()
    for label in "abc":
        line = table.locator(".grid-row").filter(has=page.locator(".name", has_text=label))
        due = f"{100 * wins[label]:.0f} %" if label in wins else "leads"
        expect(line.locator(".behind .said")).to_have_text(due)
    assert sorted(wins) == ["a", "b"]


@pytest.mark.validation
def test_rows_come_in_the_order_of_the_evidence(page, numbers):
    """The leader, those still in with the least evidence against them, then the others."""
    status = numbers.status()
    page.goto("/#/studies/numbers")
    labels = [row["label"] for row in rows_of(page)]
    inside = {status["labels"][i] for i in status["survivors"]}
    assert labels[0] == status["leader"]
    assert set(labels[: len(inside)]) == inside
    against = dict(zip(status["labels"], status["evidence"]))
    rest = [against[label] for label in labels[1 : len(inside)]]
    assert rest == sorted(rest)
    page.get_by_role("columnheader", name="Measured").get_by_role("button").click()
    shown = [number(row["pulls"]) for row in rows_of(page)]
    assert shown == sorted(status["pulls"], reverse=True)
    page.get_by_role("columnheader", name="Option").get_by_role("button").click()
    assert [row["label"] for row in rows_of(page)] == sorted(MEANS)


FORMATS = [
    ("short", [0], "0"),
    ("short", [None], "–"),
    ("short", [0.0001234], "0.000123"),
    ("short", [0.00009999], "0.0001"),
    ("short", [0.0000999], "9.99e-5"),
    ("short", [-0.25], "−0.25"),
    ("short", [99.96], "100"),
    ("short", [123456], "123,000"),
    ("short", [999_499_999], "999,000,000"),
    ("short", [2e9], "2.00e+9"),
    ("amount", [12345], "12,300"),
    ("rough", [1234], "1,200"),
    ("percent", [0.999], "99 %"),
    ("percent", [1.0], "99 %"),
    ("percent", [0.555], "55 %"),
    ("percent", [0], "0 %"),
    ("plural", [1, "batch", "batches"], "1 batch"),
    ("plural", [1234, "batch", "batches"], "1,234 batches"),
    ("oneIn", [0.05], "1 in 20"),
    ("oneIn", [0.3], "1 in 3"),
]


def test_numbers_are_written_as_people_read_them(page):
    found = page.evaluate(
        """async (calls) => {
            const made = await import("/static/js/format.js");
            return calls.map(([name, given]) => made[name](...given));
        }""",
        [[name, given] for name, given, _ in FORMATS],
    )
    assert found == [wanted for *_, wanted in FORMATS]
