"""Creating, finding and deleting studies."""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from surepick.algorithms.base import Algorithm
from surepick.algorithms.registry import DEFAULT
from surepick.errors import (
    InvalidInputError,
    StudyExistsError,
    SurepickError,
    UnknownStudyError,
    listed,
)
from surepick.problem import Problem
from surepick.problem.labels import look_alikes
from surepick.run.codec import dumps
from surepick.run.order import seed_for, seed_of
from surepick.storage import Storage, Transaction, copying, open_storage
from surepick.storage.records import StudyProgress, StudyRecord, Summary
from surepick.study import chain
from surepick.study.desk.rebuild import ORDER, begin, record_of, summary_of
from surepick.study.past import stored
from surepick.study.pulls import as_name
from surepick.study.segments import segment_of
from surepick.study.settings import Prepared
from surepick.study.spec import StudySpec, described
from surepick.study.study import Study
from surepick.study.traffic.rules import DEAL, sends_traffic

STORAGE = "sqlite:///surepick.db"


def create_study(
    name: str,
    problem: Problem | None = None,
    algorithm: Algorithm | str = DEFAULT,
    storage: str | Storage = STORAGE,
    *,
    table: Any = None,
    **fields: Any,
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
    table
        Instead of a problem: a CSV or Parquet file, or a DataFrame, with a row for each option.
    **fields
        With a table, what in it describes an option (``features``, ``formula``, ``label``,
        ``unstructured``) and what a measurement of it costs (``cost``); see
        :func:`surepick.problem.tables.from_table`. And all other settings of a study, those of
        plugins too: ``delta``, ``epsilon``, ``noise``, ``misfit``, …, see
        :class:`surepick.study.StudySpec`.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem([[1.0], [2.0]], noise=1.0, labels=["one", "two"])
    >>> study = sp.create_study("doctest", problem, "peleg", "memory://")
    >>> while not study.finished:
    ...     for pull in study.ask(8):
    ...         _ = study.tell(pull.id, 1.0 if pull.label == "two" else 0.0)
    >>> study.answer.label
    'two'
    """
    spec = described(name, problem, algorithm, table, fields)
    study = store(spec, storage)
    for note in look_alikes(spec.prepared.problem.labels):
        warnings.warn(note, stacklevel=2)
    return study


def store(spec: StudySpec, storage: str | Storage = STORAGE, *, key: str | None = None) -> Study:
    """Start the study that a spec describes.

    Parameters
    ----------
    spec
        What the study is to be.
    storage
        See :func:`surepick.create_study`.
    key
        A text of the caller's own: asked for again with the same one, this is the study that was
        made the first time, and no error.

    Examples
    --------
    >>> from surepick.study import OptionTable, Sheet, StudySpec, store
    >>> table = OptionTable(Sheet(csv="label,size\\na,1\\nb,2\\n"))
    >>> store(StudySpec(name="sizes", table=table), "memory://").problem.labels
    ('a', 'b')
    """
    record, made = _described_as(spec, None if key is None else _digest(key))
    with _opened(storage, create=True, keep=True) as opened:
        found = opened.read(lambda tx: _known(tx, record, opened))
        if found is None:  # else an earlier call made it: nothing has to be worked out
            found = opened.write(_beginning(opened, record, made))
        return Study(opened, found, owner=opened is not storage)


def store_each(
    spec: StudySpec, storage: str | Storage = STORAGE, *, key: str | None = None
) -> dict[str, Study]:
    """Start a study for each segment of a spec whose segments have no shares: all, or none.

    A storage that was opened here is closed with the first study.
    """
    if not spec.each:
        raise InvalidInputError(
            "segments: name the segments, without shares, that each get an answer ('phone,desk')"
        )
    keys = [None if key is None else _digest(f"{key}/{one.name}") for one in spec.each]
    made = [_described_as(one, own) for one, own in zip(spec.each, keys, strict=True)]
    with _opened(storage, create=True, keep=True) as opened:
        begin = [_beginning(opened, *one) for one in made]

        def write(tx: Transaction) -> list[StudyRecord]:
            if tx.find_study(spec.name) is not None:
                raise _taken(spec.name, opened)
            return [one(tx) for one in begin]

        records, own = opened.write(write), opened is not storage
        studies = [Study(opened, one, owner=own and not i) for i, one in enumerate(records)]
        return dict(zip(spec.segments, studies, strict=True))


def _described_as(spec: StudySpec, key: str | None) -> tuple[StudyRecord, Prepared]:
    """The record of a new study, and what its spec came to."""
    with refusing_extremes():
        made = spec.prepared
    given = seed_of(None) if spec.seed is None else spec.seed
    order = seed_for(made.algorithm, made.problem, given)
    # Two studies of the same size must not share one draw of items.
    drawn = 0 if made.algorithm.measured_on() is None else given
    record = StudyRecord(
        id=0,
        name=spec.name,
        key=uuid.uuid4().hex if key is None else key,
        algorithm=made.algorithm.registered_name(),
        settings=dumps(made.algorithm.settings()),
        problem=dumps(made.problem.to_dict()),
        seed=drawn if spec.seed is None else spec.seed,
        meta=json.dumps(made.meta | ({DEAL: str(order)} if made.traffic else {ORDER: order})),
    )
    return record, made


def _taken(name: str, storage: Storage) -> StudyExistsError:
    return StudyExistsError(f"a study called {name!r} already exists in {storage.url}")


def _known(tx: Transaction, record: StudyRecord, storage: Storage) -> StudyRecord | None:
    """The study that is there, if this very call (or one with its key) has made it."""
    there = tx.find_study(record.name)
    if there is not None and there.key != record.key:
        raise _taken(record.name, storage)
    return there


def _beginning(
    storage: Storage, record: StudyRecord, made: Prepared
) -> Callable[[Transaction], StudyRecord]:
    """Writes a new study."""
    before = None if made.past is None else stored(made.past)
    with refusing_extremes():
        run = begin(record, before)
        batch = None if run.stopped or made.traffic else run.ask()
    text, summary = run.to_json(), summary_of(run)

    def write(tx: Transaction) -> StudyRecord:
        there = _known(tx, record, storage)
        if there is not None:  # an earlier try wrote it, and only its confirmation was lost
            return there
        size = 0 if batch is None else batch.size
        added = tx.add_study(record, StudyProgress(0, 0, size, finished=run.stopped))
        now = tx.progress(added.id).now
        chain.begin(tx, added, before, now)
        if before is not None:
            tx.add_past(added.id, before)
        if run.stopped:
            chain.answer(tx, added.id, run.answer, text, now)
        elif batch is not None:
            first = record_of(batch, 0)
            tx.add(added.id, first)
            chain.propose(tx, added.id, first, text, now)
        tx.set_snapshot(added.id, 0, text)
        tx.set_summary(added.id, summary)
        return added

    return write


def _digest(key: str) -> str:
    """Any text in the 32 letters that a storage has room for."""
    return hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def load_study(name: str, storage: str | Storage = STORAGE) -> Study:
    """Open a study that is there, from any process.

    Parameters
    ----------
    name
        Of the study.
    storage
        Address of the database, or an open storage.

    Examples
    --------
    >>> import surepick as sp
    >>> _ = sp.create_study("shared", sp.Problem([[1.0], [2.0]]), storage="memory://")
    >>> sp.load_study("shared", "memory://").finished
    False
    """
    as_name(name, "name")
    with _opened(storage, keep=True) as opened:
        return Study(opened, _find(opened, name), owner=opened is not storage)


def list_studies(storage: str | Storage = STORAGE) -> list[str]:
    """The names of all studies, in the order of their creation.

    Parameters
    ----------
    storage
        Address of the database, or an open storage.

    Examples
    --------
    >>> import surepick as sp
    >>> _ = sp.create_study("one", sp.Problem([[1.0], [2.0]]), storage="memory://list")
    >>> list_studies("memory://list")
    ['one']
    """
    with _opened(storage) as opened:
        return [study.name for study in opened.read(lambda tx: tx.studies())]


def describe_studies(storage: str | Storage = STORAGE) -> list[dict[str, Any]]:
    """All studies, in the order of their creation, with what each one is doing.

    The state is ``finished``, ``paused``, ``measuring`` (a worker has a pull now) or ``waiting``.

    Examples
    --------
    >>> import surepick as sp
    >>> study = sp.create_study("one", sp.Problem([[1.0], [2.0]]), storage="memory://describe")
    >>> [(row["name"], row["state"]) for row in describe_studies("memory://describe")]
    [('one', 'waiting')]
    """
    with _opened(storage) as opened:
        return [_described(*one) for one in opened.read(lambda tx: tx.overview())]


def _described(
    study: StudyRecord, at: StudyProgress, summary: Summary | None, out: bool
) -> dict[str, Any]:
    state = "measuring" if out else "waiting"
    if at.paused or at.finished:
        state = "finished" if at.finished else "paused"
    return {
        "name": study.name,
        "state": state,
        "samples": at.samples,
        "unit": "visit" if sends_traffic(study) else "measurement",
        "options": None if summary is None else summary.options,
        "survivors": None if summary is None else summary.survivors,
        "answer": None if summary is None else summary.answer,
        "created": study.created,
    }


def delete_study(name: str, storage: str | Storage = STORAGE) -> None:
    """Delete a study with everything that was measured for it.

    Parameters
    ----------
    name
        Of the study.
    storage
        Address of the database, or an open storage.

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


def copy_study(
    name: str,
    to: str | Storage,
    storage: str | Storage = STORAGE,
    *,
    new_name: str | None = None,
    move: bool = False,
) -> None:
    """Copy a study, with all that was measured and done, to another database.

    The copy is read again and compared before anything else happens. Pulls that are out belong to
    workers of the other database; in the copy they wait to be handed out again.

    Parameters
    ----------
    name
        The study.
    to
        The other database, which is made if it does not exist.
    storage
        Where the study is.
    new_name
        What the copy is called; by default as the study is.
    move
        Delete the original, once the copy is there; an error if it went on in the meantime.

    Examples
    --------
    >>> import surepick as sp
    >>> _ = sp.create_study("tea", sp.Problem([[1.0], [2.0]]), storage="memory://here")
    >>> sp.study.copy_study("tea", "memory://there", "memory://here", move=True)
    >>> list_studies("memory://here"), list_studies("memory://there")
    ([], ['tea'])
    """
    new_name = None if new_name is None else as_name(new_name, "new_name")
    with _opened(storage) as source, _opened(to, create=True) as target:
        _find(source, name)
        copied = copying.copy(source, name, target, new_name)
        if move:
            copying.remove(source, copied)


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
    studies = storage.read(lambda tx: tx.studies())
    known = [study.name for study in studies]
    parts = [(one.name, segment_of(json.loads(one.meta))) for one in studies if "@" in one.name]
    own = [one for one, part in parts if part is not None and part.of == name]
    if own:
        raise UnknownStudyError(
            f"{name!r} has an answer for each segment, and a study for each: this needs one of "
            f"them ({', '.join(own)})"
        )
    there = f"there are: {listed(known, name)}" if known else "there are none"
    raise UnknownStudyError(f"no study is called {name!r} in {storage.url}; {there}")


_log = logging.getLogger(__name__)


@contextmanager
def refusing_extremes() -> Iterator[None]:
    """Refuse numbers that are so extreme that arithmetic with them fails somewhere."""
    try:
        yield
    except SurepickError:
        raise
    except (ArithmeticError, ValueError) as error:
        _log.warning("refused because of: %r", error, exc_info=True)
        raise InvalidInputError(
            "a number is too large, too small or too close to another one to compute with"
        ) from error
