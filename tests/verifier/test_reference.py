"""Certificates and saved runs of problems that are too large to be part of them."""

import copy
import hashlib
import json

import numpy as np
import pytest

import surepick as sp
from surepick.ahead.noise import Gaussian
from surepick.errors import CertificateError, FormatError, InvalidInputError, InvalidTypeError
from surepick.run.certificate import fingerprint
from surepick.simulate.trials import drive
from surepick.verifier.tables import Rows
from surepick.verifier.verify import verify

K, D = 4000, 9
LIMIT = "surepick.arrays.cutoffs.EMBEDDED_TABLE"  # lowered here, so that a run takes a second
RNG = np.random.default_rng(3)
ARMS = RNG.normal(size=(K, D))
ARMS[7] = -0.0
THETA = 2.0 * ARMS[1234] / np.linalg.norm(ARMS[1234])


def finished(problem, algorithm="pooled-peleg", seed=0, **settings):
    run = sp.algorithms.get(algorithm, delta=0.05, **settings).start(problem)
    drive(run, sp.simulate.Instance(problem, THETA), np.random.default_rng(seed), Gaussian())
    return run


def as_tensor():
    import torch  # here: loading it takes seconds, and every process of tests reads this file

    return torch.tensor(ARMS)


def as_json(run):
    return json.loads(json.dumps(run.answer.certificate()))


PROBLEM = sp.Problem(ARMS, noise=0.5)


@pytest.fixture(autouse=True, scope="module")
def _few_entries_are_many():
    with pytest.MonkeyPatch.context() as lowered:
        lowered.setattr(LIMIT, K * D - 1)
        yield


@pytest.fixture(scope="module")
def certificate():
    """Of a run on all arms, made once; nobody changes it."""
    return as_json(finished(PROBLEM))


def forged(certificate, change):
    body = copy.deepcopy(certificate)
    change(body)
    return body | {"digest": fingerprint(body)}


# -- certificates --------------------------------------------------------------------------
def test_a_large_certificate_refers_to_its_arms(certificate):
    held = certificate["problem"]
    raw = hashlib.sha256((ARMS + 0.0).astype("<f8").tobytes()).hexdigest()
    assert held["arms"] == {"shape": [K, D], "sha256": raw}
    assert (held["candidates"], held["labels"], held["noise"]) == (None, None, 0.5)
    assert certificate["version"] == 1
    pulled = sorted({arm for batch in certificate["batches"] for arm in batch["arms"]})
    assert held["measured"]["arms"] == pulled
    assert np.array_equal(held["measured"]["features"], ARMS[pulled])
    assert len(json.dumps(certificate)) < len(json.dumps(ARMS.tolist())) / 2


def test_small_certificates_contain_everything():
    problem = sp.Problem(ARMS[:20], noise=0.5)
    certificate = as_json(finished(problem))
    assert certificate["version"] == 1
    assert certificate["problem"]["arms"] == ARMS[:20].tolist()
    assert verify(certificate) == verify(certificate, problem)
    with pytest.raises(CertificateError, match="it is about other arms than those given"):
        verify(certificate, ARMS[1:21])


@pytest.mark.parametrize(
    "given",
    [
        lambda: PROBLEM,
        lambda: ARMS,
        ARMS.tolist,
        lambda: np.asfortranarray(ARMS),
        as_tensor,
        lambda: sp.Problem(ARMS, backend="torch:cpu", noise=1.0),
        lambda: sp.Problem(ARMS, noise=3.0, labels=[f"arm {i}" for i in range(K)]),
    ],
    ids=["problem", "array", "list", "Fortran", "torch", "torch problem", "other labels"],
)
def test_the_arms_may_be_given_in_any_form(certificate, given):
    result = verify(certificate, given())
    assert (result.candidate, result.label) == (1234, "1234")
    assert result.checked == K - 1
    assert result.risk == 0.05


def test_the_arms_may_be_in_a_file(certificate, tmp_path):
    path = tmp_path / "arms.npy"
    np.save(path, ARMS)
    expected = verify(certificate, ARMS)
    assert verify(certificate, path) == verify(certificate, str(path)) == expected
    mapped = sp.Problem(np.load(path, mmap_mode="r"), noise=1.0)
    assert verify(certificate, mapped) == expected
    assert (
        mapped.digests
        == PROBLEM.digests
        == sp.Problem(ARMS, backend="torch:cpu", noise=1.0).digests
    )
    with pytest.raises(InvalidInputError, match=r"is no \.npy file"):
        verify(certificate, tmp_path / "arms.csv")


def test_without_the_arms_the_error_says_what_to_do(certificate):
    with pytest.raises(InvalidInputError, match=r"does not contain its 4,000 arms .*--arms"):
        verify(certificate)
    with pytest.raises(InvalidInputError, match="arms as a matrix"):
        verify(certificate, ARMS[0])


def test_other_arms_are_refused(certificate):
    nudged = ARMS.copy()
    nudged[17, 3] *= 1 + 1e-15
    swapped = ARMS.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    for other in (nudged, swapped, ARMS.astype(np.float32)):
        with pytest.raises(CertificateError, match=r"other arms .*SHA-256 differs.*same order"):
            verify(certificate, other)
    for other in (ARMS[1:], ARMS[:, 1:]):
        with pytest.raises(CertificateError, match=r"rows and .* columns, not"):
            verify(certificate, other)
    holed = ARMS.copy()
    holed[0, 0] = np.nan
    with pytest.raises(CertificateError, match="finite numbers"):
        verify(certificate, holed)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda c: c["problem"]["measured"]["features"][0].reverse(), "listed .* are not theirs"),
        (lambda c: c["problem"]["measured"]["features"].pop(), "listed .* are not theirs"),
        (
            lambda c: c["problem"]["measured"].update(arms=[0], features=[ARMS[0].tolist()]),
            "listed",
        ),
        (lambda c: c["problem"]["measured"].update(arms=[-1]), "unknown arms"),
        (lambda c: c["problem"]["arms"].update(sha256="0" * 64), "SHA-256 differs"),
        (lambda c: c["problem"]["arms"].update(shape=[K, D - 1]), "rows and 8 columns"),
        (lambda c: c["problem"].update(labels=["a"]), "one label each"),
        (lambda c: c["claim"].update(label="7"), "label is another candidate's"),
        (lambda c: c["claim"].update(candidate=7, label="7"), "not among the survivors"),
        (lambda c: c["evidence"].update(doubt=0.1), "prior"),
        (lambda c: c["evidence"].update(nearness=100.0), "prior"),
        (lambda c: c["evidence"]["blocks"][3]["rivals"].reverse(), "did not lead before"),
        (lambda c: c["evidence"]["blocks"][3]["rivals"].pop(), "right number of candidates"),
        (lambda c: blocks(c, -1, "log_capital", 9.0), "the log capital against"),
        (lambda c: blocks(c, -1, "candidate", 1234), "data give"),
        (lambda c: blocks(c, -1, "candidate", K), "drops an absent candidate"),
        (lambda c: blocks(c, -1, "candidate", 0.5), "0.5 is not a whole number"),
        (lambda c: c["evidence"]["blocks"][-1]["dropped"]["candidate"].pop(), "unequal length"),
        (lambda c: c["batches"][4]["sums"].reverse(), "certificate refused"),
        (lambda c: c["problem"].update(noise=0.4), "certificate refused"),
    ],
)
def test_forgeries_are_refused_though_the_digest_fits(certificate, change, complaint):
    with pytest.raises(CertificateError, match=complaint):
        verify(forged(certificate, change), ARMS)


def blocks(certificate, number, column, value):
    certificate["evidence"]["blocks"][number]["dropped"][column][0] = value


def test_a_drop_that_came_too_early_is_refused(certificate):
    def hurry(certificate):
        told = certificate["evidence"]["blocks"]
        at = max(i for i, block in enumerate(told) if block["dropped"])  # the last that drops any
        last, before = told[at]["dropped"], told[at - 1]["dropped"] or {}
        told[at - 1]["dropped"] = {
            name: [*before.get(name, []), last[name].pop()] for name in ("candidate", "log_capital")
        }

    with pytest.raises(CertificateError, match="the log capital against"):
        verify(forged(certificate, hurry), ARMS)


def test_given_labels_are_part_of_it():
    names = [f"option {i}" for i in range(K)]
    problem = sp.Problem(ARMS, noise=0.5, labels=names)
    certificate = as_json(finished(problem))
    assert certificate["problem"]["labels"] == names
    assert verify(certificate, ARMS).label == "option 1234"


def test_very_many_labels_are_referred_to():
    many = np.random.default_rng(0).normal(size=(12_000, 3))
    names = [f"option {i}" for i in range(len(many))]
    problem = sp.Problem(many, labels=names, noise=1.0)
    run = sp.algorithms.PooledPeleg(0.05, max_samples=6).start(problem)
    batch = run.ask()
    run.tell(batch, many[batch.arms] @ [1.0, 0.0, 0.0])
    certificate = as_json(run)
    assert list(certificate["problem"]["labels"]) == ["sha256"]
    assert verify(certificate, problem).label == run.answer.label
    for given in (
        many,
        sp.Problem(many, noise=1.0),
        sp.Problem(many, labels=names[::-1], noise=1.0),
    ):
        with pytest.raises(CertificateError, match=r"refers to labels .* pass a Problem"):
            verify(certificate, given)


def test_candidates_of_their_own():
    candidates = ARMS[:40].copy()
    problem = sp.Problem(ARMS, candidates, noise=0.5)
    certificate = as_json(finished(problem))
    assert certificate["problem"]["candidates"]["shape"] == [40, D]
    assert verify(certificate, problem).candidate == int(np.argmax(candidates @ THETA))
    with pytest.raises(InvalidInputError, match=r"its 40 candidates .*pass the Problem"):
        verify(certificate, ARMS)
    with pytest.raises(CertificateError, match="other candidates than those given"):
        verify(certificate, sp.Problem(ARMS, candidates[::-1], noise=1.0))


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("peleg", {}),
        ("alba", {"norm_bound": 4.0}),
        ("pooled-peleg", {"epsilon": 0.5}),
        ("pooled-peleg", {"max_samples": 60}),
    ],
)
def test_certificates_of_other_algorithms(algorithm, settings):
    run = finished(PROBLEM, algorithm, **settings)
    result = verify(as_json(run), ARMS)
    assert result.candidate == run.answer.arm
    assert result.guarantee == run.answer.guarantee.kind


def test_runs_on_another_library_are_certified():
    run = finished(sp.Problem(ARMS[:300], noise=0.5, backend="torch:cpu"), seed=1)
    certificate = as_json(run)
    assert certificate["version"] == 1  # however few they are
    assert verify(certificate, ARMS[:300]).candidate == run.answer.arm


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("peleg", {}),
        ("peleg", {"epsilon": 0.5}),
        ("pooled-peleg", {}),
        ("pooled-peleg", {"epsilon": 0.5}),
        ("xy-static", {"epsilon": 0.5}),
        ("alba", {"norm_bound": 4.0}),
        ("glucb", {"norm_bound": 4.0}),
        ("lingame-heuristic", {}),
    ],
)
def test_blocks_of_rows_make_no_difference(algorithm, settings, monkeypatch):
    certificate = as_json(finished(sp.Problem(ARMS[:60], noise=0.5), algorithm, **settings))
    expected = verify(certificate)
    monkeypatch.setattr("surepick.verifier.tables.BLOCK_ENTRIES", 7 * D)
    assert verify(certificate) == expected
    assert expected.checked >= 59


def test_tables_are_read_in_blocks(monkeypatch):
    monkeypatch.setattr("surepick.verifier.tables.BLOCK_ENTRIES", 1000)
    rows = Rows(as_tensor())
    assert len(list(rows.blocks())) == 37
    assert np.allclose(rows.factor().T @ rows.factor(), ARMS.T @ ARMS)
    assert np.array_equal(rows.column_scale(), np.abs(ARMS).max(axis=0))
    assert np.allclose(rows.scaled(rows.column_scale()) @ THETA, ARMS / rows.column_scale() @ THETA)
    assert rows.digest() == PROBLEM.digests[0]


# -- saved runs ----------------------------------------------------------------------------
def after_two_batches(problem):
    run = sp.algorithms.PooledPeleg(1e-12).start(problem)  # far from done by then
    means, rng = ARMS @ THETA, np.random.default_rng(5)
    for _ in range(2):
        batch = run.ask()
        run.tell(batch, means[batch.arms] + 0.5 * rng.normal(size=batch.size))
    return run, means, rng


@pytest.mark.parametrize(("backend", "count"), [(None, K), ("torch:cpu", 400)])
def test_saved_runs_go_on_as_if_nothing_had_happened(backend, count):
    arms = ARMS[:count]
    run, means, rng = after_two_batches(sp.Problem(arms, noise=0.5, backend=backend))
    text = run.to_json()
    assert len(text) < 10_000 + 64 * count  # however many features there are
    again = sp.Run.from_json(text, problem=sp.Problem(arms, noise=0.5, backend=backend))
    assert not run.stopped
    while not run.stopped and run.batches < 4:
        batch = run.ask()
        assert again.ask() == batch
        rewards = means[batch.arms] + 0.5 * rng.normal(size=batch.size)
        run.tell(batch, rewards)
        again.tell(batch, rewards)
    assert again.to_json() == run.to_json()


def test_a_run_may_move_to_another_library():
    run, *_ = after_two_batches(PROBLEM)
    moved = sp.Run.from_json(run.to_json(), problem=sp.Problem(ARMS, noise=0.5, backend="torch"))
    assert moved.samples == run.samples
    assert moved.active == run.active
    assert moved.ask().size == run.ask().size


def test_a_saved_run_needs_its_problem():
    text = after_two_batches(PROBLEM)[0].to_json()
    with pytest.raises(InvalidInputError, match=r"Run.from_json\(text, problem=problem\)"):
        sp.Run.from_json(text)
    with pytest.raises(InvalidTypeError, match="problem must be a surepick"):
        sp.Run.from_json(text, problem=ARMS)
    for other, what in (
        (sp.Problem(ARMS[::-1].copy(), noise=0.5), "arms"),
        (sp.Problem(ARMS, noise=0.6), "noise"),
        (sp.Problem(ARMS, ARMS[:9], noise=0.5), "candidates"),
        (sp.Problem(ARMS, noise=0.5, labels=[f"x{i}" for i in range(K)]), "labels"),
    ):
        with pytest.raises(InvalidInputError, match=f"saved with {what} that differ from"):
            sp.Run.from_json(text, problem=other)


def test_a_small_run_contains_its_problem():
    small = sp.Problem(ARMS[:20], noise=1.0)
    text = sp.algorithms.Peleg(0.1).start(small).to_json()
    assert sp.Run.from_json(text).problem == small
    assert sp.Run.from_json(text, problem=small).problem is small
    with pytest.raises(InvalidInputError, match="contains another problem"):
        sp.Run.from_json(text, problem=sp.Problem(ARMS[:21], noise=1.0))
    with pytest.raises(FormatError, match="saved problem lacks 'arms'"):
        sp.Run.from_json(json.dumps({"format": "surepick-run", "version": 1, "problem": {}}))


def test_what_was_asked_for_is_kept():
    """A small problem that is handled block by block is so after loading, too."""
    run = sp.algorithms.PooledPeleg(0.1).start(sp.Problem(ARMS[:20], large=True, noise=1.0))
    again = sp.Run.from_json(run.to_json())
    assert type(again.state) is type(run.state)
    assert again.problem.large
    assert again.ask().counts.tolist() == run.ask().counts.tolist()
