"""When a function is another one, and which of its parts is."""

import functools
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from surepick.calls.versions import different, digest_of, version_of

OFFSET = 1
PROMPTS = {"a": "be brief", "b": "be kind", "judge": "0 to 10"}
MADE = []


def helper(x):
    return x + OFFSET


def made(factor=2, draw=None, table=None):
    def function(x):
        return helper(factor * x) + (draw.random() if draw else 0) + (table or {}).get(x, 0)

    return function


def grade(item, strict=False):
    return len(item) > (3 if strict else 2)


def with_prompt(prompt):
    calls = []

    def evaluate(item):
        calls.append(item)
        return grade(prompt + item)

    return evaluate


class Judge:
    __slots__ = ("_calls", "level")

    def __init__(self, level):
        self.level, self._calls = level, 0

    def __call__(self, item):
        self._calls += 1
        return len(item) > self.level

    def kindly(self, item):
        return True


def digest(*functions):
    return version_of(*functions).digest()


def test_code_and_what_it_reads_make_another_version(monkeypatch):
    first = digest(made())
    assert digest(made()) == first
    others = [
        digest(made(3)),
        digest(made(table={1: 2})),
        digest(lambda x: x),
        digest(lambda x, y=1: x),
        digest(functools.partial(made(), 3)),
        digest(made(table={1: np.arange(3)})),
    ]
    monkeypatch.setitem(globals(), "OFFSET", 2)
    others.append(digest(made()))
    monkeypatch.setitem(globals(), "helper", lambda x: x - OFFSET)
    others.append(digest(made()))
    assert len({first, *others}) == 1 + len(others)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (grade, grade, True),
        (with_prompt("be brief: "), with_prompt("be brief: "), True),
        (with_prompt("be brief: "), with_prompt("be brief!"), False),
        (lambda item: item * 2, lambda item: item * 2, True),
        (lambda item: item * 2, lambda item: item * 3, False),
        (lambda item: item.upper(), lambda item: item.lower(), False),
        (functools.partial(grade, strict=True), functools.partial(grade, strict=True), True),
        (functools.partial(grade, strict=True), functools.partial(grade, strict=False), False),
        (Judge(1), Judge(1), True),
        (Judge(1), Judge(2), False),
        (Judge(1), Judge(1).kindly, False),
        (abs, abs, True),
        (abs, len, False),
    ],
)
def test_the_same_is_the_same_and_something_else_is_not(one, other, same):
    assert (digest(one) == digest(other)) is same


def test_what_calls_change_has_a_name():
    for draw in (random.Random(), np.random.default_rng(), np.random.RandomState()):
        function = made(draw=draw)
        before = digest(function)
        function(3)
        assert digest(function) == before
    judge, logged = Judge(2), with_prompt("be brief: ")
    before = [version_of(judge), version_of(logged)]
    judge("x"), logged("x")
    assert [name.split(".")[-1] for name in version_of(judge).changed(before[0])] == ["_calls"]
    (name,) = version_of(logged).changed(before[1])
    assert name.endswith("evaluate: calls")


def test_a_dict_has_a_part_for_each_option(monkeypatch):
    def evaluate(option, item):
        return PROMPTS[option] + PROMPTS["judge"] + item

    before, options = version_of(evaluate), ["a", "b", "q1"]

    def is_the_same(of):
        now = version_of(evaluate)
        common = different(before.common(options), now.common(options))
        return (common, before.own([of, "q1"]) == now.own([of, "q1"]))

    monkeypatch.setitem(PROMPTS, "c", "a new one, nobody asks about it yet")
    monkeypatch.setitem(PROMPTS, "a", "be short")
    assert is_the_same("a") == ([], False)
    assert is_the_same("b") == ([], True)
    monkeypatch.setitem(PROMPTS, "judge", "0 to 5")
    ((name,), own) = is_the_same("b")
    assert name.endswith("PROMPTS['judge']")
    assert own


def test_functions_in_lists_and_loops_of_references_come_to_an_end(monkeypatch):
    def inner(x):
        return OFFSET + len(MADE)

    monkeypatch.setitem(globals(), "MADE", [inner])

    def outer(x):
        return MADE[0](x)

    before = version_of(outer)
    assert version_of(outer).changed(before) == []
    monkeypatch.setitem(globals(), "OFFSET", 5)
    assert [name.split(".")[-1] for name in version_of(outer).changed(before)] == ["OFFSET"]


def test_data_is_told_apart():
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame({"x": values}) for values in ([1, 2], [1, 3])]
    values = [*frames, [1, 2], (1, 2), {1, 2}, {"a": 1}, np.ones(2), np.zeros(2), "ü\ud800", None]
    assert len(set(map(digest_of, values))) == len(values)


def test_what_a_module_of_ones_own_has_counts_where_it_is_used(tmp_path):
    (tmp_path / "main.py").write_text(
        "import own\nfrom surepick.calls.versions import version_of\n"
        "for one in (lambda x: own.score(x), own.Score(), lambda x: own.other):\n"
        "    print(version_of(one).digest())"
    )
    # Whoever writes a file twice in a second keeps its compiled form, where that is kept.
    how = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    how["env"] = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}

    def printed(text):
        (tmp_path / "own.py").write_text(text)
        return subprocess.run([sys.executable, "main.py"], **how).stdout.split()

    text = (
        "def score(x): return {}\nclass Score:\n    def __call__(self, x): return {}\nother = 1\n"
    )
    one, other = printed(text.format(1, 1)), printed(text.format(2, 2))
    assert one == printed(text.format(1, 1))
    assert [a == b for a, b in zip(one, other)] == [False, False, True]
