"""Numbers that stand for the thresholds in compiled code."""

HEURISTIC, SELF_NORMALISED, DETERMINANT, REGULARISED, ROUND_ROBIN, PAIRWISE = range(6)
