"""What workers get and hand in, and the names they go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from surepick.errors import InvalidInputError, InvalidTypeError, TellConflictError

ANONYMOUS = "~"  #: begins the names that are made up for workers without one


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


@dataclass(frozen=True)
class Told:
    """What became of a reward.

    ``status`` is ``accepted``; ``duplicate``: the same reward had been told before, and counts
    once; ``late``: another worker had told this pull, and that reward stands; ``conflict``: the
    same worker had told another reward, and that one stands. All are recorded.

    Examples
    --------
    >>> import surepick as sp
    >>> study = sp.create_study("told", sp.Problem([[1.0], [2.0]]), storage="memory://")
    >>> (pull,) = study.ask()
    >>> study.tell(pull.id, 0.5).status, study.tell(pull.id, 0.5).status
    ('accepted', 'duplicate')
    """

    pull: int
    status: str
    value: float  #: the reward that counts

    @property
    def used(self) -> bool:
        """Whether the reward that counts is the one told."""
        return self.status in ("accepted", "duplicate")

    def or_refuse(self, reward: float) -> Told:
        """This, or an error where the same worker had told another reward."""
        if self.status == "conflict":
            raise TellConflictError(
                f"pull {self.pull} was told as {self.value!r} before, so {reward!r} is refused "
                f"(and recorded); the first reward counts"
            )
        return self


def as_name(name: Any, what: str) -> str:
    """A name that every database can keep, or an error."""
    if not isinstance(name, str):
        raise InvalidTypeError(f"{what} must be a text; got {name!r:.80}")
    fine = name.isprintable() and name.strip() == name and 0 < len(name) <= 200
    if not fine or name.startswith(ANONYMOUS):
        raise InvalidInputError(
            f"{what} must be 1 to 200 printable characters, not begin with {ANONYMOUS!r}, and "
            f"not begin or end with a space; got {name!r:.250}"
        )
    return name
