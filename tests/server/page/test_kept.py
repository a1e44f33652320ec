"""Browsers keep the page's files, and never show old ones."""

import re
import shutil

import pytest

from surepick.server.page_files import PAGE, version_of


@pytest.fixture
def http(served):
    with served.http("") as client:
        yield client


def test_files_are_kept_under_their_version(http):
    found = http.get("/")
    assert found.headers["cache-control"] == "no-cache"
    named = re.findall(r'(?:src|href)="(/static/[^"]+)"', found.text)
    assert len(named) > 8
    for address in named:
        assert address.startswith(f"/static/{version_of(PAGE)}/")
        answer = http.get(address)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-security-policy"].startswith("default-src 'self'")


@pytest.mark.parametrize("folder", ["", "v0123456789abcdef/"])
def test_without_the_version_or_with_another_one_a_file_is_asked_for_again(http, folder):
    answer = http.get(f"/static/{folder}js/main.js")
    assert answer.content == (PAGE / "js" / "main.js").read_bytes()
    assert answer.headers["cache-control"] == "no-cache"
    same = http.get(
        f"/static/{folder}js/main.js", headers={"If-None-Match": answer.headers["etag"]}
    )
    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["cache-control"] == "no-cache"


def test_what_is_not_there_is_not_kept(http):
    for address in ("js/none.js", "", "v0123456789abcdef", f"{version_of(PAGE)}/none.js"):
        answer = http.get(f"/static/{address}")
        assert answer.status_code == 404, address
        assert answer.headers["cache-control"] == "no-store", address


def test_every_change_of_a_file_changes_the_version(tmp_path):
    copy = shutil.copytree(PAGE, tmp_path / "page")
    seen = {version_of(PAGE)}
    assert version_of(copy) in seen
    script = copy / "js" / "main.js"
    script.write_text(script.read_text() + " ")
    seen.add(version_of(copy))
    script.rename(copy / "js" / "other.js")
    seen.add(version_of(copy))
    (copy / "empty.css").touch()
    seen.add(version_of(copy))
    assert len(seen) == 4


def test_a_second_visit_fetches_none_of_them(page):
    page.reload()
    page.get_by_role("heading", name="Studies", exact=True).wait_for()
    sizes = page.evaluate(_FETCHED)
    assert len(sizes) > 50
    assert [name for name, size in sizes if size > 0] == []


# The files of the page, and how many bytes came for each.
_FETCHED = """() => performance.getEntriesByType("resource")
  .filter((one) => one.name.includes("/static/"))
  .map((one) => [one.name, one.transferSize])"""
