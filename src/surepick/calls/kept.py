"""Scores that were paid for: kept in a file as they come, and found again by the next call.

A file of JSON lines (:mod:`surepick.calls.lines`) has a line for each call that ended, and one for
each run: what was asked, what its order was drawn from, and what the functions that measure were
made of (:mod:`surepick.calls.versions`). A run that did not come to its end goes on from there: it
is made again with the same seed, and each call that is in the file is answered from it. So it is
the very run that it would have been, and what it promises does not depend on where it was cut off.

Two kinds of scores are known again in different ways.

- A *cell*, of an option on an item, is one number, whoever asks for it. It is found again by every
  run whose functions are what they were, as far as they have to do with this option and this item.
  That run has an order of its own, drawn after everything that is known.
- A *draw*, of something that varies, belongs to its run, at its place there, and to no other: used
  again elsewhere it would count twice. Once its run is over it is of no more use.

A run that somebody is still working on is nobody else's to go on with.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

from surepick.calls.lines import Lines
from surepick.calls.versions import different, digest_of, is_own_file, version_of
from surepick.errors import InvalidInputError, InvalidTypeError

_log = logging.getLogger(__name__)

AUTO: Final = "auto"  #: beside the script, in :data:`FOLDER`
FOLDER: Final = ".surepick"
#: a variable of the environment that says where instead: a folder, or ``none``
VARIABLE: Final = "SUREPICK_CACHE"
UNKNOWN: Final = object()  #: what is known of a call that was not made yet
# Of draws that nobody asked to keep:
_WORTH = 0.01  # seconds that calls have taken in all, from which on they are kept
_CHEAP = 1e-4  # seconds of a call that is made again rather than kept, ...
_CHEAP_ONES = 10_000  # ... where there are more than so many
_NAMED = 4  # parts that a sentence names
_SHORT = 8  # digits of a name for code

Key = tuple[Any, ...]


def place(cache: Any, name: str) -> Path | None:
    """Where scores of this name are kept; None: nowhere.

    Examples
    --------
    >>> place("scores.jsonl", "prompts").name, place(None, "prompts")
    ('scores.jsonl', None)
    """
    if cache is None:
        return None
    if not isinstance(cache, str | os.PathLike):
        raise InvalidTypeError(
            f"cache must be the path of a file, or None to keep nothing; got {cache!r:.80}"
        )
    if cache != AUTO:
        return _checked(Path(cache))
    said = os.environ.get(VARIABLE)
    if said is not None and said.strip().lower() in ("", "none", "off"):
        return None
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    script = Path(file) if file is not None and is_own_file(os.path.abspath(file)) else None
    home = Path.cwd() if script is None else script.absolute().parent
    folder = home / FOLDER if said is None else Path(said)
    if not os.access(folder if folder.is_dir() else home, os.W_OK) and said is None:
        _log.warning("scores are not kept: %s cannot be written (cache=…, a file elsewhere)", home)
        return None
    parts = filter(None, [None if script is None else script.stem, name])
    plain = re.sub(r"[^\w.-]+", "_", "-".join(parts))
    return folder / f"{plain[:120]}.jsonl"


def called(*functions: Any) -> str:
    """What functions are called, in a name of a file."""
    return "-".join(getattr(one, "__name__", type(one).__name__) for one in functions)


def _checked(path: Path) -> Path:
    """A path that can be written, or an error before anything is paid for."""
    if path.is_dir() or not os.access(path.absolute().parent, os.W_OK):
        what = "is a folder" if path.is_dir() else "is in a folder that cannot be written"
        raise InvalidInputError(f"cache: {path} {what}; give the path of a file")
    return path


def make_folder(folder: Path) -> None:
    """Make the folder for what is kept; version control leaves it out."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")


@dataclass
class _Before:
    """A run of the file."""

    head: Mapping[str, Any]
    parts: dict[str, dict[str, str]]
    state: set[str] = field(default_factory=set)
    own: str = ""
    ended: bool = False  # nothing was under way when it stopped
    over: bool = False
    noted: list[dict[str, Any]] = field(default_factory=list)

    def lost(self, lines: Lines | None = None) -> int:
        """How many calls were made of which nothing is known; of others' runs, as far as they are
        over: who was cut off has lost one."""
        name, cut = self.head["run"], not self.ended
        if cut and lines is not None and (cut := lines.take(name)):
            lines.let_go(name)
        return cut + sum(line.get("unanswered", 0) for line in self.noted)


class Kept:
    """What is known of calls, and where each new one is noted.

    Parameters
    ----------
    path
        The file; None: what is noted is known as long as this object is there.
    door
        What was called.
    functions
        What measures, by the option that it is; under "" what all options have in common.
    columns
        What the parts of a call are called in the file, the option first.
    labels
        The options and items there are.
    asked
        All that makes another run of it: values that JSON has.
    fixed
        Whether calls are of cells, and not draws.
    measure
        A name for what measures, where somebody gave it one; it then counts instead of the code.
    contents
        What items are, where more is known of them than their names.
    auto
        Whether nobody asked for this file.
    light
        Whether calls may be too many and too cheap to keep each of them, if nobody asked for it.

    Examples
    --------
    >>> def grade(option, item):
    ...     return 1.0
    >>> how = {"functions": {"": grade}, "columns": ("option", "item"), "labels": ["tea", "q1"]}
    >>> with Kept(Path("grades.jsonl"), "decide", asked=1, fixed=True, **how) as kept:
    ...     kept.begin({"seed": 7})
    ...     kept.put(("tea", "q1"), 1.0)
    ...     kept.end("stopped")
    >>> with Kept(Path("grades.jsonl"), "decide", asked=1, fixed=True, **how) as kept:
    ...     kept.begun, kept.get(("tea", "q1"))
    ({'seed': 7}, 1.0)
    """

    def __init__(
        self,
        path: Path | None,
        door: str,
        *,
        functions: Mapping[str, Callable[..., Any]],
        columns: Sequence[str],
        labels: Iterable[str],
        asked: Any,
        fixed: bool,
        measure: str | None = None,
        contents: Mapping[str, str] | None = None,
        auto: bool = False,
        light: bool = False,
    ) -> None:
        self.door, self.columns, self.fixed, self.measure = door, tuple(columns), fixed, measure
        self.path = path
        self._labels, self._contents = list(labels), contents or {}
        self.functions, self._auto, self._light = functions, auto, auto and light
        self._lock = threading.RLock()
        self._lines = None if path is None else Lines.at(path)
        self._first = {name: version_of(one) for name, one in functions.items()}
        self._parts = {name: one.common(self._labels) for name, one in self._first.items()}
        self._state: set[str] = set(_STATE.get(self._what, ()))
        self._known: dict[Key, Any] = {}
        self.failed: dict[Key, dict[str, Any]] = {}  #: cells that failed, and how
        self.lost = 0  #: calls that were made and whose scores are not known
        self.again = 0  #: calls that worked when they were made again
        self.set_back = False  #: whether random numbers were set back between calls
        self.edited: list[str] = []  #: parts of what measures that were changed under its name
        self.resumed = False  #: whether this goes on with an earlier run
        self.limits: list[Any] = []  #: that this run was given
        self._whats: dict[str, str] = {}  # what options are
        self.run, self.begun = secrets.token_hex(4), None
        self._code = digest_of(self._parts)[:_SHORT]
        self._asked = digest_of([door, json.dumps(asked, default=str), measure])
        self._unwritten: list[dict[str, Any]] = []
        self._open = self._looked = self.cheap = self._full_disk = False
        self._new = path is not None and not path.exists()
        self.count, self._seconds = 0, 0.0
        self._calls: Counter[Key] = Counter()
        if self._lines is not None:
            self._find(self._lines)
        self.count += len(self._known)

    # -- what is known ------------------------------------------------------------------------
    def keys(self, rows: Sequence[Key]) -> list[Key]:
        """Under what each of these calls is known; in the order in which they are asked for."""
        if self.fixed:
            return list(rows)
        found = []
        for row in rows:
            found.append((*row, self._calls[row]))
            self._calls[row] += 1
        return found

    def knows(self, rows: Sequence[Key]) -> bool:
        """Whether none of these calls has to be made, which may be asked for next."""
        before = self._calls.copy()
        keys, self._calls = self.keys(rows), before
        return all(key in self._known or key in self.failed for key in keys)

    def get(self, key: Key) -> Any:
        """What a call gave; :data:`UNKNOWN` where nobody knows."""
        return self._known.get(key, UNKNOWN)

    def tries(self, key: Key) -> int:
        """How often a call has failed."""
        return self.failed[key]["tries"] if key in self.failed else 0

    @property
    def known(self) -> Mapping[Key, Any]:
        return self._known

    # -- what comes to be known ---------------------------------------------------------------
    def begin(self, begun: Mapping[str, Any]) -> None:
        """This is what the run is made from, should it have to be made again."""
        head = {"run": self.run, "door": self.door, "function": self._what, "asked": self._asked}
        head |= {"measure": self.measure, "code": self._code, "parts": self._parts}
        head |= {"own": self._own(self._labels)}
        resumed = {"run": self.run, "resumed": _now()}
        self._unwritten = [resumed if self.begun is not None else head | {"begun": dict(begun)}]
        self._unwritten[0].setdefault("time", _now())
        self.resumed = self.begun is not None
        self.begun = dict(begun)

    def limit(self, given: Any) -> None:
        """The run may go on up to here."""
        self.limits.append(given)
        self._unwritten.append({"run": self.run, "limit": given})

    def put(self, key: Key, value: Any, *, tries: int = 1, seconds: float = 0.0) -> None:
        """A call gave this."""
        with self._lock:
            if not self._looked:
                self._look()
            if self.fixed:
                self._known[key] = value
            self.failed.pop(key, None)
            self.count, self._seconds = self.count + 1, self._seconds + seconds
            if self._light and self.count > _CHEAP_ONES:
                self.cheap |= self._seconds < _CHEAP * self.count
                if self.cheap:
                    self._unwritten.clear()
            self._note(key, {"score": value} | ({"tries": tries} if tries > 1 else {}))

    def note_what(self, label: str, digest: str) -> bool:
        """An option is this, as far as somebody can see; False where scores are of another one."""
        if self._whats.setdefault(label, digest) != digest:
            return False
        self._unwritten.append({"run": self.run, "label": label, "is": digest})
        return True

    def fail(self, key: Key, why: str, *, tries: int = 1, again: bool = False) -> None:
        """A call gave nothing."""
        with self._lock:
            line = {"failed": why, "tries": tries, "again": again}
            self.failed[key] = line
            self._note(key, line)

    def _note(self, key: Key, what: dict[str, Any]) -> None:
        if self._lines is None or self.cheap:
            return
        names = (*self.columns[: len(key) - (not self.fixed)], *(() if self.fixed else ("draw",)))
        own = self._own(key[: len(self.columns)])
        self._write({**dict(zip(names, key)), **what, "own": own, "run": self.run})

    def end(self, how: str, **more: Any) -> None:
        """The call of the door ends here.

        ``over``: there is nothing to go on with; ``unanswered``: calls of which nothing is known;
        ``set_back``: whether random numbers were.
        """
        more = {name: value for name, value in more.items() if value}
        if self._lines is None or self.cheap or not (self._open or more):
            return
        if more.get("over") and not (self._open or self.resumed):
            return  # nothing was written, and nothing is of use to anybody
        with self._lock:
            if self.count:
                self._look()
            self._write({"run": self.run, "ended": how, **more}, at_once=True)
            if more.get("over") and self._auto and self._all_over():
                self._lines.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._lines is not None:
            self._lines.let_go(self.run)

    def _all_over(self) -> bool:
        assert self._lines is not None
        runs = [one["run"] for one in self._lines.read() if "door" in one]
        over = {one["run"] for one in self._lines.read() if one.get("over")}
        return set(runs) <= over

    def _write(self, line: dict[str, Any], at_once: bool = False) -> None:
        """Add a line, and those that could not be added before."""
        assert self._lines is not None
        self._unwritten.append(line)
        waits = self._light and self._seconds < _WORTH
        if waits and not (self._open or at_once):
            return
        try:
            if not self._open:
                if self._auto:
                    make_folder(self._lines.path.parent)
                self._lines.take(self.run)
            self._lines.add(*self._unwritten)
        except OSError as error:
            if not self._full_disk:
                _log.warning(
                    "%s cannot be written (%s): scores are kept in memory for now, and lost if "
                    "this process is killed",
                    self.path,
                    error.strerror,
                )
            self._full_disk = True
            return
        new, self._new = self._new, False
        self._unwritten, self._open, self._full_disk = [], True, False
        if new and self.fixed and self._auto:
            _log.warning(
                "scores are kept in %s, and the next call goes on from them (cache=None: nowhere)",
                self.path,
            )

    def _look(self) -> None:
        """See what has changed by calling: that is no other version."""
        self._looked = True
        found = set()
        for name, function in self.functions.items():
            found |= set(version_of(function).changed(self._first[name]))
        if found - self._state:
            self._state |= found
            _STATE.setdefault(self._what, set()).update(found)
            own = self._own(self._labels)
            self._unwritten.append({"run": self.run, "state": sorted(found), "own": own})

    @property
    def code(self) -> str:
        """A text of what measures, as far as it does not change by measuring."""
        parts = {
            name: [
                text for text in sorted(group.items()) if text[0].split("[")[0] not in self._state
            ]
            for name, group in self._parts.items()
        }
        return digest_of([parts, self._own(self._labels)])

    @property
    def said(self) -> str:
        """A text of the code that measures, and of the texts that it reads."""
        return digest_of([one.said() for one in self._first.values()])

    # -- what was known before ------------------------------------------------------------------
    @property
    def _what(self) -> str:
        names = [
            getattr(one, "__qualname__", type(one).__name__) for one in self.functions.values()
        ]
        return ", ".join(names)

    def _own(self, labels: Iterable[Any], state: Iterable[str] | None = None) -> str:
        """A text of what the functions have for these options and items, and what these are."""
        some = [one for one in labels if isinstance(one, str)]
        left = self._state if state is None else set(state)
        texts = [one.own(some, left) for one in self._first.values()]
        return digest_of([texts, [self._contents.get(one) for one in some]])

    def _find(self, lines: Lines) -> None:
        """The runs of the file: the one to go on with, and what all of them know of cells."""
        runs = self._runs(lines.read())
        if lines.damaged:
            _log.warning(
                "%s: %d lines are damaged, as if whoever wrote them was cut off; they are left out",
                self.path,
                lines.damaged,
            )
        for one in reversed(list(runs.values())):
            mine = one.head["asked"] == self._asked and not one.over and self._same(one)
            if mine and lines.take(one.head["run"]):
                self._go_on(one)
                break
        if self.fixed:
            self._look_for_cells(runs, lines)

    def _runs(self, found: list[dict[str, Any]]) -> dict[str, _Before]:
        runs: dict[str, _Before] = {}
        for line in found:
            run = line.get("run")
            if run not in runs:
                if {"asked", "parts", "begun", "own"} <= line.keys() and isinstance(run, str):
                    runs[run] = _Before(line, line["parts"], own=line["own"])
                continue
            one = runs[run]
            one.noted.append(line)
            if "is" in line and one.head["measure"] == self.measure:
                self._whats[line["label"]] = line["is"]
            one.ended = "ended" in line
            one.over |= bool(line.get("over"))
            if "state" in line:
                one.state |= set(line["state"])
                one.own = line["own"]
        return runs

    def _changed(self, one: _Before, groups: Iterable[str]) -> list[str]:
        """The parts of what measures that are others now."""
        state, found = one.state | self._state, dict[str, None]()
        for group in groups:
            names = different(one.parts.get(group, {}), self._parts.get(group, {}))
            found |= dict.fromkeys(name for name in names if name.split("[")[0] not in state)
        return list(found)

    def _same(self, one: _Before) -> bool:
        """Whether a run was measured by what measures now."""
        if one.own != self._own(self._labels, one.state):
            return False
        return self.measure is not None or not self._changed(one, self._parts)

    def _go_on(self, one: _Before) -> None:
        self.run, self.begun = one.head["run"], one.head["begun"]
        self._state |= one.state
        for line in one.noted:
            if "limit" in line:
                self.limits.append(line["limit"])
            self.set_back |= line.get("set_back", False)
        self.lost += one.lost()
        self.edited = self._changed(one, self._parts)
        for key, line in self._calls_of(one):
            if "score" in line:
                self._known.setdefault(key, line["score"])
                self.failed.pop(key, None)
                self.again += line.get("tries", 1) > 1
            elif key not in self._known:
                self.failed[key] = line

    def _calls_of(self, one: _Before) -> Iterable[tuple[Key, dict[str, Any]]]:
        """The calls that were noted, under what they are known here."""
        for line in one.noted:
            if "score" in line or "failed" in line:
                names = [name for name in self.columns if name in line]
                yield tuple(line[n] for n in (*names, *(() if self.fixed else ("draw",)))), line

    def _look_for_cells(self, runs: Mapping[str, _Before], lines: Lines) -> None:
        """Cells that other runs have measured, with what measures now."""
        here, own = set(self._labels), {}
        stale, why, code = 0, dict[str, None](), ""
        for one in runs.values():
            named = one.head["measure"] or (self.measure and one.head["code"])
            if one.head["door"] != self.door or named != self.measure:
                continue
            changed = {g: self._changed(one, ("", g)) for g in ("", *self._parts)}
            taken = len(self._known)
            for key, line in self._calls_of(one):
                if "score" not in line or key in self._known or not here.issuperset(key):
                    continue
                parts = changed.get(key[0], changed[""])
                if (key, *one.state) not in own:
                    own[key, *one.state] = self._own(key, one.state | self._state)
                same = line["own"] == own[key, *one.state]
                if same and (self.measure is not None or not parts):
                    self._known[key] = line["score"]
                    self.again += line.get("tries", 1) > 1
                    self.edited = list(dict.fromkeys([*self.edited, *parts]))
                elif one.head["function"] == self._what:
                    stale, code = stale + 1, one.head["code"]
                    why |= dict.fromkeys(parts or [f"what belongs to {key[0]!r}"])
            if len(self._known) > taken:
                self.lost += one.lost(lines)
        if stale:
            _log.warning(
                "%s: %d scores were made before %s changed, and are not used. If that cannot have "
                "changed any of them, measure=%r takes them on",
                self.path,
                stale,
                ", ".join([*why][:_NAMED]) + (", …" if len(why) > _NAMED else ""),
                code,
            )


_STATE: dict[str, set[str]] = {}  # what functions change by being called, as far as it was seen


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def stopped(error: BaseException, partial: Any, kept: Kept | None) -> None:
    """Have an error carry what was found so far, and say how to go on."""
    error.partial = partial  # pyright: ignore[reportAttributeAccessIssue]
    if kept is not None and kept.path is not None and kept.count and not kept.cheap:
        error.add_note(
            f"surepick: what was measured so far ({kept.count:,}) is kept in {kept.path}; "
            "call it again to go on from there. error.partial has what was found so far"
        )
