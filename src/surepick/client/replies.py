"""What a service sends, as the classes that a study here would return."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surepick.algorithms.findings import Guarantee
from surepick.run import Answer
from surepick.run.answer import COMPARED, Kept, Lift
from surepick.run.details import Unmeasured
from surepick.run.forecast import Ahead
from surepick.storage.records import Event, Rewards, StudyProgress
from surepick.study.pulls import Pull, Reward, Said, Told, refuse_others
from surepick.study.traffic.results import Split

MOST = 10_000  # pulls or rewards in one request that the service takes


@dataclass(frozen=True, eq=False)
class RemoteAnswer(Answer):
    """An answer whose certificate came from the service."""

    _certificate: dict[str, Any] = field(default_factory=dict, repr=False)
    _plain: str = field(default="", repr=False)

    @property
    def plain(self) -> str:
        return self._plain

    def certificate(self) -> dict[str, Any]:
        return self._certificate


def _compared(found: dict[str, Any]) -> dict[str, Any]:
    if "lifts" not in found:
        return {}
    ends = (math.nan, -math.inf, math.inf)  # what null stands for
    lifts = {
        label: Lift(*(end if one is None else one for one, end in zip(row, ends)))
        for label, row in found["lifts"].items()
    }
    groups = {name: tuple(found.get(name) or ()) for name in (*COMPARED, "close", "ruled_out")}
    return groups | {"lifts": lifts}


def _kept(found: dict[str, Any]) -> dict[str, dict[str, Kept]]:
    return {
        limit: {label: Kept(**one) for label, one in options.items()}
        for limit, options in (found.get("limits") or {}).items()
    }


def split_of(found: dict[str, Any]) -> Split:
    """The shares of a period."""
    return Split(*(found[key] for key in Split.__dataclass_fields__))


def answer_of(found: dict[str, Any], certificate: dict[str, Any]) -> RemoteAnswer:
    """An answer."""
    guarantee = found["guarantee"]
    return RemoteAnswer(
        arm=found["arm"],
        label=found["label"],
        samples=found["samples"],
        pulls=np.array(found["pulls"], dtype=np.int64),
        guarantee=Guarantee(
            guarantee["kind"], guarantee["text"], conditions=guarantee["conditions"]
        ),
        survivors=tuple(found["survivors"]),
        equivalent=tuple(found["equivalent"]),
        batches=found["batches"],
        algorithm=found["algorithm"],
        delta=found["delta"],
        epsilon=found["epsilon"],
        **{name: tuple(found[name]) for name in ("arms", "labels") if found.get(name)},
        cost=found.get("cost"),
        p_value=found.get("p_value"),
        wins=found.get("wins") or {},
        best_mean=found.get("best_mean"),
        circle=tuple(found.get("circle") or ()),
        minimise=bool(found.get("minimise")),
        quantile=found.get("quantile"),
        quantiles=found.get("quantiles") or {},
        on_items=found.get("on_items"),
        unmeasured=tuple(Unmeasured(**cell) for cell in found.get("unmeasured") or ()),
        limits=_kept(found),
        **_compared(found),
        _record={},
        _certificate=certificate,
        _plain=guarantee["plain"],
    )


def ahead_of(found: dict[str, Any]) -> Ahead:
    """A forecast."""
    return Ahead(**{key: found[key] for key in Ahead.__dataclass_fields__ if key in found})


def pulls_of(found: dict[str, Any]) -> list[Pull]:
    """Pulls that were handed out."""
    keys = Pull.__dataclass_fields__
    return [Pull(**{key: one.get(key) for key in keys}) for one in found["pulls"]]


def told_of(rows: list[dict[str, Any]]) -> list[Told]:
    """What became of rewards."""
    return [Told(one["pull"], one["status"], one["value"], one.get("warning")) for one in rows]


def progress_of(found: dict[str, Any]) -> StudyProgress:
    """Where a study stands."""
    keys = ("batch", "first", "size", "asked", "told", "finished", "paused", "ahead", "early")
    return StudyProgress(**{key: found[key] for key in keys})


def rewards_of(found: dict[str, Any]) -> Rewards:
    """Every reward that counts."""
    return Rewards(
        np.array(found["pulls"], dtype=np.int64),
        np.array(found["arms"], dtype=np.int64),
        np.array(found["values"], dtype=np.float64),
        np.array(found["times"], dtype=np.float64),
        None if found.get("strata") is None else np.array(found["strata"], dtype=np.str_),
        found.get("numbers"),
    )


def events_of(found: dict[str, Any]) -> list[Event]:
    """Everything that did not count."""
    keys = Event.__dataclass_fields__
    return [Event(**{key: row[key] for key in keys}) for row in found["events"]]


def reward_rows(rewards: Sequence[Reward], said: Sequence[Said]) -> list[dict[str, Any]]:
    """Rewards as a request has them, with the labels that they are said to be of."""
    labels = {one.pull: str(one.option) for one in said}
    rows: list[dict[str, Any]] = [
        {"pull": one.pull, "reward": one.value}
        | ({} if one.numbers is None else {"numbers": dict(one.numbers)})
        for one in rewards
    ]
    return [row | {"label": labels[row["pull"]]} if row["pull"] in labels else row for row in rows]


def refuse_known(said: Sequence[Said], given: Mapping[int, str]) -> None:
    """Refuse labels that contradict what was asked for here, before the first of several requests.

    The service compares them all, but request by request.
    """
    known = [*dict.fromkeys(one.pull for one in said if one.pull in given)]
    refuse_others(said, {pull: i for i, pull in enumerate(known)}, [given[p] for p in known])


def by_holder(
    rewards: list[Reward], held: Mapping[int, str]
) -> list[tuple[str | None, list[Reward]]]:
    """The rewards in the order given, cut where another asked for the pull."""
    parts: list[tuple[str | None, list[Reward]]] = []
    for reward in rewards:
        holder = reward.worker or held.get(reward.pull)
        if not parts or parts[-1][0] != holder or len(parts[-1][1]) == MOST:
            parts.append((holder, []))
        parts[-1][1].append(reward)
    return parts
