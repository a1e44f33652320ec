"""What workers get and hand in, and the names they go by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from surepick.arrays.validate import in_reach, real, whole
from surepick.errors import (
    InvalidInputError,
    InvalidTypeError,
    TellConflictError,
    UnknownPullError,
    listed,
)
from surepick.problem.noise import REWARD, NoiseKind
from surepick.problem.tables.cells import as_number, as_seen
from surepick.storage.records import ANONYMOUS
from surepick.text import as_line, as_output

_SHOWN = 5  # contradictions that an error lists


class Said(NamedTuple):
    """Which option a reward is said to be of."""

    pull: int
    option: Any  #: its label
    where: str = ""  #: the place in a file
    number: bool = False  #: whether it may be the number of the option instead


@dataclass(frozen=True)
class Pull:
    """One measurement to make.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem([[1.0], [2.0]], labels=["one", "two"])
    >>> study = sp.create_study("a pull", problem, storage="memory://")
    >>> (pull,) = study.ask()
    >>> pull.id, pull.label in problem.labels, pull.attempt
    (0, True, 1)
    """

    id: int  #: its number in the study; rewards are told for it
    arm: int
    label: str
    attempt: int = 1  #: above 1: handed out before, and failed or not told in time
    stratum: str | None = None  #: the day, plate, … that it belongs to, where the study has such
    item: int | None = None  #: the item to measure it on, where the study has items
    #: where two options are compared: their labels, in the order in which to show them
    first: str | None = None
    second: str | None = None


#: a number, which of two options is better, or a number with further ones by their names
OneReward = float | str | Mapping[str, float]
#: rewards by pull, or pairs of both, or with the label of what was measured
Rewarded = (
    Mapping[int, OneReward] | Iterable[tuple[int, OneReward] | tuple[int, OneReward, str | None]]
)


class Reward(NamedTuple):
    """The reward of one pull, as it is handed in.

    Examples
    --------
    >>> Reward.of((3, 0.5), "lab-1")
    Reward(pull=3, value=0.5, worker='lab-1', token=None, numbers=None)
    """

    pull: int
    value: Any  #: a number; where two options are compared, the label of the better one, or "tie"
    worker: str | None = None  #: who measured it, if that was said
    token: str | None = None  #: id of the token it came with; None: on this machine
    numbers: Mapping[str, float] | None = None  #: further numbers of the measurement

    @classmethod
    def of(cls, pair: Any, worker: str | None = None) -> Reward:
        """A (pull, reward) pair, or an error that names what is wrong with it."""
        try:
            pull, value = pair
        except (TypeError, ValueError):
            raise InvalidTypeError(
                f"rewards must be (pull, reward) pairs, or (pull, reward, label); got {pair!r:.80}"
            ) from None
        pull = as_pull(pull)
        if isinstance(value, Mapping):  # a reward and further numbers
            if REWARD not in value:
                raise InvalidInputError(
                    f"what measurement {pull} gave has no {REWARD!r}, only {listed(value)}; "
                    "nothing was recorded"
                )
            rest = {name: one for name, one in value.items() if name != REWARD}
            return cls.of((pull, value[REWARD]), worker)._replace(numbers=rest or None)
        if isinstance(value, str):  # which of two is better, for who knows the two
            return cls(pull, cast(float, value), worker)
        return cls(pull, real(value, f"reward of measurement {pull}"), worker)

    def read(self, first: str, second: str) -> Reward:
        """This, where the value may be the label of the better of two options, or ``tie``.

        Examples
        --------
        >>> Reward.of((3, "tea")).read("milk", "tea").value, Reward.of((3, "tie")).read("a", "b")[1]
        (0.0, 0.5)
        """
        return self._replace(
            value=preference(self.value, first, second, f"measurement {self.pull}")
        )

    def with_numbers(self, kinds: Mapping[str, NoiseKind], needed: Iterable[str]) -> Reward:
        """This, with further numbers as they are kept, or an error where one cannot be."""
        given = {} if self.numbers is None else dict(self.numbers)
        for name, value in given.items():
            what = f"{name} of measurement {self.pull}"
            if name not in kinds:
                there = listed(kinds, name) if kinds else "none"
                raise InvalidInputError(
                    f"{what}: this study knows no such number (there is {there}); nothing was "
                    "recorded"
                )
            given[name] = in_reach(real(value, what), what)
            if len(kinds[name].impossible(np.array([given[name]]))):
                raise InvalidInputError(
                    f"{what} is {given[name]:.12g}, but {kinds[name].rule}; nothing was recorded"
                )
        for name in needed:
            if name not in given:
                raise InvalidInputError(
                    f"{name} of measurement {self.pull} is missing, and options have to keep a "
                    f"limit on it: tell it with the reward ({{'reward': …, {name!r}: …}}, --number "
                    f"{name}=…); nothing was recorded"
                )
        return self._replace(numbers=given or None)

    @property
    def pair(self) -> tuple[int, Any]:
        """As :meth:`of` takes it."""
        value = self.value if self.numbers is None else {REWARD: self.value, **self.numbers}
        return self.pull, value

    @property
    def written(self) -> str | None:
        """Its further numbers as they are stored."""
        return None if self.numbers is None else json.dumps(dict(self.numbers), sort_keys=True)

    def possible(self, kind: NoiseKind) -> Reward:
        """This, or an error where no measurement of this kind gives such a reward."""
        if isinstance(self.value, str):
            raise InvalidTypeError(
                f"reward of measurement {self.pull} must be a number; got {self.value!r:.80}"
            )
        if len(kind.impossible(np.array([self.value]))):
            raise InvalidInputError(
                f"reward of measurement {self.pull} is {self.value:.12g}, but {kind.rule}; nothing "
                f"was recorded, and it is still open"
            )
        return self


#: what people say where neither of two options is better
TIE = "tie"


def preference(said: Any, first: str, second: str, of: str) -> float:
    """1 where the first of two is said to be better, 0 the second, ½ for a tie; or an error.

    A text that is one of the two labels means that option; otherwise it may be ``tie`` or a number.

    Examples
    --------
    >>> preference("tea", "tea", "milk", "pull 0"), preference(" Tie", "tea", "milk", "pull 0")
    (1.0, 0.5)
    """
    if not isinstance(said, str):
        return real(said, f"reward of {of}")
    text = said.strip()
    found = {second: 0.0, first: 1.0}.get(text)
    folded = {second.strip().casefold(): 0.0, first.strip().casefold(): 1.0, TIE: 0.5}
    if found is None and len(folded) == 3:
        found = folded.get(text.casefold())
    number = as_number(text) if found is None else found
    if number is None:
        raise InvalidInputError(
            f"reward of {of}: {said!r:.80} is neither {first!r} nor {second!r} nor {TIE!r}; say "
            "which of the two is better; nothing was recorded"
        )
    return float(number)


@dataclass(frozen=True)
class Told:
    """What became of a reward.

    ``status`` is ``accepted``; ``duplicate``: the same reward had been told before, and counts
    once; ``late``: another worker has told this pull, or has it by now, and that reward counts;
    ``conflict``: the same worker had told another reward, and that one stands; ``again``: it is far
    from all before, and by the rule of this study the pull is back in line, to be measured again.
    All are recorded; repeats are counted.

    Examples
    --------
    >>> import surepick as sp
    >>> study = sp.create_study("told", sp.Problem([[1.0], [2.0]]), storage="memory://")
    >>> (pull,) = study.ask()
    >>> study.tell(pull.id, 0.5).status, study.tell(pull.id, 0.5).status
    ('accepted', 'duplicate')
    """

    pull: int
    status: Literal["accepted", "duplicate", "late", "conflict", "again"]
    value: float | None  #: the reward that counts; None: whoever has the pull has not told it yet
    warning: str | None = None  #: why a reward may be wrong, if it is very unusual

    @property
    def used(self) -> bool:
        """Whether the reward that counts is the one told."""
        return self.status in ("accepted", "duplicate")

    def or_refuse(self, reward: OneReward) -> Told:
        """This, or an error where the same worker had told another reward."""
        if self.status == "conflict":
            raise TellConflictError(
                f"measurement {self.pull} already has the reward {self.value!r}, which counts; "
                f"{reward!r} was noted but does not count. If the first reward is wrong, correct "
                "it (surepick correct, study.correct)"
            )
        return self


def without_labels(rewards: Any) -> tuple[list[Any], list[Said]]:
    """(pull, reward) pairs; and what options they are said to be of, where there are three."""
    given = list(rewards.items() if isinstance(rewards, Mapping) else rewards)
    pairs, said = [], []
    for one in given:
        if isinstance(one, tuple | list) and len(one) == 3:
            if one[2] is not None:
                said.append(Said(as_pull(one[0]), one[2]))
            one = one[:2]
        pairs.append(one)
    return pairs, said


#: begins the names that clients make up for an ask without one
ONCE = "once-"


def has_a_name(worker: str) -> bool:
    """Whether somebody gave this name: others may be one and the same."""
    return not worker.startswith((ANONYMOUS, ONCE))


_ANY = 2**1000  # what never was a number of a pull is said so, however large it is
#: what to do with a measurement of an option that was not asked for
UNASKED = (
    "tell rewards by the numbers of the pulls that ask hands out. If you have a measurement that "
    "was not asked for, keep it until the study asks for that option, and hand it in then instead "
    "of measuring again (use all that you have, oldest first, whatever they show). Or start a new "
    "study with it (--past, past=…)"
)


def as_pull(number: Any) -> int:
    """The number of a pull that may exist, or an error."""
    if isinstance(number, str):
        raise InvalidTypeError(
            f"pull_id: {number!r:.80} is not the number of a measurement; {UNASKED}"
        )
    pull = whole(number, "pull_id", most=_ANY)
    if pull >= 2**62:
        raise UnknownPullError(f"this study never handed out measurement {pull}")
    return pull


def said_by(by: str | None, token: str | None) -> str | None:
    """Who did something, as certificates say it: a name, and the token that was used."""
    return by if token is None else f"{by or 'somebody'} (token {token})"


def as_failure(reason: Any) -> str:
    """Why a measurement failed, as programs say it, or an error."""
    if not isinstance(reason, str):
        raise InvalidTypeError(f"reason must be a text; got {reason!r:.80}")
    return as_output(reason)


def as_name(name: Any, what: str) -> str:
    """A name that every database can keep, or an error."""
    if as_line(name, what).startswith(ANONYMOUS):
        raise InvalidInputError(f"{what} must not begin with {ANONYMOUS!r}; got {name!r:.250}")
    return name


def is_meant(said: Any, arm: int, labels: Sequence[str], number: bool = False) -> bool:
    """Whether a text means the option of this number.

    Upper case, blanks and how a number is written do not matter, unless they tell options apart.

    Examples
    --------
    >>> is_meant("Red ", 0, ["red", "blue"]), is_meant("Red", 0, ["red", "Red"])
    (True, False)
    >>> is_meant(7.0, 1, ["6", "7"]), is_meant(1, 1, ["a", "b"]), is_meant(1, 1, ["a", "b"], True)
    (True, False, True)
    """
    text, label = str(said).strip(), labels[arm]
    if number and as_number(text) == arm:
        return True
    if text == label or text in labels:
        return text == label
    value = as_number(text)
    return _folded(text) == _folded(label) or (value is not None and value == as_number(label))


def contradictions(said: Sequence[Said], arms: dict[int, int], labels: Sequence[str]) -> list[str]:
    """What is said of another option than the pull was for, in words."""
    found = []
    for pull, option, where, number in said:
        if pull not in arms or is_meant(option, arms[pull], labels, number):
            continue
        at = f"{where}: " if where else ""
        found.append(
            f"{at}measurement {pull} was for {labels[arms[pull]]!r}, not for {str(option)!r:.80}"
        )
    return found


def refuse_others(said: Sequence[Said], arms: dict[int, int], labels: Sequence[str]) -> None:
    """Raise where a reward is said to be of another option than its pull was for."""
    found = contradictions(said, arms, labels)
    if found:
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise InvalidInputError(
            f"{'; '.join(found[:_SHOWN])}{more}. Nothing was recorded: check whether rows, "
            "samples or pull numbers were mixed up"
        )


def _folded(text: str) -> str:
    return " ".join(as_seen(text).casefold().split())
