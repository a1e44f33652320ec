"""A study at a glance: where it stands, what the checks say, what lies ahead."""

from __future__ import annotations

from typing import Any

from surepick.study.outlook import outlook
from surepick.study.study import Study


def look(study: Study) -> dict[str, Any]:
    """Where the study stands, with the checks and the outlook, as JSON-ready values."""
    run, problem = study.run, study.problem
    ahead, distinct = outlook(run), len(problem.distinct)
    return {
        **study.status(),
        "labels": list(problem.labels),
        # None where it says nothing: candidates that are the arms, options that all differ
        "candidate_labels": list(problem.candidate_labels) if problem.transductive else None,
        "same_as": problem.same_as.tolist() if distinct < len(problem.same_as) else None,
        "options": distinct,
        "leader_index": int(run.state.leader()) if run.batches or run.past else None,
        "behind": None if ahead is None else ahead.behind.tolist(),
        "standard_error": None if ahead is None else ahead.error.tolist(),
        "evidence": None if ahead is None or ahead.evidence is None else ahead.evidence.tolist(),
        "pulls_left": None if ahead is None else ahead.pulls_left,
    }
