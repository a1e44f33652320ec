"""Language models as judges: prompts, strict verdicts, both orders, retries."""

import asyncio

import pytest

import surepick as sp
from surepick.errors import InvalidInputError
from surepick.integrations.judges import VerdictError, llm_judge, read_verdict
from surepick.study.sheet import OptionTable, Sheet
from surepick.study.workers.measure import Measurement

TASK = Measurement(
    0, 0, "a vs b", first="a", second="b", item=1,
    features={"first": {"text": "Yes {second}"}, "second": {"text": "No"}},
)  # fmt: skip


def better_is_longer(prompt):
    first, second = (prompt.split(f"<answer_{x}>")[1].split("</")[0].strip() for x in "ab")
    return f"I thought.\nVERDICT: {'A' if len(first) > len(second) else 'B'}"


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("VERDICT: A", 1.0),
        ("Reasons.\n\nverdict: b.", 0.0),
        ("**VERDICT: TIE**\n", 0.5),
        ("VERDICT: A\nso\nVERDICT: A", 1.0),
    ],
)
def test_verdicts(reply, value):
    assert read_verdict(reply) == value


@pytest.mark.parametrize(
    "reply",
    ["", "A", "The verdict: A is better", "VERDICT: C", "VERDICT: A\nVERDICT: B", None, "VERDICT:"],
)
def test_what_is_no_clear_verdict_is_an_error(reply):
    with pytest.raises(VerdictError):
        read_verdict(reply)


def test_the_prompt_has_what_is_compared_in_its_order_and_nothing_is_filled_in_twice():
    seen = []
    judge = llm_judge(
        lambda prompt: seen.append(prompt) or "VERDICT: A", "Be fair.", items=["Why?", "How?"]
    )
    assert judge(TASK) == 1.0
    (prompt,) = seen
    assert prompt.startswith("Be fair.")
    assert prompt.index("How?") < prompt.index("Yes {second}") < prompt.index("No")
    assert "a vs b" not in prompt
    with pytest.raises(InvalidInputError, match="no column 'colour'"):
        llm_judge(better_is_longer, "x", show="colour")(TASK)
    with pytest.raises(InvalidInputError, match="one by one"):
        llm_judge(better_is_longer, "x")(Measurement(0, 0, "a"))


def test_both_orders_are_asked_and_averaged():
    always_a = llm_judge(lambda prompt: "VERDICT: A", "x", orders="both")
    assert always_a(TASK) == 0.5
    assert llm_judge(better_is_longer, "x", orders="both")(TASK) == 1.0

    def half(prompt):  # a tie in one order
        return "VERDICT: TIE" if prompt.index("Yes") < prompt.index("No") else "VERDICT: B"

    judge = llm_judge(half, "x", orders="both")
    said = [judge(Measurement(i, 0, "a vs b", first="a", second="b", features=TASK.features))
            for i in range(200)]  # fmt: skip
    assert set(said) == {0.5, 1.0}  # ¾ on average
    assert 0.7 < sum(said) / 200 < 0.8


def test_a_study_judged_by_coroutines_that_fail_now_and_then():
    csv = "prompt,text\nterse,Yes.\nlong,Yes it certainly is.\nmiddle,Yes it is.\n"
    study = sp.create_study(
        "by coroutines", table=OptionTable(Sheet(csv=csv), unstructured=True), pairs=True,
        storage="memory://llm-coroutines",
    )  # fmt: skip
    calls = []

    async def complete(prompt):
        calls.append(prompt)
        await asyncio.sleep(0)
        return "I cannot say." if len(calls) in (2, 9) else better_is_longer(prompt)

    answer = study.run(llm_judge(complete, "The longer the better.", show="text"), workers=1)
    assert answer.label == "long"
    assert answer.guarantee
    assert len(calls) == answer.samples + 2  # those without a verdict were asked again


def test_kept_answers_and_a_judge_that_always_says_the_same(caplog):
    answers = {"a": "Yes.", "b": "Yes, it is."}
    problem = sp.Problem.pairs(list(answers))
    study = sp.create_study("kept", problem, storage="memory://kept answers")
    judge = llm_judge(better_is_longer, "x", show=lambda label, _: answers[label])
    answer = study.run(judge)
    assert answer.label == "b"
    assert "where that was one kept answer each, this is about these answers." in answer.plain
    assert "if every measurement is drawn afresh" in answer.plain
    assert "what is found is about these 2 prompts only" in caplog.text
    assert caplog.text.count("word for word") == 1
    assert sp.verify(answer.certificate())


def test_a_judge_that_draws_anew_is_not_pointed_out(caplog):
    said = iter(f"Reason {i}.\nVERDICT: A" for i in range(40))
    judge = llm_judge(lambda prompt: next(said), "x")
    for _ in range(40):
        judge(TASK)
    fresh = iter(range(40))
    judge = llm_judge(better_is_longer, "x", show=lambda label, _: f"{label} {next(fresh)}" * 2)
    for _ in range(20):
        judge(TASK)
    assert caplog.text == ""
