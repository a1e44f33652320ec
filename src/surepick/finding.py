"""What was found, as data, and the one text of it: who is how, than whom, by how much, how sure.

A door of surepick (timing, evaluations, two variants of a function) hands in claims; no door words
them itself. What an answer promises is in :mod:`surepick.promise`, and stands behind them here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from surepick.promise import Promise


@dataclass(frozen=True)
class Relation:
    """What may hold of options: a sentence each where it is shown, where it is open, and where \
the contrary is shown.

    ``{who}`` and ``{is}``, ``{than}``, ``{by}`` and ``{more}`` (by more than that) stand for the
    claim.
    """

    shown: str
    open: str
    contrary: str = ""


#: which one is it: where another one may be by no more than {by} away, in the second form
FASTEST = Relation("{who} is the fastest", "{who} looks fastest, but that is not clear yet")
NEARLY = Relation("{who} is the fastest, or within {by} of it", FASTEST.open)
#: {by} is what is shortest: a percentile
SHORTEST = Relation(
    "{who} has the shortest {by}", "{who} looks as if it had the shortest {by}, but that is open"
)
SLOWER = Relation(
    "{who} {is} slower than {than}{more}",
    "It is not clear whether {who} {is} slower than {than}{more}",
    "{who} {is} not slower than {than}{more}",
)
WORSE = Relation(
    "{who} {is} worse than {than}{more}",
    "It is not decided whether {who} {is} worse than {than}{more}",
    "{who} {is} not worse than {than}{more}",
)
#: numbers of any kind: amounts decide nothing, so it is said who wins
LOSES = Relation(
    "Worse: {who} usually loses to {than} made worse by {by}",
    "It is not decided whether {who} usually wins against {than} made worse by {by}",
    "Not worse: {who} usually wins against {than} made worse by {by}",
)
#: {by} is how many are known in full
BEST_MEAN = Relation(
    "{who} has the best mean of {by} that are fully known",
    "{who} looks best, but that is not clear yet",
)


@dataclass(frozen=True)
class Claim:
    """What was found of some options.

    Examples
    --------
    >>> print(Claim(("b", "c"), SLOWER, True, than="a", by="5 %", seen="90 runs"))
    b, c are slower than a by more than 5 % (90 runs).
    >>> print(Claim("the new variant", WORSE, None, than="the old one", by="0.1"))
    It is not decided whether the new variant is worse than the old one by more than 0.1.
    """

    who: str | Sequence[str]
    relation: Relation
    shown: bool | None  #: True, False where the contrary is shown, None where it is open
    than: str = ""
    by: str = ""
    seen: str = ""  #: what was seen, in brackets behind it

    def __str__(self) -> str:
        names = (self.who,) if isinstance(self.who, str) else tuple(self.who)
        relation = self.relation
        said = {True: relation.shown, False: relation.contrary, None: relation.open}[self.shown]
        said = said.format(
            **{"who": ", ".join(names), "is": "is" if len(names) == 1 else "are"},
            **{"than": self.than, "by": self.by},
            more=f" by more than {self.by}" if self.by else "",
        )
        if said.startswith("the "):  # no label: an option is called as it is called
            said = f"T{said[1:]}"
        return f"{said} ({self.seen})." if self.seen else f"{said}."


def told(
    claims: Iterable[Claim],
    promise: Promise,
    *,
    beside: Iterable[str] = (),
    such: str = "",
    go_on: str = "",
) -> str:
    """What was found, in a few sentences.

    Parameters
    ----------
    claims
        Each as a sentence.
    promise
        How sure what is shown is; or why nothing is promised.
    beside
        Sentences about what was seen, between both.
    such
        What many are, of which few are wrong, as ``"tests like this one"``; empty where the promise
        is about the option that is named, and says itself what few do.
    go_on
        What would decide it, where everything is open.

    Examples
    --------
    >>> found = Claim("the new variant", WORSE, False, than="the old one", by="0.1")
    >>> print(told([found], Promise(0.05), such="tests like this one"))
    The new variant is not worse than the old one by more than 0.1. Of 100 tests like this one, \
at most 5 are wrong.
    """
    claims = list(claims)
    if promise.why is not None:
        why = [f"Nothing is promised: {promise.why.plain}."]
    elif any(claim.shown is not None for claim in claims):
        why = [promise.how_sure("are wrong", such) if such else promise.plain()]
    else:
        why = [go_on]
    return " ".join(filter(None, [*map(str, claims), *beside, *why]))
