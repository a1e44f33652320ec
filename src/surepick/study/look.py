"""A study at a glance: where it stands, what the checks say, what lies ahead."""

from __future__ import annotations

from typing import Any

from surepick.study.checks import check_study
from surepick.study.outlook import outlook
from surepick.study.study import Study


def look(study: Study) -> dict[str, Any]:
    """Where the study stands, with the checks and the outlook, as JSON-ready values."""
    status, checks, ahead = study.status(), check_study(study), outlook(study.run)
    factor = study.run.state.noise_factor
    warnings = [*status.pop("warnings"), *checks.warnings]
    return {
        **status,
        "labels": list(study.problem.labels),
        "noise": None if factor is None else factor * study.problem.noise,
        "noise_estimated": factor != 1.0,
        "behind": None if ahead is None else ahead.behind.tolist(),
        "standard_error": None if ahead is None else ahead.error.tolist(),
        "evidence": None if ahead is None or ahead.evidence is None else ahead.evidence.tolist(),
        "pulls_left": None if ahead is None else ahead.pulls_left,
        "checks": checks.to_dict(),
        "warnings": warnings,
    }
