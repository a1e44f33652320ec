"""Pull counts worked out by hand from each paper's formulas, and from the public program's.

Standard basis in d dimensions, delta = 0.1, no noise: the pulls follow from the formula beside
each number.
"""

import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms import Peleg
from surepick.algorithms.registry import get
from surepick.errors import InvalidInputError
from surepick.research.levels import LEVELS
from surepick.simulate import instances

OF_THE_PAPER = ("peleg", "rage", "lingape", "alba", "xy-static", "xy-adaptive", "lucb")


def phases(name, d, constants, n=2):
    """Lengths of the first phases when all rewards are equal: nobody is dropped."""
    run = get(name, delta=0.1, constants=constants).start(sp.Problem(np.eye(d), noise=1.0), 0)
    sizes = []
    for _ in range(n):
        batch = run.ask()
        sizes.append(batch.size)
        run.tell(batch, sums=np.zeros(d))
    return sizes


@pytest.mark.parametrize(
    ("d", "constants", "pulls"),
    [
        # rho = 2d; 8·(2^(t+1))²·rho·1.1·log(d²t²/0.1), t = 1, 2
        (2, "printed", [2078, 11434]),  # 563.2·log 40 = 2077.6, 2252.8·log 160 = 11433.4
        (5, "printed", [7775, 38905]),  # 1408·log 250 = 7774.2, 5632·log 1000 = 38904.5
        # 8·(2^(t-1))²·rho·1.1·log(2d²t²/0.1)
        (2, "program", [155, 813]),  # 35.2·log 80 = 154.2, 140.8·log 320 = 812.2
        (5, "program", [547, 2676]),  # 88·log 500 = 546.9, 352·log 2000 = 2675.5
    ],
)
def test_rage(d, constants, pulls):
    assert phases("rage", d, constants) == pulls


def test_rage_of_the_program_has_the_lengths_that_the_public_program_was_seen_to_have():
    """Its designs are solved roughly: the pulls at which its trials ended are up to 1.5 % more."""
    # (d, pulls of its first phases in sum): seen in 50 trials of each confounding-arm instance
    for d, seen in ((2, (5048, 19890, 80753)), (5, (6370, 23475, 93393)), (10, (8149, 27309))):
        instance = instances.confounding(d)
        run = get("rage", delta=0.1, constants="program").start(instance.problem)
        ends = [0]
        while ends[-1] < 0.9 * seen[-1]:
            batch = run.ask()
            ends.append(ends[-1] + batch.size)
            # the two close arms are left from early on, and stay
            theta = np.zeros(d)
            theta[0], theta[1] = 1.0, (1 - math.cos(0.1)) / math.sin(0.1)
            means = instance.problem.arms @ theta
            assert means[0] == pytest.approx(means[d])
            run.tell(batch, sums=batch.counts * means)
        for pulls in seen:
            nearest = min(ends, key=lambda end: abs(end - pulls))
            assert 0.985 * pulls <= nearest <= pulls


@pytest.mark.parametrize(
    ("d", "pulls"),
    [
        # second round (r = 1): delta_r = 6·0.1/(4pi²), delta_s = 6 delta_r/(pi²s²), c0 = 4,
        # e = 2^-s;
        # c0·(2 + (6+e)d)/e²·log(5d²/(2 delta_s))
        (2, [1677, 7771]),  # 240·log 1082.3 = 1676.9, 928·log 4329.3 = 7770.3
        (5, [4869, 21718]),  # 552·log 6764.5 = 4868.3, 2128·log 27058 = 21717.8
    ],
)
def test_alba(d, pulls):
    assert phases("alba", d, "printed") == pulls


def stop(name, gap, d=2, constants="printed"):
    instance = instances.standard(gap, d=d)
    settings = {"theta": instance.theta} if name == "xy-oracle" else {}
    run = get(name, delta=0.1, constants=constants, **settings).start(instance.problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, sums=batch.counts * instance.means)
    return run.samples


@pytest.mark.parametrize(
    ("d", "gap", "least"),
    [
        # the least n with gap >= 2√2·sqrt(2d/n·log(6n²d²/(pi²·0.1))): n = 16d·log(6.079 n²d²)/gap²
        (2, 0.5, 2406),  # 128·log(24.32·2406²) = 2402
        (2, 1.0, 502),  # 32·log(24.32·502²) = 500.1
        (5, 0.5, 7164),  # 320·log(152·7164²) = 7288
    ],
)
def test_xy_static(d, gap, least):
    exact = next(
        n
        for n in range(2, 10**5)
        if gap >= math.sqrt(8 * 2 * d / n * math.log(6 * n**2 * d**2 / (math.pi**2 * 0.1)))
    )
    assert exact == pytest.approx(least, rel=0.02)
    # cycles are whole, and looks five per cent apart
    assert exact <= stop("xy-static", gap, d) <= 1.06 * exact + d


def test_xy_static_of_the_program_looks_where_the_program_does():
    """⌈1.35⌉ + ⌈1.35³⌉ + … = 2, 5, 10, 19, 34, 62, 112 pulls, in whole cycles of two."""
    run = get("xy-static", delta=0.1, constants="program").start(sp.Problem(np.eye(2), noise=1.0))
    pulls = []
    for _ in range(7):
        batch = run.ask()
        run.tell(batch, sums=np.zeros(2))
        pulls.append(run.samples)
    assert pulls == [2, 4, 10, 18, 34, 62, 112]


@pytest.mark.parametrize(
    ("gap", "pulls"),
    [
        # after m pulls of each: gap·m/(1+m) >= (sqrt(2·log(4·(1+m)/0.1)) + 1)·sqrt(2/(1+m))
        (0.5, 446),  # m = 223: 0.49777 >= 5.264·0.09449 = 0.49742
        (1.0, 98),  # m = 49: 0.98 >= 4.899·0.2 = 0.9798
    ],
)
def test_lingape(gap, pulls):
    assert stop("lingape", gap) == stop("lingape", gap, constants="program") == pulls


def test_theorem_form_of_peleg_is_algorithm_1_with_the_ball():
    """A phase in the plainest NumPy: two arms leave two alternatives, ±λ along their difference.

    K = 2, C = 1, ‖x − x'‖² = 2, D = 2(√2 − 1)/sqrt(2 log 2) = 0.7035, r² = 8 log(4/0.5) = 16.64,
    eps = min(1, D/r)/4 = 0.0431. By symmetry both arms are pulled alike: a_y = 2/m after m pulls of
    each, and the phase ends at the first n with eps²/a_y > r²; with eps² = 0.001859 that is
    1/m + 1/m' < 0.0001117: m + m' = 35,807 or so.
    """
    D = 2 * (math.sqrt(2) - 1) / math.sqrt(2 * math.log(2))
    r2 = 8 * math.log(4 / 0.5)
    eps = min(1.0, D / math.sqrt(r2)) / 4
    n = next(n for n in range(2, 10**6) if eps**2 / (1 / (n // 2) + 1 / (n - n // 2)) > r2)
    counts = Peleg(0.5, ball=True).start(sp.Problem(np.eye(2), noise=1.0)).ask().counts
    assert counts.sum() == n
    assert abs(counts[0] - counts[1]) <= 1


def test_arms_longer_than_one_are_measured_in_units_of_the_longest():
    short = sp.Problem([[1.0], [-1.0]], noise=1.0)
    long = sp.Problem([[3.0], [-3.0]], noise=1.0)
    one, other = (Peleg(0.5, ball=True).start(problem).ask().counts for problem in (short, long))
    assert one.tolist() == other.tolist()


@pytest.mark.parametrize("name", OF_THE_PAPER)
def test_every_algorithm_of_the_paper_has_the_three_levels(name):
    assert get(name, delta=0.1).constants == "tight"
    instance, rng = instances.standard(1.0, d=2), np.random.default_rng(3)

    def measure(arm):
        return instance.means[arm] + rng.normal()

    for level in LEVELS:
        algorithm = get(name, delta=0.1, constants=level)
        answer = sp.identify(instance.problem, measure, algorithm=algorithm)
        assert sp.verify(answer.certificate()).risk <= 0.1 * (1 + 1e-9)
    with pytest.raises(InvalidInputError, match="constants must be 'printed', 'prog"):
        get(name, delta=0.1, constants="paper")
