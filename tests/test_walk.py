"""The way of an ask and of a told reward through the package stays as short as it is."""

from tests.walk import walked


def test_few_files_are_passed():
    found = walked()
    assert len(found["an ask"]) <= 19
    assert len(found["a told reward"]) <= 27
    assert len(found["one that completes a batch"]) <= 86
    assert all("study/desk/desk.py" in files for files in found.values())
