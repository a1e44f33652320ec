"""Numbers at the ends of what a computer can hold: each is refused in words, or works."""

import pytest

HUGE = "1" + "0" * 26
EXTREME = ["nan", "inf", "-inf", "-0.0", "1e308", "-1e308", "1e-308", "1e-320", "1e-16", HUGE]
NEW = ["--delta", "--epsilon", "--noise", "--misfit", "--max-samples", "--threshold", "--top"]


@pytest.mark.some(2)
@pytest.mark.parametrize("option", NEW)
def test_new_takes_or_refuses_every_number(surepick, option):
    for i, number in enumerate(EXTREME):
        code, _, err = surepick("new", f"study {i}", "options.csv", f"{option}={number}")
        assert code in (0, 2), err
        assert "Traceback" not in err
        assert code == 0 or option.strip("-").replace("-", "") in err.replace("_", "").replace(
            "-", ""
        )


@pytest.mark.validation
@pytest.mark.parametrize("option", ["--gap", "--delta", "--noise"])
def test_plan_takes_or_refuses_every_number(surepick, option):
    more = [] if option == "--gap" else ["--gap=1"]
    for number in EXTREME:
        given = ("plan", "options.csv", "--trials=2", "--max-samples=50", f"{option}={number}")
        code, _, err = surepick(*given, *more)
        assert code in (0, 2), err
        assert "Traceback" not in err


def test_more_pulls_than_anybody_can_count_are_not_asked_for(surepick):
    assert surepick("new", "s", "options.csv")[0] == 0
    code, _, err = surepick("ask", "s", "-n", HUGE)
    assert (code, "n must be at most 9,007,199,254,740,992" in err) == (2, True)
    assert surepick("ask", "s", "-n", str(2**53))[0] == 0


def test_sizes_beyond_all_reason_are_named(surepick):
    for more in (["--budget=1e300"], ["--max-samples=1" + "0" * 60]):
        code, _, err = surepick("new", "dear", "options.csv", *more)
        assert (code, more[0].split("=")[0].strip("-").replace("-", "_") in err) == (2, True)
    assert surepick("new", "s", "options.csv")[0] == 0
    for option, said in [("timeout", "timeout must be at most"), ("per-minute", "between 0.0001")]:
        code, _, err = surepick("run", "s", "--exec=true", f"--{option}=1e300")
        assert (code, said in err) == (2, True), err
