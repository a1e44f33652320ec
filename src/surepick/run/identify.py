"""The whole identification in one call, given a function that measures."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from surepick.algorithms import combinations
from surepick.algorithms.base import Algorithm
from surepick.algorithms.registry import DEFAULT, OF_PAIRS, get, maker
from surepick.arrays import cutoffs
from surepick.arrays.types import IntArray
from surepick.calls.kept import AUTO, UNKNOWN, Kept, called, place
from surepick.calls.many import Calls
from surepick.calls.pace import Pace
from surepick.calls.versions import digest_of
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem import Problem
from surepick.problem.noise import REWARD
from surepick.run.answer import Answer
from surepick.run.assumed import ASSUMED
from surepick.run.measuring import Measuring
from surepick.run.order import seed_of
from surepick.run.run import Run
from surepick.text import plural

_log = logging.getLogger(__name__)


def identify(
    problem: Problem,
    measure: Callable[..., float] | None = None,
    delta: float = 0.05,
    *,
    measure_batch: Callable[..., Any] | None = None,
    judge: Callable[..., Any] | None = None,
    beats: str = "everyone",
    confirm: bool | None = None,
    algorithm: Algorithm | str = DEFAULT,
    epsilon: float = 0.0,
    max_samples: int | None = None,
    budget: float | None = None,
    minimise: bool | None = None,
    baseline: str | int | None = None,
    threshold: float | None = None,
    claims: str = "all",
    top: int = 1,
    quantile: float | None = None,
    guess: bool = False,
    question: Any = None,
    keep: Any = None,
    cheapest: bool = False,
    within: float | None = None,
    seed: Any = None,
    on_batch: Callable[[Run], None] | None = None,
    workers: int | None = None,
    per_minute: float | None = None,
    timeout: float | None = None,
    retries: int = 0,
    cache: str | os.PathLike[str] | None = AUTO,
) -> Answer:
    """Measure until the best candidate is known with probability at least 1 - delta.

    Or, with ``top``, until so many of the best are known; with ``quantile``, until it is known
    whose quantile is the best; with a baseline, until it is known which options are better than it
    and which are worse.

    Parameters
    ----------
    problem
        What can be measured and chosen.
    measure
        ``measure(arm) -> reward`` for one pull; ``measure(arm, item)`` where the algorithm measures
        options on items. Arms come in random order, so that none of them has the cold start, or
        the end of a long day, to itself. May be a coroutine function.
    delta, epsilon, max_samples
        Error probability, acceptable distance to the best, and the most measurements.
    budget
        The most that all measurements may cost, where the problem has costs; else the same as
        ``max_samples``.
    minimise
        Whether smaller is better: times, costs, errors. By default as the problem says, where
        larger is better if nobody says otherwise.
    measure_batch
        Instead of ``measure``: takes the array of arms of a batch (one entry per pull, in the order
        in which to measure them), and that of items where there are any, and returns one reward
        each.
    judge
        Instead of both, for a problem of pairs (:meth:`Problem.pairs`): ``judge(first, second)``
        gets the numbers of two options, in the order in which to show them, and returns 1 if the
        first is better, 0 if the second is, 0.5 for a tie; ``judge(first, second, item)`` where
        options are compared on items (``algorithms.Pairs(items=…)``). A coroutine function is
        awaited for many comparisons of a block at once.
    beats
        With pairs: ``"everyone"`` asks for the option that is preferred to every other one at
        least half of the time, ``"most"`` for the one that wins most against another at random.
    confirm
        With pairs: when one option is left, go on until it is shown that it beats everyone, or
        that nobody does (the default). With False the answer is only that no other option can beat
        everyone, and it counts as not proven.
    algorithm
        A registry name, or a configured algorithm (which then brings its own delta,
        epsilon, max_samples and budget, and its own question).
    baseline
        The option (label or number) that the others are compared with; then ``answer.better``,
        ``answer.worse`` and ``answer.undecided`` list labels, and ``answer.lifts`` has how far
        each is ahead. It ends when every option is decided, up to epsilon.
    threshold
        The same with a number in place of an option.
    claims
        How sure these claims are: ``"all"`` of them are right with probability at least
        1 - delta, or ``"fdr"``: a share of at most delta of them is wrong on average.
    top
        How many of the best to find; then ``answer.labels`` and ``answer.arms`` name them, best
        first. That they are the best is promised, their order is not. With epsilon, each of them
        is at most that much worse than the worst of the best.
    quantile
        Find the option with the best quantile of its measurements, such as 0.5 (the median) or 0.95
        (the 95th percentile); ``answer.quantiles`` has what was measured. For numbers of any kind
        (``noise="any"``).
    guess
        Make the best of ``max_samples`` or ``budget``: all of it is measured, shared out for the
        best guess at the end, unless that is proven before. ``answer.p_value`` says how sure it is.
    question
        What is asked, where none of these asks it: a question of another package, as a value or by
        its name with its fields.
    keep
        Limits that the answer has to keep, where a measurement has further numbers (``numbers`` of
        the problem): ``["latency <= 50", "refunds <= control + 0.2%"]``. ``measure`` then returns a
        dict, ``{"reward": …, "latency": …}``, and the answer is the best of those that keep all
        limits, and is shown to keep them; or that no option does. ``answer.limits`` says how each
        option stands to each of them. Options keep limits by their own measurements; features
        only guide. With ``baseline`` or ``threshold``, ``answer.better`` lists all options that are
        better and keep the limits, ``answer.ruled_out`` those that are not or do not.
    cheapest, within
        Find the cheapest option of those that are good enough: at most ``within`` below the best
        (with numbers of any kind: that no other one beats in more than ½ + ``within`` of direct
        comparisons). What options cost, the problem says (``costs``). ``epsilon`` is the tolerance.
    seed
        A whole number or a ``numpy.random.Generator``: of the order in which arms come, and of
        algorithms that draw. By default that order is drawn afresh; the certificate has it.
    on_batch
        Called with the run after every batch, for progress.
    workers
        Calls of ``measure`` or ``judge`` at a time: by default one, in this thread, or 64
        coroutines.
    per_minute
        The most calls that begin in a minute. Where a service says that there were too many (an
        error with status 429), all wait as long as it asks for, and the call is made again.
    timeout
        Seconds after which a coroutine is cancelled, and has failed.
    retries
        How often a call is tried again that failed in a way that may pass (a lost connection, a
        time-out, status 500); by default its error is raised. On a complete table a cell that fails
        for good counts as the worst score: ``answer.unmeasured`` lists them. Where it has to stop,
        ``error.partial`` is the answer so far.
    cache
        The file in which rewards are kept as they come: by default one in the folder ``.surepick``
        beside the script (in a notebook: in the current folder); None: nothing is kept. A run that
        was cut off goes on there where the same is measured in the same way; one that came to its
        end is over, and the next call measures anew.

    Notes
    -----
    Candidates that are exactly tied, and rewards that contradict the linear model, may never be
    decided. Without ``max_samples`` a warning is logged once, after 10,000 pulls per dimension.

    Examples
    --------
    >>> import surepick as sp
    >>> sp.identify(sp.Problem([[1, 0], [0, 1]]), lambda arm: 1.0 - arm).arm
    0
    >>> sp.identify(sp.Problem([[1, 0], [0, 1]]), lambda arm: 1.0 - arm, minimise=True).arm
    1
    >>> problem = sp.Problem([[1, 0, 0], [0, 1, 0], [0, 0, 1]], labels=["now", "red", "blue"])
    >>> sp.identify(problem, lambda arm: [5.0, 6.0, 4.0][arm], top=2).labels
    ('red', 'now')
    >>> answer = sp.identify(problem, lambda arm: [5.0, 6.0, 4.0][arm], baseline="now")
    >>> answer.better, answer.worse
    (('red',), ('blue',))
    """
    pairing = problem.pairing if isinstance(problem, Problem) else None
    if pairing is None:
        if judge is not None or beats != "everyone" or confirm is not None:
            raise InvalidInputError(
                "judge, beats and confirm are for options that are compared two at a time; make "
                "the problem with surepick.Problem.pairs(labels)"
            )
        if (measure is None) == (measure_batch is None):
            raise InvalidInputError(
                "give either measure (one pull) or measure_batch (a whole batch)"
            )
    elif judge is None or measure is not None or measure_batch is not None:
        raise InvalidInputError(
            "judge: options are compared two at a time here; give judge(first, second), which "
            "returns 1 (the first is better), 0 (the second is) or 0.5 (a tie), and nothing else"
        )
    functions = {"measure": measure, "measure_batch": measure_batch, "judge": judge}
    for name, given in functions.items():
        if given is not None and not callable(given):
            raise InvalidTypeError(f"{name} must be a function; got {given!r:.80}")
    if minimise is not None:
        problem = problem.with_direction(minimise)
    if keep is not None and problem.rank < problem.n_arms and not problem.transductive:
        problem = problem.guided()
    asked = (baseline, threshold, claims, top, quantile, guess, question, keep, cheapest)
    settings = dict(zip(BEST, (*asked, within), strict=True))
    if pairing is not None and (isinstance(algorithm, str) or unusual(settings)):
        algorithm = of_pairs(algorithm, settings, beats=beats, confirm=confirm)(
            delta=delta, epsilon=epsilon, max_samples=max_samples, budget=budget
        )
        settings, delta, epsilon, max_samples, budget = {}, 0.05, 0.0, None, None
    configured = configure(algorithm, delta, epsilon, max_samples, settings, budget)
    function = next(filter(None, functions.values()))
    kept, seed = _kept(configured, problem, function, cache, seed)
    run = configured.start(problem, seed)
    limited = (run.algorithm.max_samples, run.algorithm.budget) != (None, None)
    warned = limited or run.algorithm.ends
    in_batches = measure_batch is not None
    new: dict[Any, Any] = {}  # what came in a batch and is to be kept
    calls = Calls(
        function,
        pace=Pace(per_minute),
        workers=workers,
        timeout=timeout,
        retries=retries,
        kept=None if in_batches else kept,
        read=(lambda value: value) if in_batches else partial(_read, problem),
    )

    def long() -> bool:
        nonlocal warned
        if not warned and run.samples >= cutoffs.LONG_RUN * problem.rank:
            warned = True
            _log.warning(_doubts(run))
        return False

    def measured(arms: IntArray, items: IntArray | None) -> Any:
        nonlocal new
        asked = [arms] if pairing is None else [pairing.firsts(arms), pairing.seconds(arms)]
        asked += [] if items is None else [items]
        if in_batches:
            rewards, new = _in_a_batch(calls, kept, asked)
            return rewards
        rows = [tuple(map(int, row)) for row in zip(*asked)]
        return measuring.scores(rows, arms, items, range(run.algorithm.measured_on() or 0))

    def told() -> None:
        if kept is not None:
            for key, one in new.items():
                kept.put(key, one)
        if on_batch is not None:
            on_batch(run)

    measuring = Measuring(run, lambda answer: answer, calls, kept)
    with kept or nullcontext(), calls, measuring:
        measuring.go(measured, until=long, told=told)
        return measuring.end(over=lambda _: True)


def _kept(
    algorithm: Algorithm, problem: Problem, function: Any, cache: Any, seed: Any
) -> tuple[Kept | None, Any]:
    """What is kept of a run that was cut off, and its seed; nothing where nothing is kept."""
    path = place(cache, f"identify-{called(function)}")
    if path is None:
        return None, seed
    own = {k: v for k, v in algorithm.settings().items() if k not in ("max_samples", "budget")}
    what = problem.reference() if problem.by_reference else problem.to_dict()
    given = seed if isinstance(seed, int) else None
    kept = Kept(
        path,
        "identify",
        functions={"": function},
        columns=("option", "item") if problem.pairing is None else ("first", "second", "item"),
        labels=() if problem.by_reference else problem.labels,
        asked=[algorithm.registered_name(), digest_of([own, what]), given],
        fixed=False,
        auto=cache == AUTO,
        light=True,
    )
    begun = kept.begun or {"seed": seed_of(seed)}
    kept.begin(begun)
    return kept, begun["seed"]


def _read(problem: Problem, value: Any) -> Any:
    if not isinstance(value, Mapping):
        return problem.noise_kind.score(value)
    kinds = {REWARD: problem.noise_kind, **problem.numbers}
    return {name: kinds[name].score(one) if name in kinds else one for name, one in value.items()}


def _in_a_batch(
    calls: Calls, kept: Kept | None, columns: list[IntArray]
) -> tuple[Any, dict[Any, Any]]:
    """What one call measures of many pulls, and what is to be kept; what is known is not asked."""
    keys: list[Any] = [None] * len(columns[0])
    found: list[Any] = [UNKNOWN] * len(keys)
    if kept is not None:
        keys = kept.keys([tuple(map(int, row)) for row in zip(*columns)])
        found = [kept.get(key) for key in keys]
    left = [number for number, one in enumerate(found) if one is UNKNOWN]
    if not left:
        return found, {}
    (rewards,) = calls.all([tuple(column[left] for column in columns)], fatal=True)
    if len(left) == len(keys):
        return rewards, {} if kept is None else dict(zip(keys, rewards))
    for number, one in zip(left, rewards, strict=True):
        found[number] = one
    return found, {keys[number]: found[number] for number in left}


def _doubts(run: Run) -> str:
    """Why a run may take so long, and what to do."""
    from surepick.run.diagnostics import lack_of_fit

    counts, sums = run.totals()
    scale = run.state.reward_scale()
    found = None
    linear = ASSUMED.of(run.problem.noise_kind).linear
    if isinstance(scale, float) and linear:  # with one for each arm, no single number will do
        noise = None if scale == 1.0 else scale * run.problem.unit
        found = lack_of_fit(run.problem, counts, sums, level=1e-3, noise=noise)
    wider = "a larger epsilon" if run.algorithm.epsilon > 0 else "epsilon"
    why = (
        found.message
        if found
        else f"The best ones may be tied, or nearly so. To end the run then, set {wider} (accept "
        "any candidate this close to the best) or max_samples."
    )
    return (
        f"not decided after {plural(run.samples, 'pull')}: "
        f"{plural(len(run.active), 'candidate is', 'candidates are')} still in. {why} Continuing."
    )


#: settings that say what is asked, and what they are where the question is which is best
BEST: dict[str, Any] = {
    "baseline": None,
    "threshold": None,
    "claims": "all",
    "top": 1,
    "quantile": None,
    "guess": False,
    "question": None,
    "keep": None,
    "cheapest": False,
    "within": None,
}
#: those that can be asked of options that are compared two at a time
OF_PAIRS_TOO = ("top", "baseline", "claims", "cheapest", "within")


def configure(
    algorithm: Algorithm | str,
    delta: float,
    epsilon: float,
    max_samples: int | None,
    question: dict[str, Any] | None = None,
    budget: float | None = None,
) -> Algorithm:
    """The algorithm of this name with these settings, or a configured one that has no others.

    ``question`` has settings that say what is asked.
    """
    settings = {"delta": delta, "epsilon": epsilon, "max_samples": max_samples, "budget": budget}
    asked = unusual(question or {})
    if isinstance(algorithm, str):
        if asked and not compares(algorithm):
            raise InvalidInputError(
                f"{next(iter(asked))}: {algorithm} can only find the best option; use {DEFAULT} "
                "to find several, or to compare with a baseline"
            )
        algorithm = get(algorithm, **settings, **asked)
    elif isinstance(algorithm, Algorithm):
        _check_overrides(algorithm, settings)
        if asked:
            name = next(iter(asked))
            raise InvalidInputError(f"{name}: the algorithm is configured already; set it there")
    else:
        raise InvalidTypeError(f"algorithm must be a name or an algorithm; got {algorithm!r:.80}")
    return algorithm


def of_pairs(
    algorithm: Algorithm | str, question: dict[str, Any], **settings: Any
) -> Callable[..., Algorithm]:
    """What makes the algorithm for options that are compared two at a time, asked this."""
    asked = unusual(question)
    for name in asked:
        if name in OF_PAIRS_TOO:
            continue
        if name in combinations.QUESTIONS:
            combinations.check(name, "pairs")
        raise InvalidInputError(
            f"{name}: options that are compared two at a time cannot be asked that; leave it out"
        )
    if algorithm not in (DEFAULT, OF_PAIRS):
        raise InvalidInputError(
            f"algorithm: options that are compared two at a time need {OF_PAIRS!r}; leave "
            "algorithm out"
        )
    return partial(get, OF_PAIRS, **settings, **asked)


def compares(algorithm: str) -> bool:
    """Whether the algorithm of this name can compare candidates with a baseline."""
    return "baseline" in getattr(maker(algorithm), "questions", ())


def unusual(question: dict[str, Any]) -> dict[str, Any]:
    """Settings that ask for something else than the best; not all algorithms know them."""
    return {name: value for name, value in question.items() if value != BEST[name]}


def _check_overrides(algorithm: Algorithm, settings: dict[str, Any]) -> None:
    usual = {"delta": 0.05, "epsilon": 0.0, "max_samples": None, "budget": None}
    for name, default in usual.items():
        given, brought = settings[name], getattr(algorithm, name)
        if given not in (default, brought):
            raise InvalidInputError(
                f"{name}={given!r} was given, but the algorithm has {name}={brought!r}; set it in "
                "one place"
            )
