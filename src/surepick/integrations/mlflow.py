"""MLflow: a study as a run, beside the runs of everything else.

All that is written is called ``surepick/…``, so that it cannot meet what else is in the run. The
study stays where it is; the run is a copy to look at, and is brought up to date by another call.
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from surepick.errors import InvalidInputError, InvalidTypeError, MissingExtraError
from surepick.report.colleague import study_page
from surepick.report.picture import draw, view
from surepick.run import Answer
from surepick.study import StudyCore

try:
    import mlflow
    from mlflow.entities import Metric, Param, Run, RunStatus, RunTag
except ImportError:
    raise MissingExtraError(
        "surepick.integrations.mlflow needs MLflow: install surepick[mlflow]"
    ) from None

_BELOW = "surepick"
_ID, _NAME = f"{_BELOW}/id", f"{_BELOW}/study"  # tags by which the run of a study is known
_OF_ANSWERS = ("answer", "guarantee", "sure")  # tags that only a finished study has
_MOST_METRICS = 1000  # that MLflow takes at once


def log_study(study: StudyCore, *, run_id: str | None = None, top: int = 15) -> Run:
    """Write a study to MLflow, or bring what was written up to date.

    Call it when the study is finished, and as often as you like before: no point of a metric is
    written twice.

    - Params: what the study was created with.
    - Metrics, over the number of measurements: how many options were still in after each batch, of
      all batches; and what is known only at the moment of a call, such as the leader's estimate.
    - Tags: the leader and, of a finished study, the answer and how sure it is.
    - Artifacts: a picture, a report for a colleague and, of a finished study, the answer and its
      certificate. Where a study goes on after it ended, with a higher limit, the run keeps these
      two until it ends again.

    Parameters
    ----------
    study
        A study in a database here, or one of a service; finished or not.
    run_id
        The run to write to. By default the one that is active; if none is, the one that an earlier
        call made for this study in the experiment that is set, or a new one there. A run that is
        not active is finished when the study is, and running until then.
    top
        Options in the picture; 0 for all.

    Returns
    -------
    The run as it is now.
    """
    if not isinstance(study, StudyCore):
        raise InvalidTypeError(
            f"study must be what create_study or load_study returns; got {study!r:.80}"
        )
    client = mlflow.MlflowClient()
    active = mlflow.active_run()
    if run_id is None:
        run_id = _run_of(study) if active is None else active.info.run_id
    run = client.get_run(run_id)
    holds = run.data.tags.get(_ID)
    if holds not in (None, _identity(study)):
        raise InvalidInputError(
            f"run {run_id} holds another study ({run.data.tags.get(_NAME)!r}): end that run, or "
            "give the run_id of another one"
        )

    status = study.status()
    answer = study.answer if status["finished"] else None
    params = {
        key: text for key, text in _params(study, status).items() if key not in run.data.params
    }
    tags = _tags(study, status, answer)
    client.log_batch(
        run_id,
        params=[Param(key, text) for key, text in params.items()],
        tags=[RunTag(key, text) for key, text in tags.items()],
    )
    for key in run.data.tags.keys() & {f"{_BELOW}/{name}" for name in _OF_ANSWERS} - tags.keys():
        client.delete_tag(run_id, key)
    new = list(_new_metrics(client, run_id, _metrics(study, status, answer)))
    for first in range(0, len(new), _MOST_METRICS):
        client.log_batch(run_id, metrics=new[first : first + _MOST_METRICS])
    with tempfile.TemporaryDirectory() as folder:
        _write_files(Path(folder), study, status, answer, top)
        client.log_artifacts(run_id, folder, _BELOW)
    if active is None or active.info.run_id != run_id:
        _set_state(client, run, RunStatus.RUNNING if answer is None else RunStatus.FINISHED)
    return client.get_run(run_id)


# -- which run ----------------------------------------------------------------------------------
def _identity(study: StudyCore) -> str:
    """An id that a study keeps wherever it is opened, and that no other study of its name has."""
    made = study.definition()
    return hashlib.sha256(f"{made['name']} {made['created']!r}".encode()).hexdigest()[:32]


def _run_of(study: StudyCore) -> str:
    identity = _identity(study)
    found: Any = mlflow.search_runs(
        filter_string=f"tags.`{_ID}` = '{identity}'",
        order_by=["attributes.start_time ASC"],  # if two made one at once, both go on with one
        max_results=1,
        output_format="list",
    )
    if found:
        return found[0].info.run_id
    with mlflow.start_run(run_name=study.name, tags={_ID: identity}) as made:
        return made.info.run_id


def _set_state(client: mlflow.MlflowClient, run: Run, state: int) -> None:
    wanted = RunStatus.to_string(state)
    if run.info.status == wanted:  # so that the time of its end stays
        return
    if state == RunStatus.FINISHED:
        client.set_terminated(run.info.run_id, wanted)
    else:
        client.update_run(run.info.run_id, status=wanted)


# -- what is written ----------------------------------------------------------------------------
def _params(study: StudyCore, status: dict[str, Any]) -> dict[str, str]:
    """What the study was created with; MLflow lets none of it change."""
    made, misfit = study.definition(), study.problem.misfit
    acts = (act for act in study.option_changes() if act.change == "added")
    came = {label for act in acts for label in act.labels}
    values = {
        "question": status["standing"]["question"],
        "algorithm": made["algorithm"],
        "delta": status["delta"],
        "epsilon": status["epsilon"],
        **made["settings"],
        "options": sum(label not in came for label in status["labels"]),
        "rewards": status["rewards"],
        "minimise": study.problem.minimise or None,
        "misfit": "any" if math.isinf(misfit) else misfit,
        "strata": study.strata,
        "seed": made["seed"],
    }
    return {
        f"{_BELOW}/{name}": value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
        if value is not None
    }


def _tags(study: StudyCore, status: dict[str, Any], answer: Answer | None) -> dict[str, str]:
    tags = {"id": _identity(study), "study": study.name}
    if status["leader"] is not None:
        tags["leader"] = status["leader"]
    if answer is not None:
        said = (_in_words(answer), answer.guarantee.kind, answer.plain)
        tags |= dict(zip(_OF_ANSWERS, said))
    return {f"{_BELOW}/{name}": text for name, text in tags.items()}


def _in_words(answer: Answer) -> str:
    if not answer.lifts:
        return ", ".join(answer.labels)
    found = answer.verdicts().items()
    return "; ".join(f"{name}: {', '.join(labels) or 'none'}" for name, labels in found)


def _metrics(
    study: StudyCore, status: dict[str, Any], answer: Answer | None
) -> Iterator[tuple[str, float, int]]:
    """Names, values and after how many measurements."""
    for row in study.history():
        yield "options_still_in", row["survivors"], row["samples"]
    known, leader = status["standing"]["columns"], status["leader_index"]
    now = {
        "measurements": status["samples"],
        "failures": sum(status["failures"]),
        "warnings": len(status["warnings"]),
        "cost": status["cost"],
        "leader_estimate": None if leader is None else known["estimate"][leader],
        "p_value": None if answer is None else answer.p_value,
    }
    for name, value in now.items():
        if value is not None and math.isfinite(value):
            yield name, value, status["samples"]


def _new_metrics(
    client: mlflow.MlflowClient, run_id: str, metrics: Iterator[tuple[str, float, int]]
) -> Iterator[Metric]:
    """Those that the run does not have: MLflow would keep the same again beside the first."""
    had: dict[str, set[tuple[int, float]]] = {}
    at = int(1000 * time.time())
    for name, value, step in metrics:
        key = f"{_BELOW}/{name}"
        if key not in had:
            history = client.get_metric_history(run_id, key)
            had[key] = {(one.step, one.value) for one in history}
        if (step, value) not in had[key]:
            yield Metric(key, value, at, step)


def _write_files(
    folder: Path, study: StudyCore, status: dict[str, Any], answer: Answer | None, top: int
) -> None:
    png = None  # as long as nothing is known
    if status["leader"] is not None:
        png = draw(view(study, top))["png"]
        (folder / "picture.png").write_bytes(png)
    (folder / "report.html").write_text(study_page(study, top, png), encoding="utf-8")
    if answer is not None:
        for name, content in (("answer", answer.to_dict()), ("certificate", answer.certificate())):
            (folder / f"{name}.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
