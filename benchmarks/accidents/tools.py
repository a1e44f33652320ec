"""Inside other tools: a search in scikit-learn, the last decision of Optuna, a gate in pytest."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accidents.cells import Outcome, cell
from benchmarks.accidents.paid import _PROBES, _Stops
from benchmarks.accidents.tables import ODD
from benchmarks.accidents.worlds import ITEMS, OPTIONS, World
from tests.interrupts import hear_interrupts

LOSS = {"good": 0.1, "fair": 0.4, "poor": 0.7}


# -- scikit-learn ------------------------------------------------------------------------------
def _searched(
    rng: np.random.Generator,
    delta: float,
    world: World,
    otherwise: Callable[[], Any],
    stops: Callable[[], None],
) -> Outcome:
    from sklearn.base import BaseEstimator

    from surepick.integrations.sklearn import SureSearchCV

    class Setting(BaseEstimator):
        def __init__(self, arm: int = 0) -> None:
            self.arm = arm

        def fit(self, X: Any, y: Any) -> Any:
            return self

    def scored(fitted: Any, X: Any, y: Any) -> Any:
        stops()
        return world.call(fitted.arm, int(X[0, 0]), otherwise)

    X, y = np.arange(ITEMS, dtype=float)[:, None], np.zeros(ITEMS)
    splits = [(np.delete(np.arange(ITEMS), i), np.array([i])) for i in range(ITEMS)]
    grid, seed = {"arm": list(range(OPTIONS))}, int(rng.integers(2**31))
    with tempfile.TemporaryDirectory() as folder:
        how: dict[str, Any] = {"scoring": scored, "bounds": (0, 1), "cv": splits, "delta": delta}
        how |= {"random_state": seed, "cache": Path(folder) / "fits.jsonl"}
        found: Any = None
        for _ in range(6):
            try:
                found = SureSearchCV(Setting(), grid, **how).fit(X, y)
                break
            except KeyboardInterrupt:
                continue
        if found is None:
            return Outcome(None, blocked="it never came to an end")
        lost = SureSearchCV(Setting(), grid, **how).fit(X, y).n_fits_
    totals = world.counted().sum(axis=1)
    wrong = None
    if found.decision_:
        wrong = bool(totals[found.best_params_["arm"]] < totals.max())
    return Outcome(wrong, lost, max(0, world.repeated - _PROBES))


def _nothing() -> None:
    pass


def _put(name: str, otherwise: Callable[[], Any], **bad: int) -> None:
    @cell(name, "SureSearchCV", needs="sklearn")
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        return _searched(rng, delta, World.drawn(rng, **bad), otherwise, _nothing)


for _name in ("an exception", "NaN", "None"):
    _put(_name, ODD[_name], bad=6)
    _put(f"{_name}, of every option on some items", ODD[_name], items=4)


@cell("Ctrl-C, four times", "SureSearchCV", needs="sklearn")
def interrupted(rng: np.random.Generator, delta: float) -> Outcome:
    stops = _Stops(rng, KeyboardInterrupt)
    return _searched(rng, delta, World.drawn(rng), lambda: None, stops)


# -- Optuna ------------------------------------------------------------------------------------
def _put_optuna(name: str, error: type[BaseException]) -> None:
    @cell(name, "Optuna, final_decision", needs="optuna")
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        import optuna

        import surepick as sp
        from surepick.integrations.optuna import final_decision

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        own = np.random.default_rng(int(rng.integers(2**31)))
        stops, made = _Stops(rng, error), [0]

        def objective(trial: Any) -> float:
            loss = LOSS[trial.suggest_categorical("kind", list(LOSS))]
            return loss + 0.6 * own.normal()

        def again(trial: Any) -> float:
            stops()
            value = objective(trial)
            made[0] += 1
            return value

        sampler = optuna.samplers.RandomSampler(seed=int(rng.integers(2**31)))
        search = optuna.create_study(sampler=sampler, study_name="search")
        search.optimize(objective, n_trials=30)
        with tempfile.TemporaryDirectory() as folder:
            how: dict[str, Any] = {"storage": f"sqlite:///{folder}/kept.db", "version": "1"}
            how |= {"top": 3, "epsilon": 0.15, "delta": delta, "retries": 0}
            found: Any = None
            for _ in range(6):
                try:
                    found = final_decision(search, again, **how)
                    break
                except (KeyboardInterrupt, sp.SurepickError):
                    continue
            if found is None:
                return Outcome(None, blocked="it never came to an end")
            samples = found.answer.samples
        wrong = found.params["kind"] != "good" if found.answer.guarantee else None
        return Outcome(wrong, max(0, made[0] - samples), max(0, samples - made[0]))


_put_optuna("Ctrl-C, four times", KeyboardInterrupt)
_put_optuna("an exception, four times", ConnectionError)


# -- pytest ------------------------------------------------------------------------------------
_GATE = """
import os, random, signal
from pathlib import Path

draw = random.Random()

def called(name, rate):
    with open("calls", "a") as file:
        file.write(name + "\\n")
    number = len(Path("calls").read_text().splitlines())
    if number in SOON and not Path(f"killed {number}").exists():
        Path(f"killed {number}").touch()
        os.kill(os.getpid(), SENT)
    return draw.random() < rate

def test_gate(sure):
    new, old = (lambda: called("new", 0.9)), (lambda: called("old", 0.9))
    how = {"epsilon": 0.1, "max_calls": 3000, "noise": "yes-no", "warm_up": 0}
    sure.not_worse(new, old, delta=DELTA, **how)
"""


def _put_pytest(name: str, sent: int) -> None:
    @cell(name, "pytest, sure.not_worse, a script", chunk=2)
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        soon = sorted(set(rng.integers(5, 60, 3).tolist()))
        text = _GATE.replace("SOON", repr(soon)).replace("SENT", str(int(sent)))
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "test_gate.py").write_text(text.replace("DELTA", f"{delta}"))
            (place / "pytest.ini").write_text("[pytest]")
            words = [sys.executable, "-m", "pytest", "-q", "--junitxml=report.xml"]
            words += ["-p", "surepick.integrations.pytest_plugin"]
            how: dict[str, Any] = {"cwd": folder, "capture_output": True, "text": True}
            how["env"] = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
            how["preexec_fn"] = hear_interrupts
            for _ in range(len(soon) + 1):
                done = subprocess.run(words, **how)
                if done.returncode in (0, 1) and (place / "report.xml").exists():
                    break
            else:
                return Outcome(None, blocked=done.stdout[-150:])
            made = len((place / "calls").read_text().splitlines())
            said = (place / "report.xml").read_text()
        counted = _counted(said)  # the new one is not worse
        return Outcome(
            bool(done.returncode), max(0, made - len(soon) - counted), max(0, counted - made)
        )


def _counted(report: str) -> int:
    """Of a report: the calls of both variants that count."""
    found = re.search(r"after ([\d,]+) calls", report) or re.search(r"([\d,]+) calls", report)
    return int(found.group(1).replace(",", "")) if found else 0


_put_pytest("kill -9, three times", signal.SIGKILL)
_put_pytest("Ctrl-C, three times", signal.SIGINT)
