"""The pages that make something: studies, forecasts, tokens."""

import math
import re
from decimal import ROUND_HALF_UP, Context

import pytest
from playwright.sync_api import expect
from tests.server.page.conftest import few_trials
from tests.server.page.layouts import CSV

from surepick.study.settings import known


@pytest.fixture(scope="module")
def to_delete(client):
    """Names of studies that the tests make; deleted in the end."""
    names = []
    yield names
    for name in names:
        client.delete_study(name)


@pytest.fixture
def form(page):
    """The form for a new study, with the table of layouts in it."""
    page.goto("/#/new")
    return with_layouts(page)


def with_layouts(page):
    page.get_by_label("CSV file").set_input_files(CSV)
    expect(page.get_by_role("checkbox")).to_have_count(5)  # all columns but the label
    expect(page.get_by_label("Name of the study")).to_have_value("layouts")
    return page


@pytest.mark.validation
def test_the_preview_follows_every_tick(form):
    preview = form.get_by_role("group", name="How the table is read")
    start = form.get_by_role("button", name="Start the study")
    expect(preview).to_contain_text("48different options7effects to learn")
    expect(form.get_by_label("Name of the study")).to_have_value("layouts")
    expect(start).to_be_enabled()
    form.get_by_role("checkbox", name="headline").uncheck()
    # Features are a guide: what they cannot tell apart may differ all the same.
    expect(preview).to_contain_text("48different options6effects to learn")
    for name in ("image", "columns", "colour", "button"):
        form.get_by_role("checkbox", name=name).uncheck()
    expect(preview).to_contain_text("has no features")
    expect(start).to_be_disabled()
    form.get_by_role("radio", name="A formula").check()
    form.get_by_role("textbox", name="Formula").fill("C(colour)*C(button)")
    expect(preview).to_contain_text("48different options6effects to learn")
    form.get_by_role("textbox", name="Formula").fill("C(colour")
    expect(start).to_be_disabled()
    form.get_by_role("radio", name="Nothing").check()
    expect(preview).to_contain_text("48different options48effects to learn")
    expect(start).to_be_enabled()
    form.get_by_label("Error probability").fill("0,001")
    expect(
        form.get_by_text("At most 1 in 1,000 studies like this one names a wrong option")
    ).to_be_visible()
    form.get_by_label("Error probability").fill("1")
    expect(start).to_be_disabled()


def test_a_file_can_be_dropped_and_a_table_pasted(page):
    page.goto("/#/new")
    page.evaluate(
        """csv => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([csv], "dropped.csv", {type: "text/csv"}));
          const drop = new DragEvent("drop", {dataTransfer: transfer, cancelable: true});
          document.querySelector(".drop").dispatchEvent(drop);
        }""",
        "option,size\na,1\nb,2\nc,\n",
    )
    expect(page.get_by_text("dropped.csv")).to_be_visible()
    expect(page.get_by_text("1 cell empty")).to_be_visible()
    expect(page.get_by_text("is empty")).to_be_visible()  # and so it cannot be used
    page.get_by_text("Or paste the text of a table").click()
    page.get_by_label("Table as CSV text").fill("option,size\na,1\nb,2\nc,4\n")
    page.get_by_role("button", name="Use this text").click()
    expect(page.get_by_text("different options")).to_be_visible()
    page.get_by_text("Or paste the text of a table").click()
    page.get_by_label("Table as CSV text").fill("one line only")
    page.get_by_role("button", name="Use this text").click()
    expect(page.locator(".notice")).to_contain_text("table.csv")


def test_a_list_of_names_is_enough(page):
    page.goto("/#/new")
    page.get_by_text("Or paste the text of a table").click()
    page.get_by_label("Table as CSV text").fill("label\nplain\nphoto\nvideo\n")
    page.get_by_role("button", name="Use this text").click()
    expect(page.get_by_role("radio", name="Nothing: options have no features")).to_be_checked()
    expect(page.get_by_text("different options")).to_be_visible()
    page.get_by_text("Or paste the text of a table").click()
    page.get_by_label("Table as CSV text").fill("option,size\na,1\nb,2\nc,4\n")
    page.get_by_role("button", name="Use this text").click()
    expect(page.get_by_role("radio", name="These columns")).to_be_checked()


def test_what_is_said_of_numbers_without_bounds_is_about_what_gives_them(form, picture):
    form.get_by_role("radio", name="By a website that splits its visitors").check()
    anything = form.get_by_role("radio", name="reported for 16 groups of visitors")
    what = form.get_by_role("group", name="What does a visit give?")
    expect(anything).to_be_visible()
    expect(what).to_contain_text("has to scatter evenly")
    expect(what).not_to_contain_text("nothing is assumed")
    picture(form, "groups", part=what)


@pytest.mark.validation
def test_every_setting_reaches_the_study_and_errors_are_shown(form, client, layouts, to_delete):
    form.get_by_label("Name of the study").fill("settings")
    form.get_by_label("Error probability").fill("0.1")
    form.get_by_text("More settings", exact=True).click()
    form.get_by_label("How much measurements vary").fill("0.5")
    form.get_by_label("Algorithm").select_option("rage")
    form.get_by_label("Close enough").fill("0.2")
    form.get_by_label("Most measurements").fill("900")
    form.get_by_role("button", name="Start the study").click()
    expect(form.get_by_role("heading", level=1)).to_have_text("settings")
    study = client.load_study("settings")
    made = study.algorithm
    assert (made.delta, made.epsilon, made.max_samples) == (0.1, 0.2, 900)
    assert study.status()["algorithm"] == "rage"
    assert study.problem.noise == 0.5
    to_delete.append("settings")
    form.goto("/#/new")
    with_layouts(form).get_by_role("button", name="Start the study").click()
    expect(form.get_by_role("alert")).to_contain_text("already exists")
    form.complaints.forgive("409")


def test_what_cannot_be_asked_of_such_data_says_why(form, picture):
    form.get_by_text("More settings", exact=True).click()
    form.get_by_label(known()["quantile"].question).fill("0.95")
    why = form.get_by_text("options on a complete table are compared by their totals")
    expect(why).not_to_be_visible()
    form.get_by_label(known()["complete"].question).fill("40")
    expect(why).to_be_visible()
    picture(form, "refused")
    form.get_by_label(known()["quantile"].question).fill("")
    expect(why).not_to_be_visible()


def test_a_number_that_cannot_be_read_is_not_left_out(form):
    form.get_by_label("Name of the study").fill("unread")
    form.get_by_text("More settings", exact=True).click()
    form.get_by_label("Most measurements").fill("1,000")  # 1 or 1000
    form.get_by_role("button", name="Start the study").click()
    expect(form.get_by_role("alert")).to_contain_text("max_samples")
    form.complaints.forgive("422")


def choose(form, kind):
    """Answer what a measurement gives; returns the noise of the study that it means."""
    if kind == "anything":
        form.get_by_role("radio", name="Anything else").check()
        return "any"
    if kind == "scatters evenly":
        form.get_by_role("radio", name="A reading that scatters evenly").check()
        return "symmetric"
    if kind == "yes or no":
        form.get_by_role("radio", name="Yes or no").check()
        return "yes-no"
    if kind == "between":
        form.get_by_label("Lowest reward").fill("-1")
        form.get_by_label("Highest reward").fill("2,5")
        return (-1.0, 2.5)
    if kind == "equal":
        form.get_by_role("radio", name="The same, with normal noise").check()
        return "equal"
    form.get_by_label("How much measurements vary").fill("0.5")
    return 0.5


KINDS = ("anything", "scatters evenly", "yes or no", "between", "equal", "known")


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_measurement_gives_reaches_the_study(form, client, to_delete, kind):
    form.get_by_label("Name of the study").fill(f"gives {kind}")
    form.get_by_text("More settings", exact=True).click()
    noise = choose(form, kind)
    waits = kind == "known"
    if waits:
        form.get_by_label("While others finish a batch").select_option("no")
        form.get_by_label("A measurement that takes long").select_option("yes")
    form.get_by_role("button", name="Start the study").click()
    expect(form.get_by_role("heading", level=1)).to_have_text(f"gives {kind}")
    study = client.load_study(f"gives {kind}")
    assert study.problem.noise == noise
    assert study.meta.get("overlap") == (False if waits else None)
    assert study.meta.get("hedge") == (True if waits else None)
    expect(form.get_by_text(f"rewards: {study.status()['rewards']}")).to_be_visible()
    to_delete.append(f"gives {kind}")


@pytest.mark.validation
def test_readings_far_from_all_before_are_measured_again_where_that_is_chosen(
    form, client, to_delete
):
    form.get_by_label("Name of the study").fill("measures again")
    form.get_by_text("More settings", exact=True).click()
    far = form.get_by_label("A reading far from all before")
    expect(far).to_have_value("")
    far.select_option("yes")
    form.get_by_label("A measurement that takes long").select_option("yes")
    start = form.get_by_role("button", name="Start the study")
    start.click()
    expect(form.get_by_text("leave out again or hedge")).to_be_visible()
    form.complaints.forgive("422")
    form.get_by_label("A measurement that takes long").select_option("")
    start.click()
    expect(form.get_by_role("heading", level=1)).to_have_text("measures again")
    assert client.load_study("measures again").meta["again"] is True
    to_delete.append("measures again")


TRUST = {"guide": math.inf, "to within": 0.25, "linear": 0.0}


@pytest.mark.validation
@pytest.mark.parametrize("trust", TRUST)
def test_how_far_features_are_trusted_reaches_the_study(form, client, to_delete, trust):
    form.get_by_label("Name of the study").fill(f"trust {trust}")
    form.get_by_text("More settings", exact=True).click()
    question = form.get_by_role("group", name="How much do you trust the features?")
    start = form.get_by_role("button", name="Start the study")
    question.get_by_role("radio", name=re.compile(trust)).check()
    if trust == "to within":
        expect(start).to_be_disabled()
        question.get_by_role("textbox").fill("0,25")
    start.click()
    expect(form.get_by_role("heading", level=1)).to_have_text(f"trust {trust}")
    assert client.load_study(f"trust {trust}").problem.misfit == TRUST[trust]
    to_delete.append(f"trust {trust}")


def test_trust_is_not_asked_for_where_nothing_could_be_done_without(form):
    form.get_by_text("More settings", exact=True).click()
    question = form.get_by_role("radio", name="Not at all: they only guide")
    expect(question).to_be_enabled()
    form.get_by_label("How much measurements vary").fill("0.5")
    form.get_by_label("Algorithm").select_option("rage")
    expect(question).to_be_disabled()
    form.get_by_label("Algorithm").select_option("pooled-peleg")
    expect(question).to_be_enabled()
    form.get_by_role("radio", name="Nothing: options").check()
    expect(question).to_be_disabled()


def test_answers_that_make_no_sense_start_nothing(form):
    start = form.get_by_role("button", name="Start the study")
    form.get_by_label("How much measurements vary").fill("-1")
    expect(start).to_be_disabled()
    form.get_by_label("Lowest reward").fill("10")  # as high as the highest
    expect(form.get_by_role("radio", name="A number between")).to_be_checked()
    expect(start).to_be_disabled()
    form.get_by_label("Lowest reward").fill("1")
    expect(start).to_be_enabled()
    form.get_by_role("radio", name="A reading with a standard deviation").check()
    expect(start).to_be_disabled()
    form.get_by_role("radio", name="Anything else").check()
    expect(start).to_be_enabled()


@pytest.mark.validation
def test_every_algorithm_on_offer_can_be_had(form, client):
    form.get_by_text("More settings", exact=True).click()
    choice = form.get_by_label("Algorithm")
    offered = choice.locator("option:not(:disabled)")
    for kind in KINDS:
        noise = choose(form, kind)
        algorithms = offered.evaluate_all("all => all.map(one => one.value)")
        assert (len(algorithms) > 1) == (kind in ("yes or no", "between", "known"))
        for algorithm in algorithms:
            client.create_study("on offer", table=CSV, algorithm=algorithm, noise=noise)
            client.delete_study("on offer")
    choice.select_option("uniform")
    form.get_by_role("radio", name="Anything else").check()
    # What has to know the noise is off the list, and no longer chosen.
    expect(choice).to_have_value("pooled-peleg")


@pytest.mark.validation
def test_plan_shows_what_the_service_forecasts(page):
    page.get_by_role("link", name="Plan", exact=True).click()
    page.get_by_label("CSV file").set_input_files(CSV)
    page.get_by_label("Gap").fill("0.4")
    page.get_by_label("Noise").fill("0.5")
    with few_trials(page), page.expect_response("**/api/v1/plan") as answer:
        page.get_by_role("button", name="Forecast").click()
    rows = [row for row in answer.value.json()["forecast"] if row["scenario"] == "as asked"]
    table = page.get_by_role("table", name="Expected measurements per method")
    expect(table.get_by_role("row")).to_have_count(len(rows) + 1)
    cheapest = min((r for r in rows if r["kind"] != "bound"), key=lambda r: r["mean"])
    first = table.get_by_role("row").nth(1)
    assert cheapest["method"] == "pooled-peleg"
    expect(first).to_contain_text("PooledPeleg")
    # As the page rounds: a half goes up, where Python would go to the even number.
    mean = Context(prec=3, rounding=ROUND_HALF_UP).create_decimal(cheapest["mean"])
    expect(first).to_contain_text(f"{mean:,.0f}")
    expect(table.get_by_role("row").last).to_contain_text("Lower bound")
    chart = page.get_by_role("img", name=re.compile("Expected measurements per method"))
    expect(chart.locator("circle")).to_have_count(len(rows) - 1)
    expect(chart.locator("line.bound")).to_have_count(1)


@pytest.mark.validation
def test_plan_asks_for_what_the_rewards_need(page):
    page.goto("/#/plan")
    page.get_by_label("CSV file").set_input_files(CSV)
    button = page.get_by_role("button", name="Forecast")
    expect(page.get_by_label("Base rate")).to_be_hidden()
    page.get_by_label("Results are").select_option("a number between two bounds")
    page.get_by_label("Gap").fill("0.4")
    expect(button).to_be_disabled()  # there are no bounds yet
    page.get_by_label("Lowest reward").fill("0")
    page.get_by_label("Highest reward").fill("10")
    expect(button).to_be_enabled()
    page.get_by_label("Results are").select_option("yes or no")
    expect(page.get_by_label("Gap")).to_be_hidden()
    expect(button).to_be_disabled()
    page.get_by_label("Base rate").fill("0.3")
    page.get_by_label("Lift").fill("0.1")
    with few_trials(page), page.expect_response("**/api/v1/plan") as answer:
        button.click()
    methods = {row["method"] for row in answer.value.json()["forecast"]}
    assert "lower bound" not in methods
    forecast = page.get_by_role("region", name="Forecast", exact=True)
    expect(forecast).to_contain_text("says yes at 33 %, all others at 30 % at most")
    table = page.get_by_role("table", name="Expected measurements per method")
    expect(table.get_by_role("row")).to_have_count(len(methods) + 1)
    expect(table).not_to_contain_text("lower bound")


def test_tokens_are_made_shown_once_and_revoked(page, served, layouts):
    page.get_by_role("link", name="Access").click()
    rows = page.get_by_role("table", name="Tokens").get_by_role("row")
    expect(page.get_by_role("checkbox", name="layouts", exact=True)).to_be_visible()
    before = rows.count()
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_role("alert")).to_contain_text("Tick the studies")
    page.get_by_role("checkbox", name="layouts", exact=True).check()
    page.get_by_role("textbox", name="Note").fill("lab 2")
    page.get_by_label("Expires").select_option("in a day")
    page.get_by_role("button", name="Make a token").click()
    line = page.get_by_role("group", name="New worker token").locator("pre").first.inner_text()
    token = re.fullmatch(
        rf"SUREPICK_TOKEN=(\S+) surepick run layouts --server {served.url} --exec '.*'", line
    )[1]
    with served.http(token) as worker:
        assert worker.get("/api/v1/studies/layouts/progress").status_code == 200
        assert worker.get("/api/v1/tokens").status_code == 403
        expect(rows).to_have_count(before + 1)
        page.reload()
        expect(rows.filter(has_text="lab 2")).to_have_count(1)
        assert token not in page.content()
        rows.filter(has_text="lab 2").get_by_role("button", name="Revoke").click()
        page.get_by_role("button", name="Revoke it").click()
        expect(rows).to_have_count(before)
        page.wait_for_timeout(2500)  # a process believes for two seconds what it knew of a token
        assert worker.get("/api/v1/studies/layouts/progress").status_code == 401
