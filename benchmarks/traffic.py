"""A simulated site: visitors and days until the best of 46 items is known, and how often it is not.

100,000 visitors a day, δ = 0.05; an item within ε = 0.2 points of the best will do. The site has 40
days. Rates are those of the weakest day of the week, and up to 1.5 times as high on others.

- clear: the best item has 1.5 %, the next 1.1 %, the others 0.2 to 0.75 %;
- close: the best has 1.5 %, five have 1.25 %, the others 0.2 to 0.75 %.

Ways to run it:

- surepick: traffic in shares, with yes/no bets; reported hourly or daily, the first report dealt
  into two. Counted are visitors until it is decided; the answer of a study then waits until later
  reports show the same, and those visitors are in a column of their own;
- whole reports: the same daily, with nothing dealt, as it was before: after a first hour;
- σ = ½: hourly with the scale that every yes/no reward has at most;
- A/B/n: uniform traffic for a number of visitors fixed in advance, z-tests with Bonferroni over the
  others, 80 % power against the lead that the best really has (which one would have to know);
- asymptotic: uniform traffic, daily confidence sequences that hold in the limit of many visitors
  (see benchmarks.yes_no) at δ/(K − 1), until nobody may be more than ε better than the leader;
- Thompson: shares are the posterior probabilities of being the best (β priors), daily; stopped when
  one has 0.95, or is within ε of all with 0.95.

An answer is wrong if it is more than ε worse than the best; the A/B/n test may name nobody.

*Ties.* Two best at 1.5 %, one close at 1.4 %, three at 0.5 to 0.9 %, ε = 0, 20,000 visitors a day,
40 days at most: an answer is wrong if it is none of the two best. And whoever names one of the two
says more than is there: they are alike.

*Rules broken.* Ten items tied at 5 %, δ = 0.2, 2,000 visitors a day for 40 days: how often the
first was ruled out, by the rules and against each of them; reports are whole, but in one row.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.traffic --trials 200 --ties 100
"""

from __future__ import annotations

import math
import time
import zlib
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table
from benchmarks.yes_no import bound, tightest_at
from scipy.special import ndtri

import surepick as sp
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.arrays.types import FloatArray, IntArray
from surepick.bench.summary import clopper_pearson
from surepick.run.report import tell_report
from surepick.run.sharing import Sharing
from surepick.run.waiting import Waiting

DELTA, EPSILON, POWER = 0.05, 0.002, 0.8
DAY, DAYS, HOURS = 100_000, 40, 24
ITEMS = 46
WEEK = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.2)
INSTANCES = ("clear", "close")
WAYS = (
    "surepick, hourly",
    "surepick, daily",
    "whole reports",
    "σ = ½",
    "A/B/n",
    "asymptotic",
    "Thompson",
)
TIES = np.array([0.015, 0.015, 0.014, 0.009, 0.007, 0.005])
TIES_DAY, TIES_WAYS = 20_000, ("surepick, daily", "Thompson")
CONFIDENCE = 0.999
CHUNK = 10
DRAWS = 1_000  # of the posterior
DELTA_TIES, TIED, RATE, VISITORS, MORNINGS = 0.2, 10, 0.05, 2_000, 40
RULES = (
    "by the rules",
    "periods closed as soon as the first looks bad",
    "periods kept open until the first looks bad",
    "every visitor counted four times",
    "conversions booked on the day they happen",
)
DEALT = "by the rules, the first report dealt"
LOOKS = 20  # a day, at a period that is closed by how it looks
# How bad that is, in standard errors, and after how many days it is closed at the latest. Of five
# ways to keep periods open that were tried with 30 trials each, the second did the most harm.
CLOSED = {RULES[1]: (0.0, 1), RULES[2]: (0.5, 3)}
DELAY = 7.0  # days that a conversion takes on average


def rates_of(name: str) -> FloatArray:
    top = [0.015, 0.011] if name == "clear" else [0.015, *[0.0125] * 5]
    return np.concatenate([top, np.linspace(0.002, 0.0075, ITEMS - len(top))])


def measure(task: tuple[str, str, int, int, int]) -> dict[str, Any]:
    """Visitors that some trials of one way took, and what came out: right, wrong, or nothing."""
    way, name, first, count, seed = task
    started, visitors, standing, outcomes = time.process_time(), [], [], []
    for i in range(first, first + count):
        key = zlib.crc32(f"{way} {name}".encode())
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key, i)))
        if way in (*RULES, DEALT):
            outcomes.append(broken(way, rng))
            continue
        if name == "ties":
            outcomes.append(tied(way, rng))
            continue
        taken, answer, stands = _once(way, rates_of(name), rng)
        visitors.append(taken)
        standing.append(stands)
        right = answer is not None and rates_of(name)[answer] >= 0.015 - EPSILON
        outcomes.append("none" if answer is None else "right" if right else "wrong")
    seconds = round(time.process_time() - started, 2)
    found = {"visitors": visitors, "outcomes": outcomes, "seconds": seconds}
    return found | ({"standing": standing} if any(standing) else {})


def _once(
    way: str, rates: FloatArray, rng: np.random.Generator
) -> tuple[int, int | None, int | None]:
    """Visitors until an answer, the answer, and visitors until it stood, where it waits."""
    if way == "A/B/n":
        return *fixed(rates, rng), None
    if way == "asymptotic":
        return *asymptotic(rates, rng), None
    if way == "Thompson":
        return *thompson(rates, rng), None
    return by_shares(way, rates, rng)


def by_shares(
    way: str, rates: FloatArray, rng: np.random.Generator
) -> tuple[int, int | None, int | None]:
    """Shares and reports, as a study of traffic has them."""
    noise = 0.5 if way == "σ = ½" else "yes-no"
    problem = sp.Problem.unstructured(len(rates), noise=noise)
    run = sp.algorithms.PooledPeleg(DELTA, epsilon=EPSILON).start(problem)
    deals, hourly = way.startswith("surepick"), way in ("surepick, hourly", "σ = ½")
    deal = str(rng.integers(2**63)) if deals else None
    run.waits = Waiting() if deals else None
    shares, hour, decided = None, 0, None
    while not run.stopped and hour < DAYS * HOURS:
        shares = Sharing().shares(run, shares)
        hours = 1 if hourly else HOURS
        if way == "whole reports" and hour < 2:
            hours = 1 if hour == 0 else HOURS - 1
        counts, hits = np.zeros((2, len(rates)), dtype=np.int64)
        for _ in range(hours):
            came = rng.multinomial(DAY // HOURS, shares)
            counts += came
            hits += rng.binomial(came, rates * WEEK[hour // HOURS % 7])
            hour += 1
        _report(run, counts, hits, deal)
        if decided is None and run.state.finished:
            decided = run.samples, run.state.leader()
    taken, answer = decided or (run.samples, None)
    return taken, answer, run.samples if deals else None


def _report(
    run: Any, counts: IntArray, hits: IntArray | FloatArray, deal: str | None = None
) -> None:
    pulls = Pulls.from_counts(counts)
    tell_report(run, ToldPulls(pulls, hits[pulls.arms].astype(np.float64)), deal=deal)


def tied(way: str, rng: np.random.Generator) -> str:
    """Two equal best and one close: who is named, if anybody."""
    k = len(TIES)
    deal = str(rng.integers(2**63))
    run = sp.algorithms.PooledPeleg(DELTA).start(sp.Problem.unstructured(k, noise="yes-no"))
    shares, named = None, None
    seen, all_hits = np.zeros(k), np.zeros(k)
    posterior = np.full(k, 1.0 / k)
    for day in range(DAYS):
        shares = posterior if way == "Thompson" else Sharing().shares(run, shares)
        counts = rng.multinomial(TIES_DAY, shares)
        hits = rng.binomial(counts, TIES * WEEK[day % 7])
        if way == "Thompson":
            seen, all_hits = seen + counts, all_hits + hits
            drawn = rng.beta(1.0 + all_hits, 1.0 + seen - all_hits, (DRAWS, k))
            posterior = np.bincount(drawn.argmax(axis=1), minlength=k) / DRAWS
            named = int(posterior.argmax()) if posterior.max() >= 1.0 - DELTA else None
        else:
            _report(run, counts, hits, deal)
            named = run.state.leader() if run.state.finished else None
        if named is not None:
            break
    if named is None:
        return "none"
    return "one of two" if TIES[named] == TIES.max() else "wrong"


def size(rates: FloatArray) -> int:
    """Visitors of each item in a test of fixed size."""
    best, second = np.sort(rates)[::-1][:2]
    variance = best * (1.0 - best) + second * (1.0 - second)
    z = -float(ndtri(DELTA / (len(rates) - 1))) + float(ndtri(POWER))
    return math.ceil(variance * (z / (best - second)) ** 2)


def fixed(rates: FloatArray, rng: np.random.Generator) -> tuple[int, int | None]:
    """As many days as the size takes, uniformly; who beats all others, if anybody."""
    n, k, left, day = size(rates), len(rates), size(rates) * len(rates), 0
    if n * k > DAY * DAYS:
        return DAY * DAYS, None
    hits = np.zeros(k)
    while left > 0:
        each = min(DAY, left) // k
        hits += rng.binomial(max(each, 1), rates * WEEK[day % 7])
        left, day = left - max(each, 1) * k, day + 1
    seen = hits / n
    winner = int(np.argmax(seen))
    errors = np.sqrt((seen * (1 - seen) + seen[winner] * (1 - seen[winner])) / n)
    margin = -float(ndtri(DELTA / (k - 1))) * errors
    beaten = np.delete(seen[winner] - seen > margin, winner)
    return n * k, winner if beaten.all() else None


def asymptotic(rates: FloatArray, rng: np.random.Generator) -> tuple[int, int | None]:
    """Uniform traffic and pairwise sequences, until nobody may be more than ε better."""
    k = len(rates)
    level = DELTA / (k - 1)
    rho2 = tightest_at(2.0 * 0.0125 * 10 * DAY / k, level)  # best after some ten days
    counts, hits = np.zeros(k), np.zeros(k)
    for day in range(DAYS):
        came = rng.multinomial(DAY, np.full(k, 1.0 / k))
        hits += rng.binomial(came, rates * WEEK[day % 7])
        counts += came
        seen = hits / counts
        top, n = int(np.argmax(seen)), counts.min()
        variance = n * (seen * (1 - seen) + seen[top] * (1 - seen[top]))
        could = seen - seen[top] + bound(variance, rho2, level) / n
        if (np.delete(could, top) <= EPSILON).all():
            return int(counts.sum()), top
    return DAY * DAYS, None


def thompson(rates: FloatArray, rng: np.random.Generator) -> tuple[int, int | None]:
    """Shares are probabilities of being the best."""
    k = len(rates)
    shares, counts, hits = np.full(k, 1.0 / k), np.zeros(k), np.zeros(k)
    for day in range(DAYS):
        came = rng.multinomial(DAY, shares)
        hits += rng.binomial(came, rates * WEEK[day % 7])
        counts += came
        drawn = rng.beta(1.0 + hits, 1.0 + counts - hits, (DRAWS, k))
        top = drawn.max(axis=1)
        close = (drawn >= top[:, None] - EPSILON).mean(axis=0)
        if close.max() >= 1.0 - DELTA:
            return int(counts.sum()), int(np.argmax(close))
        shares = np.bincount(drawn.argmax(axis=1), minlength=k) / DRAWS
    return DAY * DAYS, None


# -- rules broken ------------------------------------------------------------------------------
def broken(rule: str, rng: np.random.Generator) -> str:
    """Ten tied items; whether the first was ruled out."""
    problem = sp.Problem.unstructured(TIED, noise="yes-no")
    run = sp.algorithms.PooledPeleg(DELTA_TIES).start(problem)
    deal = str(rng.integers(2**63)) if rule == DEALT else None
    shares, late, day = None, np.zeros((MORNINGS + 1_000, TIED)), -1
    while run.samples < MORNINGS * VISITORS and not run.stopped and 0 in run.active:
        day += 1
        shares = Sharing().shares(run, shares)
        counts, hits = _period(rule, shares, rng)
        if rule == RULES[4]:
            for arm in range(TIED):
                after = rng.geometric(1.0 / DELAY, hits[arm])
                np.add.at(late[:, arm], day + after, 1.0)
            hits = np.minimum(late[day], counts)
        _report(run, counts, hits, deal)
    return "right" if 0 in run.active else "wrong"


def _period(rule: str, shares: FloatArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    if rule in CLOSED:
        return _closed(shares, rng, *CLOSED[rule])
    times = 4 if rule == RULES[3] else 1
    counts = rng.multinomial(VISITORS // times, shares)
    return times * counts, times * rng.binomial(counts, RATE)


def _closed(
    shares: FloatArray, rng: np.random.Generator, bad: float, days: int
) -> tuple[IntArray, IntArray]:
    """A period that ends when the first is so many standard errors behind the others."""
    counts, hits = np.zeros((2, TIED), dtype=np.int64)
    for _ in range(LOOKS * days):
        came = rng.multinomial(VISITORS // LOOKS, shares)
        counts, hits = counts + came, hits + rng.binomial(came, RATE)
        own, others = counts[0], counts[1:].sum()
        if own and others:
            rate = hits.sum() / counts.sum()
            error = math.sqrt(rate * (1.0 - rate) * (1.0 / own + 1.0 / others))
            if hits[0] / own - hits[1:].sum() / others < -bad * error:
                break
    return counts, hits


# -- tables ------------------------------------------------------------------------------------
def tasks(trials: int, ties: int, seed: int) -> dict[str, tuple[str, str, int, int, int]]:
    found = {}
    for name in INSTANCES:
        for way in WAYS:
            for first, count in chunks(trials_of(way, trials), CHUNK):
                found[f"{way} | {name} | {first} | {count}"] = (way, name, first, count, seed)
    for way in TIES_WAYS:
        for first, count in chunks(trials, CHUNK):
            found[f"{way} | ties | {first} | {count}"] = (way, "ties", first, count, seed)
    for rule in (*RULES, DEALT):
        for first, count in chunks(ties, CHUNK):
            found[f"{rule} | tied | {first} | {count}"] = (rule, "tied", first, count, seed)
    return found


def trials_of(way: str, trials: int) -> int:
    """σ = ½ takes millions of visitors, hour by hour: a fifth of the trials has to do."""
    return max(trials // 5, 1) if way == "σ = ½" else trials


def gathered(parts: dict[str, Any]) -> dict[tuple[str, str], dict[str, list[Any]]]:
    cells: dict[tuple[str, str], dict[str, list[Any]]] = {}
    for key, part in parts.items():
        way, name = key.split(" | ")[:2]
        cell = cells.setdefault((way, name), {"visitors": [], "outcomes": [], "standing": []})
        cell["visitors"] += part["visitors"]
        cell["standing"] += part.get("standing", [])
        cell["outcomes"] += part["outcomes"]
    return cells


def report(parts: dict[str, Any], trials: int, ties: int) -> str:
    cells = gathered(parts)
    rows = []
    for name in INSTANCES:
        for way in WAYS:
            cell = cells[way, name]
            visitors, nobody = np.array(cell["visitors"]), cell["outcomes"].count("none")
            rows.append(
                [
                    name,
                    way,
                    f"{visitors.mean():,.0f} ± {visitors.std() / math.sqrt(len(visitors)):,.0f}",
                    f"{np.median(visitors) / DAY:.1f}",
                    f"{np.mean(cell['standing']):,.0f}" if cell["standing"] else "",
                    f"{nobody} of {len(visitors)}",
                    *_rate(cell["outcomes"], DELTA),
                ]
            )
    head = [
        "site",
        "way",
        "visitors",
        "days (median)",
        "until it stands",
        "named nobody",
        "wrong",
        "99.9 % interval",
    ]
    minutes = sum(part["seconds"] for part in parts.values()) / 60
    return "\n".join(
        [
            "# Traffic",
            "",
            f"{minutes:.0f} CPU minutes. Bold among wrong ones: the whole interval lies above δ.",
            "",
            f"## The best of {ITEMS} items, δ = {DELTA:g}, ε = {100 * EPSILON:g} points",
            "",
            f"{trials} trials of each cell ({trials_of('σ = ½', trials)} with σ = ½); means of "
            f"visitors ± one standard error. Trials that had not ended after {DAYS} days count "
            f"with all visitors of that time.",
            "",
            table(head, rows),
            "",
            f"## Ties, δ = {DELTA:g}, ε = 0",
            "",
            f"Rates of {', '.join(f'{100 * rate:g} %' for rate in TIES)}; {TIES_DAY:,} visitors a "
            f"day, {DAYS} days at most; {trials} trials of each. The two best are alike: who names "
            "one of them says more than there is, with probability δ for each of them at most if "
            "the promise holds.",
            "",
            table(
                ["way", "named another", "named one of the two best", "named nobody"],
                [
                    [way, *(f"{outcomes.count(one)}" for one in ("wrong", "one of two", "none"))]
                    for way in TIES_WAYS
                    for outcomes in [cells[way, "ties"]["outcomes"]]
                ],
            ),
            "",
            f"## Rules broken, δ = {DELTA_TIES:g}",
            "",
            f"{TIED} tied items, {ties} trials of each: how often the first was ruled out.",
            "",
            table(
                ["rule", "wrong", "99.9 % interval"],
                [
                    [rule, *_rate(cells[rule, "tied"]["outcomes"], DELTA_TIES)]
                    for rule in (*RULES, DEALT)
                ],
            ),
        ]
    )


def _rate(outcomes: list[str], delta: float) -> list[str]:
    wrong, trials = outcomes.count("wrong"), len(outcomes)
    low, high = clopper_pearson(wrong, trials, CONFIDENCE)
    text = f"{wrong} of {trials}"
    return [f"**{text}**" if low > delta else text, f"{low:.3f} – {high:.3f}"]


def main() -> None:
    parser = options(__doc__.splitlines()[0], trials=200)
    parser.add_argument("--ties", type=int, default=100, help="trials of each rule")
    given = parser.parse_args()
    record = Record("traffic", {"seed": given.seed, "days": DAYS}, given)
    parts = record.fill(tasks(given.trials, given.ties, given.seed), measure)
    record.write(report(parts, given.trials, given.ties))


if __name__ == "__main__":
    main()
