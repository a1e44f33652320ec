"""The way of an ask, a told reward and others through the package stays as short as it is."""

from tests.walk import walked

MOST = {
    "an ask": 18,
    "a told reward": 25,
    "one that completes a batch": 77,
    "a study from a table": 80,
}


def test_few_files_are_passed():
    found = walked()
    assert {name: found[name] for name in MOST if len(found[name]) > MOST[name]} == {}
    assert all("study/desk/desk.py" in found[name] for name in [*MOST][:3])
