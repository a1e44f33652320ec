"""Seeds of orders of items: another one where something else is known."""

from surepick.integrations.seeds import seed_after


def test_a_seed_comes_to_another_one_after_something_else(drawn_orders):
    assert seed_after(1, "a") == seed_after(1, "a") != seed_after(1, "b")
    assert seed_after(None, "a") != seed_after(None, "a")
