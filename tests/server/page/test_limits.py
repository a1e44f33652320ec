"""Limits on further numbers: asked for, entered, shown."""

import time

import numpy as np
import pytest
from playwright.sync_api import expect

import surepick as sp

MODELS = {"tiny": (0.6, 15), "medium": (0.85, 40), "large": (0.97, 80)}
KEEP = "latency <= 50"


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "models.csv"
    file.write_text("model\n" + "\n".join(MODELS) + "\n")
    return file


def measured(study, most):
    rng = np.random.default_rng(2)
    while study.progress().measured < most:
        told = {}
        for pull in study.ask(30, "ann"):
            right, slow = MODELS[pull.label]
            latency = float(np.clip(rng.normal(slow, 8), 0, 200))
            told[pull.id] = {"reward": float(rng.random() < right), "latency": latency}
        study.tell_many(told)


@pytest.mark.some(1)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_study_with_limits_from_the_form_to_the_first_results(
    open_page, client, table, picture, width
):
    page = open_page(width=width)
    page.goto("/#/new")
    page.get_by_label("CSV file").set_input_files(table)
    page.get_by_label("Nothing: options have no features").check()
    page.get_by_label("Name of the study").fill(f"models {width}")
    page.get_by_label("Yes or no (1 or 0)").check()
    page.get_by_role("button", name="Add a further number").click()
    page.get_by_label("Name of the number").fill("latency")
    page.get_by_label("Highest", exact=True).fill("200")
    page.get_by_label("Limit", exact=True).fill("50")
    picture(page, f"limits-form-{width}")
    page.get_by_role("button", name="Start the study").click()
    expect(page.get_by_role("heading", name=f"models {width}")).to_be_visible()
    study = client.load_study(f"models {width}")
    assert study.algorithm.keep == (KEEP,)
    changes = page.get_by_role("region", name="What was done").first
    expect(changes.get_by_text("Correct or withdraw a result")).to_be_visible()
    expect(changes.get_by_text("Add options")).to_be_visible()
    card = page.get_by_role("region", name="Measure", exact=True)
    card.get_by_label("Your name").fill("ann")
    card.get_by_label("How many").fill("2")
    card.get_by_role("button", name="Get the next measurements").click()
    rewards = card.get_by_role("textbox", name="Result of measurement")
    latencies = card.get_by_role("textbox", name="latency of measurement")
    expect(latencies).to_have_count(2)
    rewards.nth(0).fill("1")
    rewards.nth(0).press("Enter")
    expect(latencies.nth(0)).to_be_focused()  # nothing is saved before all numbers are there
    page.keyboard.type("31,5")
    page.keyboard.press("Enter")
    expect(rewards.nth(1)).to_be_focused()
    picture(page, f"limits-samples-{width}")
    assert [*study.rewards().numbers] == ['{"latency": 31.5}']
    client.delete_study(study.name)


@pytest.mark.validation
def test_models_of_scikit_learn_by_accuracy_under_a_limit_on_their_time(
    open_page, client, table, picture
):
    """A real case on the page: times are skewed, and measured here; their median has a limit."""
    datasets = pytest.importorskip("sklearn.datasets")
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    X, y = datasets.load_digits(return_X_y=True)
    X = X / 16
    models = {
        "tiny": GaussianNB(),
        "medium": LogisticRegression(max_iter=300),
        "large": RandomForestClassifier(400, random_state=0),  # 400 trees in turn take their time
    }
    for model in models.values():
        model.fit(X[:900], y[:900])
    page = open_page(width=1280)
    page.goto("/#/new")
    page.get_by_label("CSV file").set_input_files(table)
    page.get_by_label("Nothing: options have no features").check()
    page.get_by_label("Name of the study").fill("digits")
    page.get_by_label("Yes or no (1 or 0)").check()
    page.get_by_role("button", name="Add a further number").click()
    page.get_by_label("Name of the number").fill("ms")
    page.get_by_label("What it is").select_option("any")
    page.get_by_label("What is limited").select_option("median of ")
    page.get_by_label("Limit", exact=True).fill("5")
    picture(page, "limits-digits-form")
    page.get_by_role("button", name="Start the study").click()
    expect(page.get_by_role("heading", name="digits")).to_be_visible()
    study, rng = client.load_study("digits"), np.random.default_rng(1)
    assert study.algorithm.keep == ("p50 of ms <= 5",)

    def measure(task):
        image = rng.integers(900, len(X))
        begun = time.perf_counter()
        said = models[task.label].predict(X[image : image + 1])[0]
        return {"reward": float(said == y[image]), "ms": 1000 * (time.perf_counter() - begun)}

    while study.progress().measured < 20_000 and not study.finished:
        study.tell_many({pull.id: measure(pull) for pull in study.ask(50, "ann")})
    answer = study.answer
    assert answer.label in ("tiny", "medium")
    assert answer.guarantee
    card = page.get_by_role("region", name="Who keeps the limits")
    row = card.get_by_role("row").filter(has_text=answer.label)
    expect(row).to_contain_text("keeps")
    expect(page.get_by_role("region", name="The answer")).to_contain_text(answer.label)
    picture(page, "limits-digits")
    client.delete_study(study.name)


@pytest.mark.validation
@pytest.mark.parametrize("width", [1280, 390])
def test_who_keeps_limits_and_where_options_stand(open_page, client, picture, width):
    kinds = {"latency": (0, 200)}
    problem = sp.Problem.unstructured(list(MODELS), noise="yes-no", numbers=kinds)
    study = client.create_study(f"kept {width}", problem, keep=[KEEP], seed=3)
    measured(study, 70)
    page = open_page(width=width)
    page.goto(f"/#/studies/kept {width}")
    card = page.get_by_role("region", name="Who keeps the limits")
    now = study.standing()
    for label, verdict in zip(MODELS, now[KEEP]):
        expect(card.get_by_role("row").filter(has_text=label)).to_contain_text(verdict)
    expect(card.get_by_role("img")).to_have_attribute(
        "aria-label",
        f"Reward and {KEEP}: " + ", ".join(f"{a} {b}" for a, b in zip(MODELS, now[KEEP])) + ".",
    )
    expect(card).to_contain_text("That is a view, and proves nothing.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    picture(page, f"limits-kept-{width}")
    client.delete_study(study.name)
