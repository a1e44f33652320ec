import ast
import copy
import hashlib
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.lazily import Lazily

import surepick as sp
from surepick.algorithms import Peleg
from surepick.errors import CertificateError, FormatError, InvalidTypeError, SurepickError
from surepick.run.certificate import fingerprint
from surepick.verifier import conditions
from surepick.verifier.verify import verify

SOURCE = Path(sp.__file__).parent


def certified(problem, means, algorithm, seed=0):
    rng = np.random.default_rng(seed)
    run = algorithm.start(problem)
    while not run.stopped:
        batch = run.ask()
        arms, counts = batch.pulls[:2]
        sums = np.zeros(problem.n_arms)
        sums[arms] = counts * means[arms]
        sums[arms] += problem.noise * np.sqrt(counts) * rng.standard_normal(len(arms))
        run.tell(batch, sums=sums)
    return json.loads(json.dumps(run.answer.certificate()))


RNG = np.random.default_rng(7)
ARMS = np.vstack([RNG.normal(size=(5, 2)), [[0.0, 0.0]]])
THETA = np.array([0.6, -0.4])
TWINS = ARMS[[0, 1, 2, 3, 1, 3, 4]]
# Three points on a circle, the second one nearly as good as the first (or exactly as good).
CIRCLE = np.array([[1.0, 0.1], [1.0, -0.1], [-0.6, 0.8]])
CERTIFICATES = Lazily(
    {
        "pac": lambda: certified(sp.Problem(ARMS, noise=0.7), ARMS @ THETA, Peleg(0.1)),
        "duplicates": lambda: certified(sp.Problem(TWINS, noise=1.0), TWINS @ THETA, Peleg(0.1)),
        "transductive": lambda: certified(
            sp.Problem(
                CIRCLE, ARMS[:4], labels=list("xyz"), candidate_labels=list("abcd"), noise=1.0
            ),
            CIRCLE @ THETA,
            Peleg(0.1),
        ),
        "paper": lambda: certified(
            sp.Problem(CIRCLE, noise=0.3), CIRCLE @ [1.0, 0.15], Peleg.paper(0.1)
        ),
        "eps-pac": lambda: certified(
            sp.Problem(CIRCLE, noise=0.5), CIRCLE @ [1.0, 0.0], Peleg(0.1, epsilon=0.2)
        ),
        "paper eps-pac": lambda: certified(
            sp.Problem(CIRCLE, noise=0.3), CIRCLE @ [1.0, 0.0], Peleg.paper(0.1, epsilon=0.2)
        ),
        "none": lambda: certified(
            sp.Problem(ARMS, noise=1.0), ARMS @ THETA, Peleg(0.01, max_samples=150), seed=3
        ),
        "one arm": lambda: certified(
            sp.Problem([[1.0, 2.0]], noise=1.0), np.array([1.0]), Peleg(0.1)
        ),
    }
)


def forged(certificate):
    """The certificate with a digest that fits its content, as a forger would make it."""
    body = {k: v for k, v in certificate.items() if k != "digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return body | {"digest": hashlib.sha256(text.encode()).hexdigest()}


def drops(phase):
    return len(phase["dropped"]["candidate"])


def active_at(certificate, number):
    """How many candidates are in the race when a phase begins."""
    phases = certificate["evidence"]["phases"]
    left = len(certificate["claim"]["survivors"])
    return left + sum(drops(phase) for phase in phases[number:])


def refused(certificate):
    try:
        verify(certificate)
    except (CertificateError, FormatError):
        return True
    return False


# -- what holds ----------------------------------------------------------------------------
def test_the_certificates_are_of_the_kinds_meant():
    kinds = {name: c["claim"]["guarantee"] for name, c in CERTIFICATES.items()}
    assert kinds == {
        "pac": "pac",
        "duplicates": "pac",
        "transductive": "pac",
        "paper": "pac",
        "eps-pac": "eps-pac",
        "paper eps-pac": "eps-pac",
        "none": "none",
        "one arm": "pac",
    }
    assert len(CERTIFICATES["duplicates"]["claim"]["survivors"]) == 2
    assert len(CERTIFICATES["pac"]["batches"]) > 2
    assert len(CERTIFICATES["paper"]["batches"]) > 1
    phases = CERTIFICATES["none"]["evidence"]["phases"]
    assert any(map(drops, phases))  # evidence against some, though not against all


@pytest.mark.parametrize("name", CERTIFICATES)
def test_certificates_hold(name):
    certificate = CERTIFICATES[name]
    result = verify(certificate)
    claim = certificate["claim"]
    assert result
    assert (result.candidate, result.label) == (claim["candidate"], claim["label"])
    assert (result.guarantee, result.statement) == (claim["guarantee"], claim["statement"])
    assert 0 <= result.risk <= result.delta == certificate["delta"]
    phases = certificate["evidence"]["phases"]
    expected = sum(map(drops, phases))
    assert result.checked == expected + len(phases[-1].get("leads", []) if phases else [])
    assert forged(certificate) == certificate  # the digest is what it is documented to be


def test_dicts_texts_and_paths_are_accepted(tmp_path):
    certificate = CERTIFICATES["pac"]
    text = json.dumps(certificate, indent=2)
    path = tmp_path / "certificate.json"
    path.write_text(text)
    results = [verify(c) for c in (certificate, text, text.encode(), path, str(path))]
    assert all(r == results[0] for r in results)
    assert verify(json.dumps(dict(reversed(certificate.items())))) == results[0]


EMPTY = {"format": "surepick-certificate", "version": 1}


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ("{", FormatError, "not JSON"),
        ('{"format": ' + "[" * 100_000, FormatError, "not JSON"),
        ("{}", FormatError, "not a surepick certificate"),
        ({"format": "surepick-run", "version": 1}, FormatError, "not a surepick certificate"),
        ({"format": "surepick-certificate", "version": 3}, FormatError, "version 3.*upgrade"),
        ({"format": "surepick-certificate", "version": "1"}, FormatError, "version 1"),
        ({"format": "surepick-certificate"}, FormatError, "version None"),
        ({"format": "surepick-certificate", "version": 1}, CertificateError, "digest differs"),
        (EMPTY | {"digest": fingerprint(EMPTY)}, CertificateError, "malformed.*problem"),
        (b"\xff", FormatError, "not JSON"),
        (None, InvalidTypeError, "dict, JSON text or a path"),
        (3, InvalidTypeError, "dict, JSON text or a path"),
        ([1], InvalidTypeError, "dict, JSON text or a path"),
    ],
)
def test_what_is_no_certificate_is_refused(wrong, error, message):
    with pytest.raises(error, match=message) as caught:
        verify(wrong)
    assert isinstance(caught.value, SurepickError)


def test_files_that_are_no_certificates(tmp_path):
    with pytest.raises(FileNotFoundError):
        verify(tmp_path / "missing.json")
    broken = tmp_path / "broken.json"
    broken.write_bytes(b"\x80\x81 not text")
    with pytest.raises(FormatError, match="not JSON"):
        verify(broken)
    listing = tmp_path / "list.json"
    listing.write_text("[1, 2]")
    with pytest.raises(FormatError, match="not a surepick certificate"):
        verify(str(listing))


# -- every single change -------------------------------------------------------------------
def changes(value):
    """Changed copies of one JSON value: numbers moved, texts altered, parts dropped."""
    if isinstance(value, bool) or value is None:
        return [1.0, "x"]
    if isinstance(value, int):
        return [value + 1, value - 1, -value - 1, value + 0.5, "1", None]
    if isinstance(value, float):
        moved = [value * 1.01, value * 0.99, -value] if value else []
        return [*moved, value + 0.01, math.nan, math.inf, "1", None]
    if isinstance(value, str):
        return [value + "x", "", None, 1]
    if isinstance(value, list):
        shorter = [value[:i] + value[i + 1 :] for i in range(len(value))]
        return [*shorter, value + value[-1:], None] if value else [[0], None]
    shorter = [{k: v for k, v in value.items() if k != key} for key in value]
    return [*shorter, None, []]


def walk(value, path=()):
    """Every place in a JSON value, leaves and containers alike."""
    if path and path != ("digest",):
        yield path, value
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from walk(value[key], (*path, key))


def replaced(certificate, path, value):
    if not path:
        return value
    out = copy.copy(certificate)
    out[path[0]] = replaced(certificate[path[0]], path[1:], value)
    return out


def set_in(certificate, changes):
    """The certificate with several places changed, given as "a.0.b": value."""
    for path, value in changes.items():
        keys = [int(k) if k.isdigit() else k for k in path.split(".")]
        certificate = replaced(certificate, tuple(keys), value)
    return forged(certificate)


def is_harmless(certificate, path, value):
    """Single changes that leave a certificate whose claim still follows from its record."""
    where = ".".join(str(p) for p in path)
    phases = certificate["evidence"]["phases"]
    if not phases and path[0] == "problem":
        return True  # nothing was measured: one arm is the best, whatever it is
    if path[0] == "made":
        return True  # what it was made with matters to replays only
    if where == "order.seed":
        return True  # sums do not depend on the order of pulls; a study's database shows it
    if where == "algorithm.name" or (where == "algorithm" and value and "settings" in value):
        return True  # names nobody relies on
    if re.match(r"algorithm\.settings($|\.max_samples$)", where):
        # the budget that was set (delta and epsilon must be those of the claim)
        return where.endswith("max_samples") or (
            isinstance(value, dict) and {"delta", "epsilon"} <= value.keys()
        )
    if re.match(r"problem\.(candidate_)?labels\.\d+$", where):
        return True  # other arms may be called anything (but the answer's label is claimed)
    if where == "problem" and isinstance(value, dict):
        # candidate_labels is not read where the candidates are the arms
        return "candidate_labels" not in value and certificate["problem"]["candidates"] is None
    if where == "problem.candidate_labels":
        return certificate["problem"]["candidates"] is None
    if match := re.match(r"evidence\.phases\.(\d+)\.dropped$", where):
        return value == [] and not drops(phases[int(match[1])])  # nobody, said in another way
    if match := re.match(r"(batches|evidence\.phases)\.(\d+)\.(sums|arms|level|threshold)", where):
        phase = phases[int(match[2])]
        if match[3] == "level" and phase["threshold"] is not None:
            # With a fixed width any level will do that the width earns and delta can pay for.
            levels = [value if p is phase else p["level"] for p in phases]
            risks = [v * (active_at(certificate, i) - 1) for i, v in enumerate(levels)]
            return sum(risks) <= certificate["delta"]
        return not drops(phase) and "leads" not in phase  # nothing rests on this phase
    if match := re.match(r"problem\.arms\.(\d+)", where):
        # arms that are not candidates and were never pulled
        pulled = {arm for batch in certificate["batches"] for arm in batch["arms"]}
        return certificate["problem"]["candidates"] is not None and int(match[1]) not in pulled
    return False


@pytest.mark.some(3)
@pytest.mark.parametrize("name", CERTIFICATES)
def test_any_change_breaks_the_digest(name):
    certificate = CERTIFICATES[name]
    tried = 0
    for path, value in walk(certificate):
        for change in changes(value):
            assert refused(replaced(certificate, path, change)), (path, change)
            tried += 1
    assert tried > 100


@pytest.mark.some(2)
@pytest.mark.parametrize("name", CERTIFICATES)
def test_every_change_that_matters_is_refused_though_the_digest_fits(name):
    certificate = CERTIFICATES[name]
    accepted = []
    for path, value in walk(certificate):
        for change in changes(value):
            if not refused(forged(replaced(certificate, path, change))):
                accepted.append((path, change))
    assert [a for a in accepted if not is_harmless(certificate, *a)] == []
    # The list of harmless changes is no pretext: all the ways named above do occur.
    assert ("algorithm", "name") in {path for path, _ in accepted}


def test_what_the_conclusion_rests_on_is_never_harmless():
    """The places people would forge, one by one, in a certificate whose phases all drop."""
    certificate = CERTIFICATES["pac"]
    phases = certificate["evidence"]["phases"]
    settled = [i for i, p in enumerate(phases) if drops(p)]
    assert settled
    for i in settled:
        for path, value in walk(certificate["batches"][i], ("batches", i)):
            for change in changes(value):
                assert refused(forged(replaced(certificate, path, change))), (path, change)
        for path, value in walk(phases[i], ("evidence", "phases", i)):
            for change in changes(value):
                assert refused(forged(replaced(certificate, path, change))), (path, change)


# -- several changes that fit together -----------------------------------------------------
GROUNDS = f"{conditions.ALONE}; if rewards are linear in the features; {conditions.AFRESH}"
THEOREM = "phased elimination with fixed-design widths; union over one-sided comparisons"


def best_sentence(delta):
    return f"the best with probability at least {1 - delta:.12g} ({THEOREM}); {GROUNDS}"


def claim_delta(certificate, delta):
    return set_in(
        certificate,
        {
            "delta": delta,
            "algorithm.settings.delta": delta,
            "claim.statement": best_sentence(delta),
        },
    )


def test_levels_belong_to_delta():
    """Another delta would have had other levels: neither a larger nor a smaller one is claimed."""
    certificate = CERTIFICATES["pac"]
    for delta in (0.2, 0.1 * (1 + 1e-6), 0.1 * (1 - 1e-6), 0.05):
        with pytest.raises(CertificateError, match="were not fixed in advance"):
            verify(claim_delta(certificate, delta))


def test_the_statement_must_say_what_was_checked():
    certificate = CERTIFICATES["pac"]
    for sentence in (
        "the best",
        "the best with probability at least 0.99 (sure)",
        "the best with probability at least 0.95",
        "the best with probability at least 0.90000001",
        "the best with probability at least 0.9",
        "the best with probability at least 0.9 (whatever)",
        "the best with probability at least 0.9, provided that it rains",
        f"the best with probability at least 0.9999 ({THEOREM})",
        f"{best_sentence(0.1)} ",
        f"{best_sentence(0.1)}; in fact it is certain",
        "certainly the best with probability at least 0.9",
        "within 0.1 of the best with probability at least 0.9",
        "no guarantee",
    ):
        with pytest.raises(CertificateError, match="statement should be"):
            verify(set_in(certificate, {"claim.statement": sentence}))
    assert certificate["claim"]["statement"] == best_sentence(0.1)


def test_no_more_may_be_said_than_is_claimed():
    certificate = CERTIFICATES["pac"]
    with pytest.raises(CertificateError, match="'heuristic' does not follow"):
        verify(set_in(certificate, {"claim.guarantee": "heuristic"}))
    with pytest.raises(CertificateError, match="should be 'no guarantee: stopped"):
        verify(set_in(certificate, {"claim.guarantee": "none"}))
    modest = {"claim.guarantee": "none", "claim.statement": "no guarantee: being modest"}
    assert refused(set_in(certificate, modest))


def test_somebody_elses_algorithm_cites_the_theorem_of_its_rule():
    theirs = set_in(CERTIFICATES["pac"], {"algorithm.name": "of-my-own"})
    assert verify(theirs)
    short = f"the best with probability at least 0.9 ({THEOREM.partition(';')[0]}); {GROUNDS}"
    assert verify(set_in(theirs, {"claim.statement": short}))
    assert refused(set_in(CERTIFICATES["pac"], {"claim.statement": short}))
    other = "the best with probability at least 0.9 (by construction)" + f"; {GROUNDS}"
    assert refused(set_in(theirs, {"claim.statement": other}))


def test_a_budget_stop_cannot_be_made_a_guarantee():
    certificate = CERTIFICATES["none"]
    upgraded = {"claim.guarantee": "pac", "claim.statement": best_sentence(0.01)}
    with pytest.raises(CertificateError, match="other candidates are still in the race"):
        verify(set_in(certificate, upgraded))
    alone = upgraded | {"claim.survivors": [certificate["claim"]["candidate"]]}
    with pytest.raises(CertificateError, match="survivors are not those claimed"):
        verify(set_in(certificate, alone))


def claim_epsilon(certificate, epsilon):
    sentence = certificate["claim"]["statement"]
    sure = re.search(r"with probability.*", sentence)[0]
    return set_in(
        certificate,
        {
            "epsilon": epsilon,
            "algorithm.settings.epsilon": epsilon,
            "claim.statement": f"within {epsilon:.12g} of the best {sure}",
        },
    )


@pytest.mark.parametrize("name", ["eps-pac", "paper eps-pac"])
def test_epsilon_must_be_proved(name):
    certificate = CERTIFICATES[name]
    proved = max(certificate["evidence"]["phases"][-1]["leads"])
    assert verify(claim_epsilon(certificate, proved * (1 + 1e-6)))
    with pytest.raises(CertificateError, match="better, more than epsilon"):
        verify(claim_epsilon(certificate, proved * (1 - 1e-6)))
    with pytest.raises(CertificateError, match="epsilon must be at least 0"):
        verify(claim_epsilon(certificate, -1.0))
    wider = certificate["epsilon"] * 2
    with pytest.raises(CertificateError, match="statement should be"):
        verify(set_in(certificate, {"epsilon": wider, "algorithm.settings.epsilon": wider}))
    exact = {"claim.guarantee": "pac", "claim.statement": best_sentence(0.1)}
    with pytest.raises(CertificateError, match="other candidates are still in the race"):
        verify(set_in(certificate, exact))


def test_another_answer_needs_proof_too():
    certificate = CERTIFICATES["pac"]
    chosen = certificate["claim"]["candidate"]
    for other in set(range(6)) - {chosen}:
        swapped = {"claim.candidate": other, "claim.label": str(other)}
        with pytest.raises(CertificateError, match="not among the survivors"):
            verify(set_in(certificate, swapped))
        with pytest.raises(CertificateError, match="survivors are not those claimed"):
            verify(set_in(certificate, swapped | {"claim.survivors": [other]}))


def test_a_twin_of_the_answer_is_an_answer_too():
    certificate = CERTIFICATES["duplicates"]
    first, twin = certificate["claim"]["survivors"]
    assert certificate["claim"]["candidate"] == first
    named = {"claim.candidate": twin, "claim.label": str(twin)}
    assert verify(set_in(certificate, named)).candidate == twin


def test_rewards_cannot_be_improved():
    """Raise the answer's rewards, and the gaps along with them: the widths still have to fit."""
    certificate = copy.deepcopy(CERTIFICATES["none"])
    last = certificate["evidence"]["phases"][-1]
    left = certificate["claim"]["survivors"]
    chosen = certificate["claim"]["candidate"]
    losers = [i for i in left if i != chosen]
    last["dropped"] = {
        "candidate": losers,
        "by": [chosen] * len(losers),
        "gap": [5.0] * len(losers),
        "width": [1.0] * len(losers),
    }
    claim = {
        "claim.survivors": [chosen],
        "claim.guarantee": "pac",
        "claim.statement": best_sentence(0.01),
    }
    with pytest.raises(CertificateError, match="is recorded as 5 but the data give"):
        verify(set_in(certificate, claim))


def test_a_level_cannot_be_loosened():
    """Higher levels make narrower widths."""
    certificate = copy.deepcopy(CERTIFICATES["pac"])
    phase = certificate["evidence"]["phases"][0]
    factor = 0.5 / phase["level"]
    log = math.log(1 / phase["level"])
    phase["level"] *= factor
    widths = phase["dropped"]["width"]
    widths[:] = [width * math.sqrt(math.log(2) / log) for width in widths]
    with pytest.raises(CertificateError, match=r"level 0\.5 .* not fixed in advance"):
        verify(forged(certificate))


def test_a_fixed_width_must_be_earned():
    certificate = copy.deepcopy(CERTIFICATES["paper"])
    for phase in certificate["evidence"]["phases"]:
        phase["threshold"] /= 10
        widths = phase["dropped"]["width"]
        widths[:] = [width / 10 for width in widths]
    with pytest.raises(CertificateError, match=r"threshold 0\.0125 were not fixed in advance"):
        verify(forged(certificate))


def test_nothing_follows_about_directions_that_were_not_measured():
    certificate = copy.deepcopy(CERTIFICATES["paper"])
    for batch in certificate["batches"]:
        certificate["claim"]["samples"] -= batch["counts"].pop()
        batch["arms"].pop()
        batch["sums"].pop()
    with pytest.raises(CertificateError, match=r"does not beat|data give"):
        verify(forged(certificate))


def test_a_noise_scale_is_taken_at_its_word():
    """What cannot be checked, and is documented so: noise made smaller, and all widths with it."""
    certificate = copy.deepcopy(CERTIFICATES["pac"])
    certificate["problem"]["noise"] /= 2
    with pytest.raises(CertificateError, match="width"):
        verify(forged(certificate))
    for phase in certificate["evidence"]["phases"]:
        widths = phase["dropped"]["width"]
        widths[:] = [width / 2 for width in widths]
    assert verify(forged(certificate))


def test_the_same_candidate_cannot_be_dropped_twice_nor_by_one_that_is_gone():
    certificate = CERTIFICATES["pac"]
    phases = certificate["evidence"]["phases"]
    early = next(p["dropped"] for p in phases if drops(p))
    late = phases[-1]["dropped"]
    twice = copy.deepcopy(certificate)
    for column in twice["evidence"]["phases"][-1]["dropped"].values():
        column.append(column[-1])
    with pytest.raises(CertificateError, match=f"drops {late['candidate'][-1]} twice"):
        verify(forged(twice))
    for gone in (early["candidate"][0], -1, 6):
        for column in ("candidate", "by"):
            absent = copy.deepcopy(certificate)
            absent["evidence"]["phases"][-1]["dropped"][column][-1] = gone
            with pytest.raises(CertificateError, match="compares absent candidates"):
                verify(forged(absent))
    ragged = copy.deepcopy(certificate)
    ragged["evidence"]["phases"][-1]["dropped"]["gap"].pop()
    assert refused(forged(ragged))


# -- rounding ------------------------------------------------------------------------------
@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9, 1e12, -1e12])
def test_large_means_are_no_reason_to_refuse(offset):
    arms = np.c_[np.ones(6), ARMS]
    certificate = certified(sp.Problem(arms, noise=1.0), arms @ [offset, 3.0, -2.0], Peleg(0.1))
    assert verify(certificate)


def test_many_candidates_and_their_copies_are_counted_alike():
    """The verifier and the problem must agree on who is who, rounding included."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(300, 2)), 3, axis=0)
    rows *= 1 + rng.integers(-1, 2, size=rows.shape) * 1e-15
    rows = rows[rng.permutation(len(rows))]
    problem = sp.Problem(rows, noise=1.0)
    assert len(problem.distinct) == 300
    certificate = certified(problem, rows @ [1.0, 0.5], Peleg(0.1, epsilon=0.5))
    assert verify(certificate)


# -- independence --------------------------------------------------------------------------
def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module or ""


VERIFIER = sorted((SOURCE / "verifier").rglob("*.py"))


@pytest.mark.parametrize("path", VERIFIER, ids=lambda p: p.name)
def test_the_verifier_needs_numpy_and_scipy_only(path):
    """Which modules of surepick it may import is a contract in pyproject.toml."""
    for name in imports(path):
        top = name.split(".")[0]
        assert top in sys.stdlib_module_names or top in ("numpy", "scipy", "surepick"), name


def test_the_verifier_works_without_the_rest_of_the_package(tmp_path):
    """errors and the files of the verifier alone, in a package of their own."""
    package = tmp_path / "surepick"
    package.mkdir()
    (package / "__init__.py").write_text("")
    shutil.copy(SOURCE / "errors.py", package)
    shutil.copytree(SOURCE / "verifier", package / "verifier")
    (tmp_path / "all.json").write_text(json.dumps(dict(CERTIFICATES)))
    code = """
import json, sys
from surepick.verifier.verify import verify
for name, certificate in json.load(open("all.json")).items():
    print(name, verify(certificate).risk)
print(sorted(m for m in sys.modules if m.startswith("surepick")))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    *lines, modules = done.stdout.splitlines()
    assert lines == [f"{name} {verify(c).risk}" for name, c in CERTIFICATES.items()]
    assert "algorithms" not in modules
    assert "problem" not in modules
