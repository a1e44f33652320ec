"""Certificates of every kind of noise: those of runs hold, and forged ones do not."""

import copy
import functools
import hashlib
import json

import numpy as np
import pytest
from tests.breadth import each_value
from tests.lazily import Lazily
from tests.verifier.kinds import KINDS, as_json, finished
from tests.verifier.test_forgeries import concluded, refused

import surepick as sp
from surepick.errors import CertificateError, FormatError
from surepick.verifier.verify import verify

WAYS = {
    "plain": {},
    "within epsilon": {"epsilon": 0.15},
    "past in advance": {"past": 90},
    "past by results": {"past": 90, "in_advance": False},
    "little past by results": {"past": 2, "in_advance": False},
    "little past in advance": {"past": 2},
    "in pieces": {"max_batch": 7},
    "large": {"large": True, "epsilon": 0.15},
}
CERTIFICATES = Lazily({name: lambda name=name: as_json(finished(name)) for name in KINDS})


@functools.cache
def in_parts():
    """A certificate some of whose blocks are dealt into several parts."""
    return as_json(finished("symmetric", delta=1e-6))


def forged(certificate, change):
    body = copy.deepcopy(certificate)
    change(body)
    content = {key: value for key, value in body.items() if key != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return body | {"digest": hashlib.sha256(text.encode()).hexdigest()}


def with_noise(name, noise):
    return forged(CERTIFICATES[name], lambda body: body["problem"].update(noise=noise))


def with_entry(certificate, batch, column, row, value):
    def change(body):
        body["batches"][batch][column][row] = value

    return forged(certificate, change)


def refusal(certificate):
    """Why it is refused; it must be."""
    with pytest.raises(CertificateError) as caught:
        verify(certificate)
    return str(caught.value)


# -- what holds ----------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "way"), each_value(list(KINDS), list(WAYS)))
def test_certificates_hold(name, way):
    run = finished(name, **WAYS[way])
    result = verify(as_json(run))
    assert result.candidate == int(run.answer.arm)
    assert result.guarantee in ("pac", "eps-pac")
    assert result.risk == 0.05
    assert KINDS[name].means[result.candidate] >= KINDS[name].means.max() - 0.15


def test_the_runs_go_many_ways():
    """With epsilon in use, in pieces, with parts, with past measurements of all kinds."""
    within = as_json(finished("symmetric", **WAYS["within epsilon"]))
    assert within["claim"]["guarantee"] == "eps-pac"
    pieces = as_json(finished("symmetric", **WAYS["in pieces"]))
    assert any(block["batches"] > 1 for block in pieces["evidence"]["blocks"])
    batches = in_parts()["batches"]
    assert max(max(batch["parts"]) for batch in batches) >= 3
    blocks = as_json(finished("yes-no", **WAYS["past in advance"]))["evidence"]["blocks"]
    assert sum(block.get("past", 0) for block in blocks) > 2
    guide = as_json(finished("yes-no", **WAYS["past by results"]))["past"]["batches"][0]
    assert any(total != int(total) for total in guide["sums"])  # averages of more


@pytest.mark.parametrize("name", KINDS)
def test_columns_are_those_the_kind_needs(name):
    more = {"symmetric": {"parts", "spreads"}, "equal": {"spreads"}, "bounded": {"spreads"}}
    for batch in CERTIFICATES[name]["batches"]:
        assert batch.keys() - {"arms", "counts", "sums"} == more.get(name, set())


@pytest.mark.parametrize(
    ("noise", "name", "unit"),
    each_value([0.0, 1e-6, 1.0], ["symmetric", "equal"], [1e-9, 1e9]),
)
def test_the_unit_of_rewards_does_not_matter(name, unit, noise):
    kind, rng = KINDS[name], np.random.default_rng(0)
    run = sp.algorithms.get("pooled-peleg", delta=0.05, max_samples=500).start(kind.problem())
    while not run.stopped:
        arms = (batch := run.ask()).arms
        run.tell(batch, unit * (kind.means[arms] + noise * rng.standard_normal(len(arms))))
    assert verify(as_json(run))


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("by", "name"),
    each_value(
        ["peleg", "rage", "xy-static", "lingame", "glucb", "alba", "uniform"],
        ["by arm", "yes-no", "bounded"],
    ),
)
def test_rules_for_a_known_scale_take_bounds_and_scales_by_arm(name, by):
    settings = {"norm_bound": 2.0} if by in ("glucb", "alba") else {}
    certificate = as_json(finished(name, by=by, epsilon=0.3, delta=0.2, **settings))
    assert verify(certificate).guarantee in ("pac", "eps-pac")
    for unknown in (None, "equal"):
        change = forged(
            certificate, lambda body, noise=unknown: body["problem"].update(noise=noise)
        )
        assert "needs a known scale" in refusal(change)


def test_intervals_take_bounds_but_no_scales_by_arm():
    certificate = as_json(finished("yes-no", by="lucb", epsilon=0.3, delta=0.2))
    assert verify(certificate)
    scales = [0.5] * 12
    change = forged(certificate, lambda body: body["problem"].update(noise=scales))
    assert "one noise scale for all arms" in refusal(change)


@pytest.mark.parametrize("name", ["yes-no", "bounded", "by arm"])
def test_extra_pulls_may_be_left_out(name):
    assert verify(as_json(finished(name, by="checked-fit", epsilon=0.15)))


# -- what the noise may be -----------------------------------------------------------------
@pytest.mark.parametrize(
    ("noise", "why"),
    [
        (True, "not a finite number"),
        (0.0, "above 0"),
        (-1.0, "above 0"),
        ("estimate", "unknown kind of noise 'estimate'"),
        ("0.8", "unknown kind of noise"),
        ([0.8] * 11, "one noise scale for each arm"),
        ([0.8] * 11 + ["0.8"], "not a finite number"),
        ([0.8] * 11 + [True], "not a finite number"),
        ([0.8] * 11 + [0.0], "above 0"),
        ([[0.8]] * 12, "not a finite number"),
        ({"low": 0.0}, "low and high"),
        ({"low": 0.0, "high": 1.0, "middle": 0.5}, "low and high"),
        ({"low": 1.0, "high": 1.0}, "below the highest"),
        ({"low": False, "high": 1.0}, "not a finite number"),
        ({"low": "0", "high": 1.0}, "not a finite number"),
        ([], "one noise scale for each arm"),
        ({}, "low and high"),
    ],
)
def test_what_is_no_noise_is_refused(noise, why):
    assert why in refusal(with_noise("known", noise))


def test_a_certificate_must_say_something_about_the_noise():
    silent = forged(CERTIFICATES["symmetric"], lambda body: body["problem"].pop("noise"))
    assert "malformed" in refusal(silent)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_another_kind_of_noise_cannot_be_claimed(name, other):
    """Even if columns and sentence are made to fit, the bets of that kind pay something else."""
    certificate = CERTIFICATES[name]
    noise, sentence = (CERTIFICATES[other][k] for k in ("problem", "claim"))

    def change(body):
        body["problem"]["noise"] = noise["noise"]
        body["claim"]["statement"] = sentence["statement"]
        for batch in body["batches"]:
            rows = len(batch["arms"])
            wanted = CERTIFICATES[other]["batches"][0].keys()
            filled = {"parts": [0] * rows, "spreads": [0.0] * rows} | batch
            batch.clear()
            batch.update({key: filled[key] for key in wanted})

    if name == other:
        assert verify(forged(certificate, change))
    else:
        refusal(forged(certificate, change))


# -- conditions ----------------------------------------------------------------------------
@pytest.mark.parametrize("name", KINDS)
def test_the_sentence_says_what_it_rests_on(name):
    statement = CERTIFICATES[name]["claim"]["statement"]
    conditions = {
        "symmetric": "provided that each reward is as likely to be above its mean as below it by",
        "equal": "provided that the noise is normal and of one scale for all options",
    }
    for kind, condition in conditions.items():
        assert (condition in statement) == (kind == name)

    def hide(body):
        body["claim"]["statement"] = statement.partition("; provided")[0]

    assert "drawn afresh" in refusal(forged(CERTIFICATES[name], hide))
    if name in conditions:
        with_past = as_json(finished(name, past=90))["claim"]["statement"]
        assert with_past.startswith(statement)
        assert "did not depend on rewards" in with_past


def test_where_nothing_is_promised_there_are_no_conditions():
    for name in KINDS:
        claim = as_json(finished(name, max_samples=20, delta=1e-9))["claim"]
        assert claim["statement"].startswith("no guarantee")
        assert "provided" not in claim["statement"]


# -- forged results ------------------------------------------------------------------------
@pytest.mark.parametrize("name", KINDS)
def test_no_row_can_be_left_out(name):
    certificate = CERTIFICATES[name]
    for b in range(4):  # later on some arms say nothing about those who are left

        def drop(body, b=b):
            batch = body["batches"][b]
            body["claim"]["samples"] -= batch["counts"][-1]
            for column in batch.values():
                column.pop()

        refusal(forged(certificate, drop))


@pytest.mark.parametrize("name", KINDS)
def test_sums_cannot_be_improved(name):
    for b in range(4):

        def improve(body, b=b):
            body["batches"][b]["sums"][0] += 1.0

        refusal(forged(CERTIFICATES[name], improve))


@pytest.mark.parametrize("name", ["symmetric", "equal", "bounded"])
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_rewards_cannot_be_said_to_differ_more_or_less(name, factor):
    certificate = CERTIFICATES[name]
    changed = 0
    for b, batch in enumerate(certificate["batches"][:4]):
        if max(batch["spreads"]) == 0.0:
            continue

        def change(body, b=b):
            spreads = body["batches"][b]["spreads"]
            spreads[:] = [factor * spread for spread in spreads]

        refusal(forged(certificate, change))
        changed += 1
    assert changed


@pytest.mark.parametrize("name", ["symmetric", "equal", "bounded"])
def test_impossible_spreads_are_refused(name):
    for spread, why in [
        (-1e-9, "below 0"),
        (True, "not a finite number"),
        ("0", "not a finite number"),
    ]:
        assert why in refusal(with_entry(CERTIFICATES[name], 0, "spreads", 0, spread))
    with pytest.raises(FormatError, match="it contains nan"):
        verify(with_entry(CERTIFICATES[name], 0, "spreads", 0, float("nan")))
    short = forged(CERTIFICATES[name], lambda b: b["batches"][0]["spreads"].pop())
    assert "batch 0 is inconsistent" in refusal(short)
    gone = forged(CERTIFICATES[name], lambda b: b["batches"][0].pop("spreads"))
    assert "batch 0 lacks 'spreads'" in refusal(gone)
    single = next(
        (b, i)
        for b, batch in enumerate(CERTIFICATES[name]["batches"])
        for i, count in enumerate(batch["counts"])
        if count == 1
    )

    differs = with_entry(CERTIFICATES[name], single[0], "spreads", single[1], 0.1)
    assert "differ from itself" in refusal(differs)


def test_bounded_rewards_cannot_differ_more_than_their_bounds():
    batch = CERTIFICATES["bounded"]["batches"][0]
    i = int(np.argmax(batch["counts"]))
    n, mean = batch["counts"][i], batch["sums"][i] / batch["counts"][i]

    more = n * (3.0 - mean) * (mean + 1.0) * 1.001
    change = with_entry(CERTIFICATES["bounded"], 0, "spreads", i, more)
    assert "cannot differ as much" in refusal(change)


@pytest.mark.parametrize("name", ["known", "by arm", "yes-no"])
def test_columns_that_no_bet_needs_are_refused(name):
    for column in ("spreads", "parts"):

        def add(body, column=column):
            for batch in body["batches"]:
                batch[column] = [0] * len(batch["arms"])

        assert f"has '{column}', which no bet needs" in refusal(forged(CERTIFICATES[name], add))


def test_a_huge_number_of_a_part_takes_no_memory():
    def change(body, huge=10**15):
        batch = body["batches"][1]
        assert batch["arms"][0] == batch["arms"][1]
        for row in range(2):
            body["claim"]["samples"] += huge - batch["counts"][row]
            batch["sums"][row] *= huge
            for column, value in (("counts", huge), ("parts", row * huge), ("spreads", 1.0)):
                batch[column][row] = value

    assert "not dealt evenly" in refusal(forged(CERTIFICATES["symmetric"], change))


@pytest.mark.parametrize("name", KINDS)
def test_who_was_not_beaten_cannot_be_dropped(name):
    """A run that was cut short, with all numbers as the data give them, but a false conclusion."""
    cut = as_json(finished(name, max_samples=40, delta=1e-6))
    answer, left = cut["claim"]["candidate"], cut["claim"]["survivors"]
    assert len(left) > 1
    blocks = cut["evidence"]["blocks"]
    blocks[-1]["batches"] += len(cut["batches"]) - sum(block["batches"] for block in blocks)
    losers = [i for i in left if i != answer]
    blocks[-1]["dropped"] += [{"candidate": i, "log_capital": 0.0} for i in losers]
    assert refused(concluded(cut, [answer]))


# -- bounds --------------------------------------------------------------------------------
@pytest.mark.parametrize("low", [-3.0, -1.1, -1.0, -0.99])
@pytest.mark.parametrize("high", [2.9, 3.1, 5.0])
def test_bounds_can_neither_be_widened_nor_narrowed(low, high):
    refusal(with_noise("bounded", {"low": low, "high": high}))


def test_sums_outside_of_the_bounds_are_refused():
    for name, sums in (("bounded", (-1.001, 3.001)), ("yes-no", (-1.0, 2.0))):
        for bound in sums:

            def change(body, bound=bound):
                batch = body["batches"][0]
                batch["sums"][0] = bound * batch["counts"][0]

            assert "cannot sum up to" in refusal(forged(CERTIFICATES[name], change))

    half = with_entry(CERTIFICATES["yes-no"], 0, "sums", 0, 0.5)
    assert "no number of rewards that are 0 or 1" in refusal(half)


def test_past_rewards_lie_between_the_bounds_too():
    for in_advance in (True, False):
        honest = as_json(finished("yes-no", past=90, in_advance=in_advance))

        def change(body):
            batch = body["past"]["batches"][0]
            batch["sums"][0] = batch["counts"][0] + 1.0

        assert "past batch 0, arm" in refusal(forged(honest, change))


# -- scales by arm -------------------------------------------------------------------------
def test_scales_cannot_be_exchanged():
    held = CERTIFICATES["by arm"]["problem"]["noise"]
    for scales in (held[1:] + held[:1], held[::-1], [0.99 * held[0], *held[1:]], [1.0] * 12):
        refusal(with_noise("by arm", scales))


def test_equal_scales_by_arm_are_one_scale():
    scales = [CERTIFICATES["known"]["problem"]["noise"]] * 12
    assert verify(with_noise("known", scales)) == verify(CERTIFICATES["known"])


# -- parts ---------------------------------------------------------------------------------
def dealt_batch():
    """A batch that is a whole block, dealt into four parts or more, though not the last one."""
    blocks = in_parts()["evidence"]["blocks"]
    assert all(block["batches"] == 1 for block in blocks)
    batches = in_parts()["batches"][: len(blocks) - 1]
    return next(b for b, batch in enumerate(batches) if max(batch["parts"]) >= 3)


def test_sums_cannot_be_moved_from_part_to_part():
    b = dealt_batch()

    def move(body):
        body["batches"][b]["sums"][0] += 0.5
        body["batches"][b]["sums"][1] -= 0.5

    assert "log capital" in refusal(forged(in_parts(), move))


def merged(batch, label):
    """The batch with rows of the same arm and new label as one."""
    rows = {}
    for arm, part, count, total, spread in zip(
        *(batch[key] for key in ("arms", "parts", "counts", "sums", "spreads")), strict=True
    ):
        key = (arm, label(arm, part))
        n, s, q = rows.get(key, (0, 0.0, 0.0))
        apart = (total / count - s / n) ** 2 * n * count / (n + count) if n else 0.0
        rows[key] = (n + count, s + total, q + spread + apart)
    keys = sorted(rows)
    columns = zip(*(rows[key] for key in keys), strict=True)
    counts, sums, spreads = (list(column) for column in columns)
    return {
        "arms": [arm for arm, _ in keys],
        "parts": [part for _, part in keys],
        "counts": counts,
        "sums": sums,
        "spreads": spreads,
    }


def test_parts_cannot_be_merged_in_hindsight():
    b = dealt_batch()
    first = in_parts()["batches"][b]["arms"][0]

    def with_labels(label):
        def change(body):
            body["batches"][b] = merged(body["batches"][b], label)

        return forged(in_parts(), change)

    evenly = with_labels(lambda arm, part: part // 2)
    assert "log capital" in refusal(evenly)
    # These are refused for what they are, whatever capital would follow.
    unevenly = with_labels(lambda arm, part: max(part - 2, 0))
    one_arm = with_labels(lambda arm, part: 0 if arm == first else part)
    two_of_an_arm = with_labels(lambda arm, part: part // 2 if arm == first else part)
    gap = with_labels(lambda arm, part: part + (part > 0))
    for forgery in (unevenly, one_arm, two_of_an_arm, gap):
        assert "are not dealt evenly" in refusal(forgery)


def test_parts_must_be_numbers_from_zero_on():
    b = dealt_batch()
    word = "not a whole number"
    for part, why in ((True, word), (-1, "no part"), (0.5, word), ("0", word)):
        assert why in refusal(with_entry(in_parts(), b, "parts", 1, part))
    twice = with_entry(in_parts(), b, "parts", 1, 0)
    assert "inconsistent" in refusal(twice)
    none = forged(in_parts(), lambda body: body["batches"][b].pop("parts"))
    assert f"batch {b} " in refusal(none)
