"""Multiplicative steps on a GPU, with PyTorch: recorded once, and played again and again.

A step is some forty small operations. Launched one by one they take longer than they compute, and
each number that the host asks for makes it wait for all of them. A CUDA graph launches all at once;
its arrays stay where they are, so tables are copied into them, with rows of zeros behind.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from surepick.arrays.backend import Backend
from surepick.arrays.cache import PlanCache
from surepick.design.large.steps import STEPS, OnHost, Steps, narrow, one_step, too_close

_TOGETHER = 5  # steps in a recording
_ROWS = 1024  # tables are as long as a multiple of this, so that a few recordings do
_RECORDINGS = PlanCache(16)


def recorded_steps(
    b: Backend, table: tuple[Any, Any], start: tuple[Any, Any], speed: float, tol: float
) -> Steps:
    """As :func:`~surepick.design.large.steps.multiplicative_steps`."""
    arms, directions = (_ROWS * math.ceil(len(rows) / _ROWS) for rows in table)
    key = arms, directions, table[0].shape[1], table[0].device
    recording = _RECORDINGS.get(key, lambda: Recording(b, *key))
    with recording.lock:
        return recording.play(table, start, speed, tol)


class Recording:
    """Some steps for tables of up to so many arms and directions."""

    def __init__(self, b: Backend, arms: int, directions: int, dim: int, device: Any) -> None:
        self.lock = threading.Lock()
        self._b, self._torch = b, _torch()

        def zeros(*shape: int) -> Any:
            return self._torch.zeros(shape, dtype=self._torch.float64, device=device)

        self._x, self._y = zeros(arms, dim), zeros(directions, dim)
        self._w, self._chosen, self._total = zeros(arms), zeros(arms), zeros(arms)
        self._q, self._told = zeros(directions), zeros(directions)
        self._normals = zeros(directions, dim)
        self._speed, self._upper, self._lower, self._failed = (zeros() for _ in range(4))
        self._algebra = _OnDevice(b, dim, self._failed)
        self._graph = self._record() if device.type == "cuda" else None

    def _record(self) -> Any:
        cuda, eye = self._torch.cuda, self._algebra.eye
        self._x[: len(eye)], self._y[: len(eye)] = eye, eye  # anything that can be factored
        self._w.fill_(1.0)
        self._q.fill_(1.0)
        aside = cuda.Stream()
        aside.wait_stream(cuda.current_stream())
        with cuda.stream(aside):  # libraries set themselves up in their first calls
            self._steps()
        cuda.current_stream().wait_stream(aside)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            self._steps()
        return graph

    def play(
        self, table: tuple[Any, Any], start: tuple[Any, Any], speed: float, tol: float
    ) -> Steps:
        """Steps until the bracket is narrow enough."""
        arms, directions = len(table[0]), len(table[1])
        for ours, given in zip((self._x, self._y, self._w, self._q), (*table, *start), strict=True):
            ours.zero_()
            ours[: len(given)] = given
        for ours in (self._total, self._told, self._normals, self._lower, self._failed):
            ours.zero_()
        self._speed.fill_(speed)
        self._upper.fill_(math.inf)
        upper, lower = math.inf, 0.0
        for _ in range(0, STEPS, _TOGETHER):
            if self._graph is None:
                self._steps()
            else:
                self._graph.replay()
            said = self._torch.stack((self._upper, self._lower, self._failed))
            upper, lower, failed = said.tolist()
            if failed:
                raise too_close()
            if narrow(upper, lower, tol):
                break
        w, q, total = self._w[:arms], self._q[:directions], self._total[:arms]
        told, normals = self._told[:directions].clone(), self._normals[:directions].clone()
        found = self._chosen[:arms].clone(), upper, lower, total / total.sum()
        return Steps(w / w.sum(), q / q.sum(), *found, told, normals)

    def _steps(self) -> None:
        for _ in range(_TOGETHER):
            w, q = self._w, self._q
            done = one_step(self._b, self._algebra, (self._x, self._y), (w, q), self._speed)
            self._told += done.told
            self._normals += done.normals
            self._total += w
            self._chosen.copy_(self._torch.where(done.worst < self._upper, w, self._chosen))
            self._upper.copy_(self._torch.minimum(self._upper, done.worst))
            self._lower.copy_(self._torch.maximum(self._lower, done.bound))
            w.copy_(done.w)
            q.copy_(done.q)


class _OnDevice(OnHost):
    """Factorisations without asking anything of the device; ``failed`` says whether one did."""

    def __init__(self, b: Backend, dim: int, failed: Any) -> None:
        super().__init__(b)
        self.eye, self._failed = b.put(np.eye(dim)), failed

    def inverse_root(self, gram: Any) -> Any:
        linalg = self._b.xp.linalg
        lower, info = linalg.cholesky_ex(gram)
        self._failed += info
        return linalg.solve_triangular(lower, self.eye, upper=False).mT

    def gain(self, x: Any, moments: Any) -> Any:
        return ((x @ moments) * x).sum(dim=1).clamp(min=0.0)


def _torch() -> Any:
    import torch

    return torch
