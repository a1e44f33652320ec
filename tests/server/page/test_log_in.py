"""Coming in, going out, and what each role gets to see."""

import re

from playwright.sync_api import expect


def test_a_token_opens_the_page_and_logging_out_closes_it(open_page, served):
    page = open_page(token=None)
    page.get_by_label("Access token").fill("sp_wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("not valid")
    page.complaints.forgive("401")
    page.get_by_label("Access token").fill(served.token)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()
    # The cookie is out of reach for scripts, and nothing else keeps the token.
    assert page.evaluate("document.cookie") == ""
    assert served.token not in page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Access token")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Access token")).to_be_visible()


def test_a_workers_token_opens_what_is_to_be_measured_and_nothing_else(open_page, layouts):
    token = layouts.make_token("worker", ["layouts"])
    page = open_page(token=None)
    page.get_by_label("Access token").fill(token)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="layouts", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Get the next measurements")).to_be_visible()
    for other in ("/#/studies/layouts", "/#/new", "/#/access"):
        page.goto(other)
        expect(page).to_have_url(re.compile("#/measure/layouts$"))
        expect(page.get_by_role("region")).to_have_count(1)
    expect(page.get_by_role("navigation").get_by_role("link")).to_have_count(0)


def test_a_viewer_sees_the_studies_of_the_token_and_changes_nothing(open_page, served, layouts):
    page = open_page(token=layouts.make_token("viewer", ["layouts, first round"]))
    expect(page.get_by_role("row")).to_have_count(2)  # the head and one study
    expect(page.get_by_role("navigation").get_by_role("link")).to_have_text(["Studies"])
    page.get_by_role("link", name="layouts, first round").click()
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("The certificate holds.")).to_be_visible()
    expect(page.get_by_role("button", name="Delete study")).to_have_count(0)
    expect(page.get_by_role("button", name="Make a worker token")).to_have_count(0)
    page.goto("/#/new")
    expect(page.get_by_text("Your token does not allow this")).to_be_visible()
    page.goto("/#/studies/layouts")
    expect(page.get_by_text("Your token does not allow this")).to_be_visible()
    page.complaints.forgive("403")
    page.goto("/#/nowhere")
    expect(page.get_by_text("There is no page “nowhere”")).to_be_visible()


def test_a_revoked_token_ends_the_session(open_page, layouts, served):
    token = layouts.make_token("viewer")
    page = open_page(token=token)
    with served.http() as http:
        listed = http.get("/api/v1/tokens").json()["tokens"]
        newest = max(listed, key=lambda one: one["created"])
        assert http.delete(f"/api/v1/tokens/{newest['id']}").status_code == 204
    page.goto("/#/studies/layouts")
    expect(page.get_by_role("alert")).to_contain_text("session has ended")
    page.complaints.forgive("401")
