"""Seeds of orders of items: another one where what measures was changed."""

import functools

from surepick.integrations.seeds import named, seed_after


def grade(item, strict=False):
    return len(item) > (3 if strict else 2)


def with_prompt(prompt):
    calls = []

    def evaluate(item):
        calls.append(item)
        return grade(prompt + item)

    return evaluate


class Judge:
    def __init__(self, level):
        self.level = level

    def __call__(self, item):
        return len(item) > self.level

    def kindly(self, item):
        return True


def test_what_was_changed_has_another_name():
    same = [
        (grade, grade),
        (with_prompt("be brief: "), with_prompt("be brief: ")),
        (lambda item: item * 2, lambda item: item * 2),
        (functools.partial(grade, strict=True), functools.partial(grade, strict=True)),
        (Judge(1).kindly, Judge(2).kindly),
        (abs, abs),
    ]
    others = [
        (with_prompt("be brief: "), with_prompt("be brief!")),
        (lambda item: item * 2, lambda item: item * 3),
        (lambda item: item.upper(), lambda item: item.lower()),
        (functools.partial(grade, strict=True), functools.partial(grade, strict=False)),
        (Judge(1), Judge(1).kindly),
        (abs, len),
    ]
    assert all(named(one) == named(other) for one, other in same)
    assert all(named(one) != named(other) for one, other in others)
    used = with_prompt("be brief: ")
    before = named(used)
    used("x")
    assert named(used) == before  # what it has done is no matter


def test_a_seed_comes_to_another_one_after_something_else(drawn_orders):
    assert seed_after(1, "a") == seed_after(1, "a") != seed_after(1, "b")
    assert seed_after(None, "a") != seed_after(None, "a")
