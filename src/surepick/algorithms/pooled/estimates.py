"""What is known now about every candidate, in units of the reward."""

from __future__ import annotations

import math

import numpy as np

from surepick.algorithms.base import Known
from surepick.algorithms.pooled.kinds.reading import Reading
from surepick.algorithms.pooled.questions.base import Question
from surepick.arrays.types import FloatArray
from surepick.problem import Problem


def known_of(
    problem: Problem, question: Question, reading: Reading, values: FloatArray, errors: FloatArray
) -> Known:
    """From estimates of the candidates that differ, and standard errors of their leads."""
    every = np.searchsorted(problem.distinct, problem.same_as)
    leads = question.leads()
    low, high = (np.full(len(values), end) for end in (-math.inf, math.inf))
    if leads is not None:  # x leads by so much: the one that is named by its opposite
        low, high = -leads.high, -leads.low
    shown = reading.shown(values, values[question.best] - values, errors)
    columns = [*shown, low * problem.unit, high * problem.unit]
    return Known(*(column[every] for column in columns), p_value=question.p_values()[every])
