import copy
import datetime
import logging
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surepick as sp
from surepick.algorithms import Peleg
from surepick.errors import FormatError, InvalidInputError, InvalidTypeError, SurepickError

THREE = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


def asked_and_answered(problem, theta, *, seed=0, delta=0.1, scale=1.0, **settings):
    """Take a run to its stop on noise that depends on the seed only; its asks and its answer."""
    rng = np.random.default_rng(seed)
    means = np.asarray(theta)
    run = Peleg(delta, **settings).start(problem)
    asks = []
    while not run.stopped:
        batch = run.ask()
        asks.append(batch.counts.tolist())
        noise = np.zeros(problem.n_arms)
        arms, counts = batch.pulls[:2]
        noise[arms] = np.sqrt(counts) * rng.standard_normal(len(arms))
        run.tell(batch, sums=scale * (batch.counts * means + noise))
    return asks, run.answer


# -- labels and DataFrames -----------------------------------------------------------------
def test_labels_default_to_row_numbers():
    assert sp.Problem(THREE, noise=1.0).labels == ("0", "1", "2")


def test_a_dataframe_brings_its_labels():
    frame = pd.DataFrame(THREE, index=["small", "large", 7], columns=["price", "size"])
    problem = sp.Problem(frame, noise=1.0)
    assert problem.labels == problem.candidate_labels == ("small", "large", "7")
    np.testing.assert_array_equal(problem.arms, THREE)
    assert sp.Problem(frame, labels=["a", "b", "c"], noise=1.0).labels == ("a", "b", "c")


def test_answers_carry_the_labels_of_a_dataframe():
    frame = pd.DataFrame([[1.0], [3.0], [2.0]], index=["one", "three", "two"], columns=["x"])
    answer = sp.identify(sp.Problem(frame, noise=1.0), lambda arm: float(frame["x"].iloc[arm]))
    assert answer.label == "three"


def test_booleans_and_mixed_columns_are_numbers():
    frame = pd.DataFrame({"on": [True, False], "n": [1, 2], "x": [0.5, 0.25]})
    np.testing.assert_array_equal(sp.Problem(frame, noise=1.0).arms, [[1, 1, 0.5], [0, 2, 0.25]])
    mixed = [[Fraction(1, 4), Decimal("0.5")], [np.float32(1), np.bool_(True)]]
    np.testing.assert_array_equal(sp.Problem(mixed, noise=1.0).arms, [[0.25, 0.5], [1, 1]])


def test_candidates_have_labels_of_their_own():
    problem = sp.Problem(
        THREE,
        [[1, 2], [2, 1]],
        labels=["a", "b", "c"],
        candidate_labels=["x", "y"],
        noise=1.0,
    )
    assert (problem.labels, problem.candidate_labels) == (("a", "b", "c"), ("x", "y"))
    frame = pd.DataFrame([[1, 2], [2, 1]], index=["p", "q"])
    assert sp.Problem(THREE, frame, noise=1.0).candidate_labels == ("p", "q")
    assert sp.Problem(THREE, [[1, 2], [2, 1]], noise=1.0).candidate_labels == ("0", "1")


def test_dataframes_with_other_columns_are_refused():
    arms = pd.DataFrame(THREE, columns=["price", "size"])
    same = pd.DataFrame([[1.0, 2.0]], columns=["price", "size"])
    assert sp.Problem(arms, same, noise=1.0).n_candidates == 1
    with pytest.raises(InvalidInputError, match=r"candidates: column 0 is 'size'.*arms is 'price'"):
        sp.Problem(arms, same[["size", "price"]], noise=1.0)


def test_arrays_are_copied_and_cannot_be_written():
    arms = np.array(THREE)
    problem = sp.Problem(arms, noise=1.0)
    arms[0, 0] = 99.0
    assert problem.arms[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        problem.arms[0, 0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        problem.features[0, 0] = 2.0


def test_what_it_says_of_itself():
    assert repr(sp.Problem(THREE, noise=1.0)) == "Problem(3 arms, 2 features (rank 2), noise 1)"
    other = sp.Problem(THREE, [[1, 0], [1, 0]], noise=0.5)
    assert "2 candidates, 1 duplicate candidate, noise 0.5" in repr(other)


# -- bad input -----------------------------------------------------------------------------
NAN, INF = float("nan"), float("inf")
BAD_MATRICES = [
    ([[1.0, NAN], [0.0, 1.0]], "at row 0, column 1 is nan"),
    ([[1.0, 0.0], [INF, NAN]], r"at row 1, column 0 is inf.*2 bad entries"),
    ([[1.0, 0.0], [-INF, 1.0]], r"at row 1, column 0 is -inf.*1 bad entry"),
    (np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]]), "at row 0, column 1 is nan"),
    ([[1.0, "a"], [0.0, 1.0]], "at row 0, column 1 is 'a', which is not a number"),
    ([[1.0, 2.0], [3.0, "4.5"]], "at row 1, column 1 is '4.5', which is not a number"),
    ([["1", "2"]], "at row 0, column 0 is '1', which is not a number"),
    ([[1.0, None]], "at row 0, column 1 is 'None', which is not a number"),
    ([[1.0, {}]], r"at row 0, column 1 is '\{\}', which is not a number"),
    ([[1.0, 10**400]], "at row 0, column 1 is too large"),
    (
        np.array([["2020-01-01"]], dtype="datetime64[ns]"),
        "at row 0, column 0 is '2020-01-01.*not a number",
    ),
    ([[1.0, datetime.date(2020, 1, 1)]], "at row 0, column 1 is '2020-01-01'"),
    ([[1.0, 2.0], [3.0]], "row 1 has 1 entry but row 0 has 2"),
    ([(1.0,), (2.0, 3.0)], "row 1 has 2 entries but row 0 has 1"),
    ([np.ones(2), np.ones(2), np.ones(3)], "row 2 has 3 entries but row 0 has 2"),
    ([[1.0, 2.0], 3.0], "row 1 has 1 entry but row 0 has 2"),
    ([1.0, 2.0, 3.0], r"shape \(K, 1\).*1 dimension"),
    ([[[1.0]]], "3 dimension"),
    (3.0, "0 dimension"),
    ([], r"shape \(0,\)"),
    (np.empty((0, 3)), "at least one row"),
    ([[], []], "at least one row and one column"),
    ("arms", "0 dimension"),
    ({"a": 1}, "matrix of numbers"),
    (None, "matrix of numbers"),
    ([None, None], "matrix of numbers"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_MATRICES)
def test_bad_arms_are_refused_by_name_and_place(bad, message):
    with pytest.raises(InvalidInputError, match=r"^arms.*") as caught:
        sp.Problem(bad, noise=1.0)
    assert isinstance(caught.value, SurepickError)
    assert isinstance(caught.value, ValueError)
    assert re.search(message, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(("bad", "message"), [b for b in BAD_MATRICES if b[0] is not None])
def test_bad_candidates_are_refused_by_name_and_place(bad, message):
    with pytest.raises(InvalidInputError, match=r"^candidates.*") as caught:
        sp.Problem(THREE, bad, noise=1.0)
    assert re.search(message, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("column", "entry", "message"),
    [
        ("price", NAN, "row 'large', column 'price' is nan"),
        ("size", "XL", "row 'large', column 'size' is 'XL'"),
        ("size", pd.NA, "row 'large', column 'size' is '<NA>'"),
        ("size", pd.Timestamp("2020-01-01"), "row 'large', column 'size' is '2020-01-01"),
    ],
)
def test_errors_name_the_rows_and_columns_of_a_dataframe(column, entry, message):
    values = {"price": [1.0, 2.0], "size": [3.0, 4.0]}
    values[column][1] = entry
    with pytest.raises(InvalidInputError, match=message):
        sp.Problem(pd.DataFrame(values, index=["small", "large"]), noise=1.0)


def test_complex_features_are_of_the_wrong_kind():
    with pytest.raises(InvalidTypeError, match="arms must be real") as caught:
        sp.Problem([[1j, 2.0]], noise=1.0)
    assert isinstance(caught.value, TypeError)


def test_arms_that_are_all_zero_are_refused():
    with pytest.raises(InvalidInputError, match="arms are all zero"):
        sp.Problem(np.zeros((3, 2)), noise=1.0)
    assert sp.Problem([[0.0, 0.0], [1.0, 0.0]], noise=1.0).rank == 1  # one of them may be


@pytest.mark.parametrize("noise", [0, 0.0, -1.0, NAN, INF, -INF, 10**400])
def test_noise_must_be_above_zero(noise):
    with pytest.raises(InvalidInputError, match=r"^noise must be") as caught:
        sp.Problem(THREE, noise=noise)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("noise", [True, 1j, np.complex128(1), Decimal("1")])
def test_noise_must_be_a_number(noise):
    with pytest.raises(InvalidTypeError, match=r"^noise must be a number") as caught:
        sp.Problem(THREE, noise=noise)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("noise", [2, np.float32(2), np.int64(2), Fraction(2)])
def test_noise_may_be_any_real_number(noise):
    assert sp.Problem(THREE, noise=noise).noise == 2.0


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, NAN, INF])
def test_delta_must_lie_between_zero_and_one(delta):
    for make in (Peleg, Peleg.paper, lambda delta: sp.algorithms.get("peleg", delta=delta)):
        with pytest.raises(InvalidInputError, match=r"^delta must") as caught:
            make(delta)
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("delta", ["0.1", None, [0.1], True])
def test_delta_must_be_a_number(delta):
    with pytest.raises(InvalidTypeError, match=r"^delta must be a number"):
        Peleg(delta)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"epsilon": -0.1}, InvalidInputError, "epsilon must be at least 0"),
        ({"epsilon": NAN}, InvalidInputError, "epsilon must be finite"),
        ({"epsilon": "a"}, InvalidTypeError, "epsilon must be a number"),
        ({"max_samples": 0}, InvalidInputError, "max_samples must be at least 1"),
        ({"max_samples": 10.0}, InvalidTypeError, "max_samples must be a whole number"),
        ({"max_samples": True}, InvalidTypeError, "max_samples must be a whole number"),
    ],
)
def test_other_settings_are_checked_too(settings, error, message):
    with pytest.raises(error, match=message):
        Peleg(0.1, **settings)


def test_settings_become_plain_numbers():
    algorithm = Peleg(np.float32(0.25), epsilon=Fraction(1, 4), max_samples=np.int32(7))
    assert algorithm == Peleg(0.25, epsilon=0.25, max_samples=7)
    assert {type(v) for v in algorithm.settings().values()} == {float, int}


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (["a", "b"], InvalidInputError, "must have one label per row: 3 rows, 2 given"),
        (["a", "b", "a"], InvalidInputError, "'a' is the label of both row 0 and row 2"),
        ([1, 2, "1"], InvalidInputError, "'1' is the label of both row 0 and row 2"),
        ("abc", InvalidTypeError, "not one string"),
        (3, InvalidTypeError, "must be a sequence"),
        ({"a", "b", "c"}, InvalidTypeError, "in the order of the rows"),
        ({"a": 0, "b": 1, "c": 2}, InvalidTypeError, "in the order of the rows"),
    ],
)
def test_bad_labels_are_refused(labels, error, message):
    with pytest.raises(error, match=f"^labels.*{re.escape(message)}"):
        sp.Problem(THREE, labels=labels, noise=1.0)
    with pytest.raises(error, match=f"^candidate_labels.*{re.escape(message)}"):
        sp.Problem(THREE, THREE, candidate_labels=labels, noise=1.0)


def test_a_dataframe_index_that_repeats_is_refused():
    frame = pd.DataFrame(THREE, index=["a", "b", "a"])
    with pytest.raises(InvalidInputError, match=r"labels \(the DataFrame's index\): 'a'"):
        sp.Problem(frame, noise=1.0)


def test_candidate_labels_need_candidates():
    with pytest.raises(InvalidInputError, match="candidate_labels needs candidates"):
        sp.Problem(THREE, candidate_labels=["a", "b", "c"], noise=1.0)


def test_candidates_must_have_the_features_of_the_arms():
    with pytest.raises(InvalidInputError, match="candidates have 3 features but arms have 2"):
        sp.Problem(THREE, np.eye(3), noise=1.0)


# -- span ----------------------------------------------------------------------------------
def test_candidates_outside_the_span_are_named_with_their_distance():
    arms = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    with pytest.raises(InvalidInputError) as caught:
        sp.Problem(
            arms,
            [[1, 1, 0], [3, 0, 4], [0, 0, 1]],
            candidate_labels=["in", "out", "far out"],
            noise=1.0,
        )
    message = str(caught.value)
    assert "candidates: row 1 ('out') lies outside the span" in message
    assert "0.8 of its length" in message
    assert "(and 1 more)" in message


def test_candidates_within_rounding_of_the_span_are_fine():
    rng = np.random.default_rng(0)
    arms = rng.normal(size=(4, 3)) @ rng.normal(size=(3, 7)) * np.logspace(-6, 6, 7)
    mixtures = rng.dirichlet(np.ones(4), size=6) @ arms
    assert sp.Problem(arms, mixtures, noise=1.0).rank == 3


def test_a_zero_candidate_lies_in_every_span():
    assert sp.Problem([[1.0, 2.0]], [[0.0, 0.0], [1.0, 2.0]], noise=1.0).n_candidates == 2


@pytest.mark.parametrize(
    ("arms", "rank"),
    [
        ([[2.0]], 1),
        ([[1.0], [2.0], [3.0]], 1),
        ([[1.0, 2.0, 3.0]], 1),
        (np.eye(3)[:2], 2),
        (np.c_[np.ones(6), np.eye(3)[[0, 1, 2] * 2], np.eye(2)[[0, 0, 0, 1, 1, 1]]], 4),
        (np.full((4, 3), 0.1), 1),
        ([[1e-6, 1e6], [2e-6, 1e6]], 2),
    ],
    ids=["one", "d=1", "K=1", "K<d", "one-hot with intercept", "all equal", "scales"],
)
def test_rank(arms, rank):
    problem = sp.Problem(arms, noise=1.0)
    assert problem.rank == rank
    # Whitened: the second moments are the identity; isometric: lengths and angles as given.
    second = problem.features.T @ problem.features / problem.n_arms
    np.testing.assert_allclose(second, np.eye(rank), atol=1e-9)
    same, _ = problem.isometric
    np.testing.assert_allclose(same @ same.T, problem.arms @ problem.arms.T, rtol=1e-9)
    assert same.shape == (problem.n_arms, rank)
    chosen = problem.features[problem.spanning_arms]
    assert np.linalg.matrix_rank(chosen) == rank == len(chosen)


def test_whitened_differences_are_those_of_the_features():
    """yᵀ theta is the same in both coordinates for the theta that gives the same means."""
    rng = np.random.default_rng(1)
    arms = rng.normal(size=(6, 3)) * [1e-6, 1.0, 1e6]
    candidates = rng.normal(size=(4, 6)) @ arms
    theta = rng.normal(size=3) / [1e-6, 1.0, 1e6]
    problem = sp.Problem(arms, candidates, noise=1.0)
    white = np.linalg.lstsq(problem.features, arms @ theta)[0]
    np.testing.assert_allclose(problem.targets @ white, candidates @ theta, rtol=1e-10)


def test_directions_lost_in_rounding_are_left_out_with_a_warning(caplog):
    rng = np.random.default_rng(0)
    arms = rng.normal(size=(8, 3))
    for off, rank in ((1e-6, 4), (1e-10, 4), (1e-13, 3)):
        caplog.clear()
        extra = arms[:, :1] + off * rng.normal(size=(8, 1))
        assert sp.Problem(np.c_[arms, extra], noise=1.0).rank == rank
        assert [r.levelno for r in caplog.records] == [logging.WARNING] * (4 - rank)
    assert "nearly collinear" in caplog.text


def test_exact_dependence_is_no_reason_for_a_warning(caplog):
    one_hot = np.eye(5)[[0, 1, 2, 3, 4, 0, 1, 2, 3, 4]]
    standardised = (one_hot - one_hot.mean(axis=0)) / one_hot.std(axis=0)
    assert sp.Problem(np.c_[np.ones(10), one_hot], noise=1.0).rank == 5
    assert sp.Problem(standardised, noise=1.0).rank == 4
    assert not caplog.records


# -- identification on odd shapes ----------------------------------------------------------
def test_one_arm_is_answered_at_once():
    answer = sp.identify(sp.Problem([[1.0, 2.0]], noise=1.0), lambda arm: 1 / 0)
    assert (answer.arm, answer.samples, answer.survivors) == (0, 0, (0,))
    assert answer.guarantee.kind == "pac"
    assert sp.verify(answer.certificate()).risk == 0


def test_arms_that_are_all_the_same_are_answered_at_once():
    answer = sp.identify(sp.Problem([[1.0, 2.0]] * 3, noise=1.0), lambda arm: 1 / 0)
    assert (answer.arm, answer.equivalent, answer.survivors) == (0, (1, 2), (0, 1, 2))
    assert sp.verify(answer.certificate())


SHAPES = {
    "d=1": ([[1.0], [0.5], [-1.0]], [1.0, 0.5, -1.0], 0),
    "K<d": ([[1.0, 0, 0, 0], [0, 1.0, 1.0, 0]], [0.2, 1.0], 1),
    "one-hot": (
        np.c_[np.ones(6), np.eye(3)[[0, 1, 2] * 2], np.eye(2)[[0, 0, 0, 1, 1, 1]]],
        np.add.outer([0.0, 0.7], [0.0, 1.0, -1.0]).ravel(),
        4,
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_are_identified_and_certified(shape):
    arms, means, best = SHAPES[shape]
    _, answer = asked_and_answered(sp.Problem(arms, noise=1.0), means)
    assert answer.arm == best
    assert sp.verify(answer.certificate()).candidate == best


def test_transductive_candidates_need_not_be_arms():
    candidates = [[1.0, 1.0], [2.0, -1.0], [0.0, 0.0]]
    problem = sp.Problem(np.eye(2), candidates, candidate_labels=["both", "odd", "none"], noise=1.0)
    _, answer = asked_and_answered(problem, [1.0, -1.0])
    assert (answer.label, answer.pulls.shape) == ("odd", (2,))
    assert sp.verify(answer.certificate()).label == "odd"


# -- duplicates ----------------------------------------------------------------------------
def test_duplicates_are_found():
    arms = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, -0.0], [2.0, 0.0]]
    problem = sp.Problem(arms, noise=1.0)
    assert problem.duplicate_arms == problem.duplicate_candidates == ((0, 2, 4), (1, 3))
    assert problem.distinct.tolist() == [0, 1, 5]
    assert problem.same_as.tolist() == [0, 1, 0, 1, 0, 5]
    other = sp.Problem(arms, np.eye(2), noise=1.0)
    assert (other.duplicate_arms, other.duplicate_candidates) == (((0, 2, 4), (1, 3)), ())


def test_rounding_does_not_make_a_difference():
    row = np.array([0.1, 0.2, 0.7])
    assert sp.Problem([row, row * 3 / 3 + 1e-17, row + 1e-9], noise=1.0).distinct.tolist() == [0, 2]


@given(st.integers(1, 4), st.integers(1, 30), st.integers(0, 10**6), st.floats(1e-6, 1e6))
def test_duplicates_are_the_rows_that_are_equal(d, n, seed, scale):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, size=(n, d)).astype(float)
    rows[0] += 1.0  # not all zero
    first = {}
    expected = [first.setdefault(tuple(row), i) for i, row in enumerate(rows)]
    assert sp.Problem(rows * scale, noise=1.0).same_as.tolist() == expected


def test_many_duplicates_take_no_time():
    rows = np.random.default_rng(0).integers(0, 2, size=(20_000, 6)).astype(float)
    assert len(sp.Problem(rows, noise=1.0).distinct) == 64


def test_duplicates_of_the_answer_are_reported():
    arms = [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    _, answer = asked_and_answered(sp.Problem(arms, noise=1.0), [0.0, 2.0, 0.0, 2.0, 2.0])
    assert (answer.arm, answer.equivalent, answer.survivors) == (1, (3, 4), (1, 3, 4))
    assert answer.guarantee.kind == "pac"
    assert sp.verify(answer.certificate())


def test_duplicate_candidates_are_reported_too():
    problem = sp.Problem(np.eye(2), [[1, 1], [1, 0], [1, 1]], noise=1.0)
    _, answer = asked_and_answered(problem, [1.0, 2.0])
    assert (answer.arm, answer.equivalent) == (0, (2,))
    assert sp.verify(answer.certificate())


# -- scales --------------------------------------------------------------------------------
RNG = np.random.default_rng(3)
ARMS = RNG.normal(size=(8, 3))
MEANS = ARMS @ RNG.normal(size=3)
MIXTURES = RNG.dirichlet(np.ones(8), size=5) @ ARMS


@pytest.mark.some(5)
@pytest.mark.parametrize(
    "scales",
    [[1e-6, 1e-6, 1e-6], [1e6, 1e6, 1e6], [1e-6, 1.0, 1e6], [1e6, 1e-6, 3.0], [1e-150, 1e150, 1]],
)
@pytest.mark.parametrize("candidates", [None, MIXTURES], ids=["arms", "transductive"])
def test_the_scale_of_features_changes_nothing(scales, candidates):
    plain = sp.Problem(ARMS, candidates, noise=1.0)
    scaled = sp.Problem(
        ARMS * scales, None if candidates is None else candidates * scales, noise=1.0
    )
    asks, answer = asked_and_answered(plain, MEANS)
    again, other = asked_and_answered(scaled, MEANS)
    assert asks == again
    assert other == answer
    # The certificates' numbers agree: no digits are lost on the way.
    phases, others = (a.certificate()["evidence"]["phases"] for a in (answer, other))
    for phase, same in zip(phases, others, strict=True):
        for column in ("candidate", "by"):
            assert phase["dropped"][column] == same["dropped"][column]
        for column in ("gap", "width"):
            assert same["dropped"][column] == pytest.approx(phase["dropped"][column], rel=1e-9)
    assert sum(len(p["dropped"]["candidate"]) for p in phases) == len(plain.distinct) - 1
    assert sp.verify(other.certificate())


def test_the_paper_form_sees_lengths_and_angles_only():
    """Its constants depend on lengths; a rotation into more dimensions keeps them."""
    arms = np.array(THREE)
    turned = arms @ np.linalg.qr(np.random.default_rng(0).normal(size=(4, 2)))[0].T
    asks = [
        Peleg.paper(0.1).start(sp.Problem(a, noise=1.0)).ask().counts.tolist()
        for a in (arms, turned)
    ]
    assert asks[0] == asks[1]


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**20, 1e-6, 1e6, 1e-100, 1e100])
def test_the_scale_of_rewards_changes_nothing_when_the_noise_scales_along(scale):
    asks, answer = asked_and_answered(sp.Problem(ARMS, noise=1.0), MEANS)
    again, other = asked_and_answered(sp.Problem(ARMS, noise=scale), MEANS, scale=scale)
    assert (again, other) == (asks, answer)
    assert sp.verify(other.certificate())


def test_features_nearly_on_a_line_are_still_certified():
    """Powers of a year: columns that agree to many digits."""
    years = np.linspace(2000, 2025, 26)
    for degree in range(1, 5):
        problem = sp.Problem(np.vander(years, degree + 1), noise=1.0)
        means = problem.features @ np.ones(problem.rank)
        _, answer = asked_and_answered(problem, means, epsilon=0.2)
        assert means[answer.arm] >= means.max() - 0.2
        assert sp.verify(answer.certificate())


# -- identity, copies, saving --------------------------------------------------------------
def test_equality_and_hash():
    one, two = sp.Problem(THREE, noise=0.5), sp.Problem(np.array(THREE), noise=0.5)
    assert one == two
    assert hash(one) == hash(two)
    assert one != sp.Problem(THREE, noise=1.0)
    assert one != sp.Problem(THREE, noise=0.5, labels=["a", "b", "c"])
    assert one != sp.Problem(THREE, THREE, noise=0.5)
    assert one != "problem"
    assert copy.deepcopy(one) == one


def test_another_noise_scale_changes_nothing_else():
    problem = sp.Problem(THREE, noise=0.5)
    before = problem.digest
    louder = problem.with_noise(2.0)
    assert louder == sp.Problem(THREE, noise=2.0)
    assert (louder.noise, problem.noise, problem.digest) == (2.0, 0.5, before)
    assert louder.features is problem.features
    with pytest.raises(InvalidInputError, match="noise must be"):
        problem.with_noise(0.0)


def test_scales_by_arm_change_what_arms_are_measured_as():
    scales = [0.5, 2.0, 1.0]
    mixed = sp.Problem(THREE, noise=scales)
    for problem in (sp.Problem(THREE, noise=1.0), sp.Problem(THREE, noise=[3.0, 1.0, 1.0])):
        _ = problem.isometric, problem.spanning_arms
        changed = problem.with_noise(scales)
        for name in ("features", "targets", "standardised_arms", "spanning_arms"):
            assert np.array_equal(getattr(changed, name), getattr(mixed, name)), name
        assert not changed.features.flags.writeable
        back = changed.with_noise(1.0)
        assert np.array_equal(back.features, sp.Problem(THREE, noise=1.0).features)
    per_noise = mixed.arms / np.array(scales)[:, None]
    arms, candidates = mixed.isometric
    assert np.allclose(arms @ candidates.T, per_noise @ mixed.arms.T)
    flat = sp.Problem(np.c_[mixed.arms, mixed.arms.sum(axis=1)], noise=scales)
    arms, candidates = flat.isometric
    assert arms.shape[1] == flat.rank < flat.n_features
    assert np.allclose(arms @ candidates.T, flat.standardised_arms @ flat.arms.T)


def test_a_problem_survives_its_dict():
    for problem in (
        sp.Problem(THREE, noise=0.1, labels=["a", "b", "c"]),
        sp.Problem(THREE, [[1, 2]], candidate_labels=["x"], noise=1.0),
    ):
        again = sp.Problem.from_dict(problem.to_dict())
        assert again == problem
        assert again.digest == problem.digest
    with pytest.raises(FormatError, match="saved problem lacks 'noise'"):
        sp.Problem.from_dict({"arms": THREE, "candidates": None})


# -- few and many --------------------------------------------------------------------------
@pytest.mark.parametrize("backend", [None, "numpy"])
def test_a_small_problem_is_small_whoever_names_numpy(backend):
    few = sp.Problem([[1, 0], [0, 1], [1, 1]], backend=backend, noise=1.0)
    assert not few.large
    assert few.key == sp.Problem([[1, 0], [0, 1], [1, 1]], noise=1.0).key
    assert sp.Problem(np.ones((200, 200)) + np.eye(200), backend=backend, noise=1.0).large


def test_block_by_block_can_be_asked_for_and_is_kept():
    asked = sp.Problem(THREE, large=True, noise=1.0)
    assert asked.large
    assert asked == sp.Problem(THREE, noise=1.0)
    assert sp.Problem.from_dict(asked.to_dict()).large
    assert not sp.Problem.from_dict(sp.Problem(THREE, noise=1.0).to_dict()).large
    with pytest.raises(InvalidTypeError, match="large must be True or False; got 'yes'"):
        sp.Problem(THREE, large="yes", noise=1.0)
