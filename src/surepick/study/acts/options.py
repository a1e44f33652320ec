"""What changes a run between two blocks: options that are added to a study, or retired.

What was asked for is finished first: a change waits in the run, and takes effect when the block of
measurements that is open is complete. A study that has ended goes on at once. In a study of traffic
a report is a block: a change is in the shares of the next period, and takes effect in the run when
all periods that had their shares before it are recorded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from surepick.arrays.validate import as_labels
from surepick.errors import FormatError, InvalidInputError, InvalidTypeError, listed
from surepick.problem import Problem
from surepick.problem.labels import look_alikes
from surepick.problem.tables.build import costs_of, more_options
from surepick.run import Run
from surepick.run.changes import ACCEPTED, ADDED, RETIRED
from surepick.run.order import fresh_seed
from surepick.storage.contract import Transaction
from surepick.storage.records import Link
from surepick.study.acts.base import Act, Changing, Field, Record, Scene, Step, Who
from surepick.study.pulls import said_by
from surepick.study.sheet import Sheet, plain_cell
from surepick.study.traffic.rules import rules_of, sends_traffic

KINDS = (ADDED, RETIRED, ACCEPTED)
BATCH, PERIOD = "batch", "period"


@dataclass(frozen=True)
class OptionChange(Record):
    """Options that came or went.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem.unstructured(["red", "blue"])
    >>> study = sp.create_study("colours", problem, storage="memory://")
    >>> study.add(["green"], reason="the new catalogue").said
    'Added: green. It comes with the next batch.'
    """

    change: str  #: "added" or "retired"
    labels: tuple[str, ...]
    asked: int  #: the batch that was open at the time
    waits: bool  #: whether it was open, and had to be finished first
    at: float  #: the database's clock
    by: str | None  #: who did it, if that was said
    reason: str
    token: str | None = None  #: id of the token it was done with; None: on this machine
    unit: str = BATCH  #: of what comes next: a batch, or a period of traffic

    @property
    def said(self) -> str:
        """What was done, as a sentence or two."""
        names = ", ".join(self.labels[:10])
        if len(self.labels) > 10:
            names += f" and {len(self.labels) - 10} more"
        one = len(self.labels) == 1
        if self.change == ADDED:
            after = f" {'It comes' if one else 'They come'} with the next {self.unit}."
            return f"Added: {names}.{after if self.waits or self.unit != BATCH else ''}"
        after = f" The open {self.unit} is finished first." if self.waits else ""
        return f"Retired: {names}.{after}"

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"labels": list(self.labels)}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        return super().from_dict({**saved, "labels": tuple(saved["labels"])})


class Planned:
    """A change of the options, or of what is close enough, to be made in a run as a link says."""

    def __init__(self, kind: str, content: dict[str, Any]) -> None:
        self.kind, self.content = kind, content
        self.asked: int = content["asked"]  #: the batch that was open
        self.waits: bool = content["waits"]  #: whether it was open, so that this came after it
        self.after: int = content.get("after", 0)  #: periods that had their shares before

    def apply(self, run: Run) -> None:
        """Make it; a run that has a batch open does that later."""
        content = self.content
        who = said_by(content["by"], content["token"])
        said = {"reason": content["reason"], "by": who, "at": content["at"]}
        said["after"] = self.after
        if self.kind == ADDED:
            own = {"noise": content["noise"], "costs": content.get("costs")}
            own["seed"] = content.get("seed")
            run.add(content["rows"], content["labels"], **own, **said)
        elif self.kind == ACCEPTED:
            if not run.state.finished:  # else rewards were changed, and it is decided without that
                run.accept(content["epsilon"], **said)
        else:
            run.retire(content["labels"][0], **said)

    @property
    def unit(self) -> str:
        """Of what comes next."""
        return PERIOD if "after" in self.content else BATCH

    @property
    def change(self) -> OptionChange:
        """What there is to say of it, where options changed."""
        return OptionChange.from_dict({"change": self.kind, "unit": self.unit, **self.content})


def read(tx: Transaction, study: int) -> list[Planned]:
    """All changes between blocks, in order."""
    return [Planned(link.kind, json.loads(link.content)) for link in tx.links(study, KINDS)]


def grown_columns(columns: dict[str, list[Any]], made: Sequence[Planned]) -> dict[str, list[Any]]:
    """The cells of the study's table, with those of all options that came behind them."""
    found = {name: list(cells) for name, cells in columns.items()}
    for one in made:
        for name, cells in one.content.get("cells", {}).items():
            found[name] += cells
    return found


class ChangeRun(Changing):
    """Something changes between two blocks: options come or go, or more is close enough."""

    change: type[Any] = OptionChange

    def changed(self, planned: Planned) -> Any:
        return planned.change

    def demand(self, run: Run) -> None:
        """Raise where nothing of this kind can be changed."""
        run.check_changeable()

    def details(self, content: dict[str, Any], link: Link, scene: Scene) -> dict[str, Any]:
        return self.changed(Planned(link.kind, content)).to_dict()

    def apply(self, scene: Scene, given: dict[str, Any], who: Who) -> Step | Act | None:
        """Make the change; the same act again (its answer was lost, perhaps) changes nothing."""
        run, at = scene.run()
        made = scene.storage.read(lambda tx: read(tx, scene.record.id))
        same = {**given.get("same", given), "by": who.by, "reason": who.reason, "token": who.token}
        for one in made:
            if one.kind == self.link and same.items() <= one.content.items():
                found = self.changed(one)
                return self.done(found.to_dict(), who, found.at)
        said = {"by": who.by, "reason": who.reason, "token": who.token, "at": at.now}
        self.demand(run)
        own, notes = self.described(scene, run, made, given)
        waits = at.size > 0  # of a study that has ended, too: what was asked for ahead
        content = own | said | {"asked": at.batch, "waits": waits}
        traffic = sends_traffic(scene.record)
        shared = scene.storage.read(lambda tx: len(tx.periods(scene.record.id)))
        if traffic:
            content |= {"after": shared, "waits": shared > at.batch}

        def same_periods(tx: Transaction) -> bool:
            return len(tx.periods(scene.record.id)) == shared

        if self.link == ADDED and run.algorithm.redraws:
            content["seed"] = fresh_seed()  # of what is drawn anew, once the options are there
        Planned(self.link, content).apply(run)
        if not (run.stopped or traffic):
            run.ask()  # it may have ended, and goes on
        return Step(at, content, run, run.stopped, notes=notes, same=same_periods)

    def described(
        self, scene: Scene, run: Run, made: list[Planned], given: dict[str, Any]
    ) -> tuple[dict[str, Any], Sequence[str]]:
        """The options, as a link says it, and what to warn of."""
        return given, ()


class _Add(ChangeRun):
    kind, link = "add", ADDED
    short = "Add options to a study."
    about = (
        "Add options; they come with the next batch, or with the shares of the next period of a "
        "website test. A study that has ended goes on. The answer is then the best of all that "
        "were not retired, and the guarantee stands, even if options are added because of what was "
        "seen."
    )
    fields = (
        Field(
            "table",
            Sheet,
            "A table with the columns of the study's own, also that of costs; a category may have "
            "levels that no option had before.",
            None,
            example={"csv": "label,price,colour\nnew,5,green\n"},
        ),
        Field("labels", list[str], "Instead of a table.", None, {"maxItems": 10_000}),
        Field(
            "rows",
            list[list[float]],
            "Features of the options, if the study was made from a problem.",
            None,
        ),
        Field("noise", list[float], "Noise scales of the options, if each has its own.", None),
        Field("costs", list[float], "Cost of measuring each option, if costs differ.", None),
    )
    large = True

    def check(self, scene: Scene, given: dict[str, Any]) -> dict[str, Any]:
        """The options, as they can be compared with what was added before."""
        new = NewOptions.from_dict(super().check(scene, given))
        text = json.dumps(new.to_dict(), sort_keys=True)
        # Once it has been done, the same table would be described otherwise.
        return {"new": new, "same": {"given": hashlib.sha256(text.encode()).hexdigest()}}

    def described(
        self, scene: Scene, run: Run, made: list[Planned], given: dict[str, Any]
    ) -> tuple[dict[str, Any], Sequence[str]]:
        meta = json.loads(scene.record.meta)
        if meta.get("columns") is not None:
            meta["columns"] = grown_columns(meta["columns"], made)
        found = given["new"].described(run.problem_ahead, meta)
        there = run.problem_ahead.option_labels
        return found | given["same"], look_alikes((*there, *found["labels"]), new=len(there))


class _Retire(ChangeRun):
    kind, link = "retire", RETIRED
    short = "Retire an option of a study."
    about = (
        "Retire an option: it is not measured any more, and cannot be the answer. The batch that "
        "is open is finished first; in a website test it has no share from the next period on. "
        "Unless the option had been ruled out, all that had been are back in the race, as they may "
        "be the best of those that are left; so a study that has ended may go on."
    )
    fields = (Field("label", str, "Which option.", limits={"minLength": 1}, example="a"),)
    needs_reason = True

    def check(self, scene: Scene, given: dict[str, Any]) -> dict[str, Any]:
        label, rules = super().check(scene, given)["label"], rules_of(scene.record)
        if rules is not None and label == rules.control:
            raise InvalidInputError(
                f"label: {label!r} is the control, which stays on the site while the test runs; "
                "stop the study and start one with another control"
            )
        return {"labels": [label]}


ADD, RETIRE = _Add(), _Retire()


@dataclass(frozen=True)
class NewOptions:
    """What was given, as it travels between programs.

    Examples
    --------
    >>> NewOptions.of(["red", "blue"]).to_dict()
    {'labels': ['red', 'blue']}
    """

    sheet: Sheet | None = None  #: a table with the columns of the study's own
    labels: Sequence[str] = ()  #: otherwise: what they are called
    rows: Sequence[Sequence[float]] | None = None  #: and their features
    noise: Sequence[float] | None = None  #: and scales, where each option has its own
    costs: Sequence[float] | None = None  #: and what a measurement of each costs

    @classmethod
    def of(cls, options: Any) -> NewOptions:
        """From a CSV or Parquet file, a DataFrame, a :class:`surepick.Problem`, or labels."""
        if isinstance(options, NewOptions):
            return options
        if isinstance(options, Problem):
            if options.transductive:
                raise InvalidInputError(
                    "options: a problem with separate candidates cannot be added"
                )
            own = options.noise_kind.scales
            scales = None if own is None else own.tolist()
            costs = None if options.costs is None else options.costs.tolist()
            return cls(None, list(options.labels), options.arms.tolist(), scales, costs)
        if isinstance(options, list | tuple):
            return cls(None, list(as_labels(options, len(options), "options")))
        return cls(Sheet.of(options))

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        if self.sheet is not None:
            return {"table": self.sheet.to_dict()}
        found = {"labels": list(self.labels), "rows": self.rows, "noise": self.noise}
        found["costs"] = self.costs
        return {name: value for name, value in found.items() if value is not None}

    @classmethod
    def from_dict(cls, saved: Any) -> NewOptions:
        """What :meth:`to_dict` made."""
        if not isinstance(saved, Mapping):
            raise FormatError(f"options must be described by an object; got {saved!r:.80}")
        given = {name: value for name, value in saved.items() if value is not None}
        if "table" in given:
            if len(given) > 1:
                raise InvalidInputError("options: give either a table, or labels and features")
            return cls(Sheet.from_dict(given["table"], "table"))
        if not given.get("labels"):
            raise InvalidInputError("options: give a table, or labels")
        return cls(None, **given)

    def described(self, problem: Problem, meta: Mapping[str, Any]) -> dict[str, Any]:
        """Labels, features, scales and cells for a study that has this problem now."""
        columns, identity = meta.get("columns"), _is_identity(problem)
        if self.sheet is not None:
            if columns is None:
                raise InvalidInputError(
                    "options: the study was not made from a table; give the new options as a "
                    "surepick.Problem with the same features (in Python)"
                )
            how = meta.get("how") or {"unstructured": identity}
            table = self.sheet.read("options")
            if problem.pairing is not None:  # their cells are shown, and not compared by
                how = {**how, "unstructured": True}
            names, rows, cells = more_options(problem, columns, table, how)
            plain = {name: [plain_cell(cell) for cell in cells[name]] for name in columns}
            own = None if problem.pairing is not None else rows.tolist()
            found = {"labels": names, "rows": own, "noise": None, "cells": plain}
            if problem.costs is not None and how.get("cost"):
                found["costs"] = costs_of(table, str(how["cost"])).tolist()
            return found
        if columns:
            raise InvalidInputError(
                f"options: the study was made from a table with the columns {listed(columns)}; "
                f"give a table with the same columns"
            )
        rows = self.rows
        if problem.pairing is not None:
            return self._written(columns)
        if rows is None:
            if not identity:
                raise InvalidInputError(
                    f"options: the existing options have {problem.n_features} features; give the "
                    "new ones their features too, as a surepick.Problem"
                )
            n = len(self.labels)
            rows = np.hstack([np.zeros((n, problem.n_features)), np.eye(n)]).tolist()
        if not isinstance(rows, Sequence):
            raise InvalidTypeError(f"rows must be lists of features; got {rows!r:.80}")
        return self._written(columns) | {"rows": [list(row) for row in rows]}

    def _written(self, columns: Any) -> dict[str, Any]:
        return {
            "labels": list(self.labels),
            "rows": self.rows,
            "noise": None if self.noise is None else list(self.noise),
            "cells": {name: [None] * len(self.labels) for name in columns or ()},
            **({} if self.costs is None else {"costs": list(self.costs)}),
        }


def _is_identity(problem: Problem) -> bool:
    """Whether every option is a feature of its own."""
    return problem.n_arms == problem.n_features and np.array_equal(
        problem.arms, np.eye(problem.n_arms)
    )
