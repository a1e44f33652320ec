"""Creating, finding and deleting studies."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from surepick.algorithms.base import Algorithm
from surepick.algorithms.registry import DEFAULT
from surepick.algorithms.wrappers.checked_fit import CheckedFit
from surepick.algorithms.wrappers.estimated_noise import EstimatedNoise
from surepick.arrays.validate import whole
from surepick.errors import (
    InvalidInputError,
    InvalidTypeError,
    StudyExistsError,
    UnknownStudyError,
)
from surepick.problem import Problem
from surepick.problem.tables.past import Past
from surepick.run.codec import dumps
from surepick.run.identify import configure
from surepick.storage import Storage, Transaction, open_storage
from surepick.storage.records import Progress, StudyRecord
from surepick.study.desk.rebuild import record_of
from surepick.study.past import as_past, stored, tell_stored
from surepick.study.study import Study, as_name

STORAGE = "sqlite:///surepick.db"


def create_study(
    name: str,
    problem: Problem,
    algorithm: Algorithm | str = DEFAULT,
    storage: str | Storage = STORAGE,
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    max_samples: int | None = None,
    seed: int = 0,
    meta: Mapping[str, Any] | None = None,
    noise: str | None = None,
    check_fit: float | None = None,
    past: Any = None,
    past_chosen: str | None = None,
) -> Study:
    """Start an identification that lives in a database.

    Parameters
    ----------
    name
        What the study is called there; it must not be taken.
    problem
        What can be measured and chosen.
    algorithm
        A registry name, or a configured algorithm (which then brings its own delta,
        epsilon and max_samples).
    storage
        ``memory://``, ``sqlite:///file.db`` or ``postgresql+psycopg://user@host/database``.
    delta, epsilon, max_samples
        Error probability, acceptable distance to the best, and budget.
    seed
        For algorithms that draw.
    meta
        Anything (as JSON) to be kept with the study and found again as ``study.meta``.
    noise
        ``"estimate"`` where the noise scale is not known: some options are measured repeatedly
        first, and the problem's noise is only a unit. The guarantee is then approximate.
    check_fit
        Make extra measurements, so that a misfit of the linear model of this size (in units of
        the noise) would probably be noticed.
    past
        Measurements made before: a CSV or Parquet file or a DataFrame with the columns label and
        reward, or what ``surepick.problem.tables.past_measurements`` returned.
    past_chosen
        ``"in advance"`` if what was measured did not depend on rewards: then they count as
        evidence. ``"by results"`` otherwise: they only guide what is measured first.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem([[1.0], [2.0]], labels=["one", "two"])
    >>> study = sp.create_study("doctest", problem, "peleg", "memory://")
    >>> while not study.finished:
    ...     for pull in study.ask(8):
    ...         _ = study.tell(pull.id, 1.0 if pull.label == "two" else 0.0)
    >>> study.answer.label
    'two'
    """
    as_name(name, "name")
    if not isinstance(problem, Problem):
        raise InvalidTypeError(f"problem must be a surepick.Problem; got {problem!r:.80}")
    if not problem.backend.plain:  # any machine may go on with a study
        problem = Problem.from_dict(problem.to_dict())
    algorithm = configure(algorithm, delta, epsilon, max_samples)
    if noise is not None:
        algorithm = with_pilot(algorithm, noise)
    if check_fit is not None:
        algorithm = with_checks(algorithm, check_fit)
    known = as_past(problem, past, past_chosen)
    seed = whole(seed, "seed")
    if seed >= 2**63:
        raise InvalidInputError(f"seed must be below 2**63; got {seed}")
    record = StudyRecord(
        id=0,
        name=name,
        key=uuid.uuid4().hex,
        algorithm=algorithm.registered_name(),
        settings=dumps(algorithm.settings()),
        problem=dumps(problem.to_dict()),
        seed=seed,
        meta=_as_json(meta or {}),
    )
    with _opened(storage, create=True, keep=True) as opened:
        return Study(
            opened, _create(opened, record, algorithm, problem, known), owner=opened is not storage
        )


def with_pilot(algorithm: Algorithm, noise: Any = "estimate") -> Algorithm:
    """The algorithm after a pilot that estimates the noise scale."""
    if noise != "estimate":
        raise InvalidInputError(
            f"noise must be 'estimate' or left out (a number belongs to the problem); got {noise!r}"
        )
    if isinstance(algorithm, EstimatedNoise):
        return algorithm
    shared, given = _shared(algorithm)
    if given:
        raise InvalidInputError(
            f"noise: with 'estimate', the algorithm cannot have settings of its own; it has "
            f"{', '.join(given)}"
        )
    return EstimatedNoise(inner=algorithm.registered_name(), **shared)


def with_checks(algorithm: Algorithm, size: float) -> Algorithm:
    """The algorithm with extra pulls that check the linear model."""
    shared, given = _shared(algorithm)
    return CheckedFit(inner=algorithm.registered_name(), options=given, size=size, **shared)


def _shared(algorithm: Algorithm) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of an algorithm: those that all have, and its own."""
    given = algorithm.settings()
    shared = {key: given.pop(key) for key in ("delta", "epsilon", "max_samples") if key in given}
    return shared, given


def _create(
    storage: Storage,
    record: StudyRecord,
    algorithm: Algorithm,
    problem: Problem,
    past: Past | None,
) -> StudyRecord:
    taken = StudyExistsError(f"a study called {record.name!r} exists already in {storage.url}")
    if storage.read(lambda tx: tx.find_study(record.name)) is not None:
        raise taken  # before any work is done
    run = algorithm.start(problem, record.seed)
    before = None if past is None else stored(past)
    tell_stored(run, before)
    batch = None if run.stopped else run.ask()
    text = run.to_json()

    def write(tx: Transaction) -> StudyRecord:
        there = tx.find_study(record.name)
        if there is not None:
            if there.key == record.key:  # made already; only the confirmation was lost
                return there
            raise taken
        size = 0 if batch is None else batch.size
        added = tx.add_study(record, Progress(0, 0, size, finished=batch is None))
        if batch is not None:
            tx.add_batch(added.id, record_of(batch, 0))
        if before is not None:
            tx.add_past(added.id, before)
        tx.set_snapshot(added.id, 0, text)
        return added

    return storage.write(write)


def load_study(name: str, storage: str | Storage = STORAGE) -> Study:
    """Open a study that is there, from any process.

    Examples
    --------
    >>> import surepick as sp
    >>> _ = sp.create_study("shared", sp.Problem([[1.0], [2.0]]), "peleg", "memory://")
    >>> sp.load_study("shared", "memory://").finished
    False
    """
    as_name(name, "name")
    with _opened(storage, keep=True) as opened:
        return Study(opened, _find(opened, name), owner=opened is not storage)


def list_studies(storage: str | Storage = STORAGE) -> list[str]:
    """The names of all studies, in the order of their creation.

    Examples
    --------
    >>> import surepick as sp
    >>> _ = sp.create_study("one", sp.Problem([[1.0], [2.0]]), storage="memory://list")
    >>> list_studies("memory://list")
    ['one']
    """
    with _opened(storage) as opened:
        return [study.name for study in opened.read(lambda tx: tx.studies())]


def delete_study(name: str, storage: str | Storage = STORAGE) -> None:
    """Delete a study with everything that was measured for it.

    Examples
    --------
    >>> import surepick as sp
    >>> _ = sp.create_study("one", sp.Problem([[1.0], [2.0]]), storage="memory://delete")
    >>> delete_study("one", "memory://delete")
    >>> list_studies("memory://delete")
    []
    """
    with _opened(storage) as opened:
        study = _find(opened, name)

        def write(tx: Transaction) -> None:
            if tx.find_progress(study.id, lock=True) is not None:
                tx.remove_study(study.id)

        opened.write(write)


@contextmanager
def _opened(
    storage: str | Storage, *, create: bool = False, keep: bool = False
) -> Iterator[Storage]:
    """A storage, closed again at the end (with ``keep``: only on an error).

    One that was open before is left open.
    """
    if isinstance(storage, Storage):
        yield storage
        return
    opened = open_storage(storage, create=create)
    try:
        yield opened
    except BaseException:
        opened.close()
        raise
    if not keep:
        opened.close()


def _find(storage: Storage, name: str) -> StudyRecord:
    found = storage.read(lambda tx: tx.find_study(name))
    if found is not None:
        return found
    known = [study.name for study in storage.read(lambda tx: tx.studies())]
    there = f"there are: {', '.join(known[:20])}" if known else "there are none"
    raise UnknownStudyError(f"no study is called {name!r} in {storage.url}; {there}")


def _as_json(meta: Any) -> str:
    if not isinstance(meta, Mapping):
        raise InvalidTypeError(f"meta must be a dict; got {meta!r:.80}")
    try:
        return json.dumps(dict(meta), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"meta must be what JSON can hold: {error}") from None
