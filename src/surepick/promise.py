"""What an answer promises, as data with two renderings: the exact sentence, and plain words.

Certificates hold the exact sentence, with the theorem behind it, and verifiers check it to the
letter. Plain words say the same to somebody who decides: how sure it is, and what that takes. Each
part brings both with it from its home: a kind of noise its condition, a question what it promises,
a run what happened to it. Nothing takes a sentence apart again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from surepick.text import plural

#: kinds of guarantees that have a theorem behind them
PROVEN = ("pac", "eps-pac", "claims", "fdr")
#: the kind of what is shown where no option is the answer
NOBODY = "nobody"
#: of what is shown where it is the answer only if any option is
IF_ANY = "if-any"
#: kinds that have a theorem behind them, whatever they say
SHOWN = (*PROVEN, NOBODY, IF_ANY)
#: how sure it is: with a probability, of a share on average, without any chance, or as it is said
PROBABLY, ON_AVERAGE, FOR_CERTAIN, AS_SAID = "probably", "on average", "for certain", ""

_NO = "no guarantee: "


class Words(str):
    """A part of an exact sentence, and the same in plain words."""

    plain: str

    def __new__(cls, exact: str, plain: str | None = None) -> Self:
        """Without plain words it is said as it stands: nothing gets lost."""
        made = super().__new__(cls, exact)
        made.plain = exact if plain is None else plain
        return made


class Condition(Words):
    """What a promise rests on: said exactly, and plainly after "This holds …".

    Some say, beside that or instead of it (``plain=""``), what "best" or "better" means: a sentence
    of its own.

    Examples
    --------
    >>> Condition("provided that nobody looked").plain
    'if nobody looked'
    """

    meaning: str
    happened: str  #: what of the study it is about, where that need not be so, in a few words
    #: its name and fields, where it is one of :mod:`surepick.conditions`
    stated: Mapping[str, Any]

    def __new__(
        cls,
        exact: str,
        plain: str | None = None,
        meaning: str = "",
        stated: Mapping[str, Any] | None = None,
        happened: str = "",
    ) -> Self:
        """Where nothing else is said, the plain words are the exact ones with "if"."""
        usual = exact.replace("provided that", "if", 1)
        made = super().__new__(cls, exact, ("" if meaning else usual) if plain is None else plain)
        made.meaning, made.stated, made.happened = meaning, dict(stated or {}), happened
        return made

    @property
    def says(self) -> tuple[str, str]:
        """What "best" means by it, and on what it rests; either may be empty."""
        return self.meaning, self.plain


class Reason(Words):
    """Why nothing is promised."""


@dataclass(frozen=True)
class Promised:
    """What is promised; how sure it is, and by what theorem, comes after it.

    In plain words ``{It}``, ``{it}`` and ``{this}`` stand for the option that is named.
    """

    exact: str
    plain: str = ""  #: a sentence; empty where naming an option says it all
    wrong: str = "name a wrong option"  #: what few of many studies do
    ahead: str = ""  #: the same while nothing is found yet, if that takes other words
    kind: str = "pac"
    chance: str = PROBABLY
    close: str = ""  #: what an option is that epsilon accepts
    others: str = ""  #: what options are then that are not ruled out

    def certain(self, plain: str) -> Promised:
        """This promise where it is no matter of chance."""
        return replace(self, plain=plain, chance=FOR_CERTAIN)


@dataclass(frozen=True)
class Stopped:
    """How it ended, where the question was not answered."""

    how: Words  #: "by hand", or the limit that was reached
    left: int  #: options that are left, or undecided

    def said(self, noun: str, state: str) -> str:
        return f"stopped {self.how} with {self.left} {noun}{'s' if self.left > 1 else ''} {state}"

    def plainly(self, state: str) -> str:
        return f"was stopped {self.how.plain} with {plural(self.left, 'option')} {state}"


@dataclass(frozen=True)
class Promise:
    """All that an answer promises, and on what it rests."""

    delta: float
    what: Promised | None = None  #: None: nothing
    theorem: str = ""
    needs: tuple[Condition, ...] = ()  #: what the theorem itself rests on
    also: Promise | None = None  #: what is shown beside it
    conditions: tuple[Condition, ...] = ()
    compares: bool = False  #: whether claims are made against a baseline
    several: bool = False  #: whether more than one option is named
    smaller: bool = False  #: whether smaller is better
    stopped: Stopped | None = None
    why: Reason | None = None  #: it is withdrawn, or there never was one

    @property
    def early(self) -> bool:
        """Whether it was stopped before anything could be said for sure of an answer."""
        return self.stopped is not None and not (self.compares and self.what is not None)

    @property
    def kind(self) -> str:
        """One word for programs."""
        if self.early:
            return "none"
        return "heuristic" if self.why is not None or self.what is None else self.what.kind

    @property
    def proven(self) -> bool:
        """Whether there is a theorem behind it."""
        return self.kind in PROVEN

    @property
    def shown(self) -> bool:
        """Whether there is a theorem behind it, be it that no option is the answer, or if any."""
        return self.kind in SHOWN

    # -- exactly ---------------------------------------------------------------------------
    @property
    def exact(self) -> str:
        """The sentence that a certificate holds."""
        if self.early:
            return self._stopped_early()
        parts = [self._promised()]
        if self.stopped is not None:
            parts.append(self.stopped.said("option", "undecided"))
        if self.also is not None:
            parts.append(self.also.exact)
        parts += [SMALLER] if self.smaller else []
        text = "; ".join([*parts, *self.conditions])
        if self.why is None:
            return text
        otherwise = "; otherwise it would be " if self.what else ""
        return f"{_NO}{self.why}{otherwise}{text}"

    def _promised(self) -> str:
        """What is promised, how sure, by which theorem, and on what that rests."""
        if self.what is None:
            return ""
        sure = {
            PROBABLY: f" with probability at least {confidence(self.delta)}",
            ON_AVERAGE: " on average",
            FOR_CERTAIN: " for certain",
            AS_SAID: "",
        }[self.what.chance]
        theorem = f" ({self.theorem})" if self.theorem else ""
        return f"{self.what.exact}{sure}{theorem}" + "".join(f", {one}" for one in self.needs)

    def _stopped_early(self) -> str:
        assert self.stopped is not None
        aside = " (smaller is better)" if self.smaller else ""
        if self.compares:
            return f"{_NO}{self.stopped.said('option', 'undecided')}; nothing is claimed{aside}"
        looks = "those that look best" if self.several else "the one that looks best"
        said = f"{_NO}{self.stopped.said('candidate', 'left')}; the answer is {looks}{aside}"
        if self.what is None:
            return said
        return "; ".join([f"{said}, and {self._promised()}", *self.conditions])

    # -- in plain words --------------------------------------------------------------------
    def plain(self, it: str | None = None, rests: str | None = None) -> str:
        """The promise in plain words.

        What was chosen is called "it", or as it is told to be called.

        Examples
        --------
        >>> linear = Condition("if rewards are linear in the features", "if effects add up")
        >>> print(Promise(0.05, Promised("the best"), "a theorem", conditions=(linear,)).plain())
        Of 100 studies like this one, at most 5 name a wrong option. This holds if effects add up.
        >>> print(Promise(0.05, stopped=Stopped(Words("by hand"), 3)).plain())
        It looks best, but that is not proven: the study was stopped by hand with 3 options left.
        """
        rests = rests_on((*self.needs, *self._all_conditions())) if rests is None else rests
        if self.early:
            return self._early_plainly(rests, it)
        if self.why is not None:
            return f"{self._looks(it)}: {self.why.plain}."
        assert self.what is not None
        said = [found_plainly(self.what, it), self._sure()]
        if self.stopped is not None:
            said.append(f"The study {self.stopped.plainly('undecided')}.")
        if self.also is not None and self.also.what is not None:
            said += [found_plainly(self.also.what, it), self.also._sure()]
        return " ".join(filter(None, [*said, rests]))

    def short(self, it: str | None = None) -> str:
        """The promise in a line: that it has conditions is said, and which the answer lists.

        Those that are about something which happened are named.

        Examples
        --------
        >>> linear = Condition("if rewards are linear in the features", "if effects add up")
        >>> print(Promise(0.05, Promised("the best"), conditions=(linear,)).short())
        Of 100 studies like this one, at most 5 name a wrong option. This holds on conditions that \
the answer lists.
        """
        return self.plain(it, self._briefly())

    def how_sure(self, wrong: str, such: str = "studies like this one") -> str:
        """How sure what was decided is, and on what that rests, where a door says what it was.

        Examples
        --------
        >>> rain = Condition("provided that it does not rain")
        >>> print(Promise(0.05, conditions=(rain,)).how_sure("are wrong", "tests like this one"))
        Of 100 tests like this one, at most 5 are wrong. This holds if it does not rain.
        """
        rests = rests_on((*self.needs, *self._all_conditions()))
        return " ".join(filter(None, [f"{of_many(self.delta, wrong, such)}.", rests]))

    def conditions_listed(self) -> list[dict[str, Any]]:
        """On what it rests, for programs: exactly, plainly, and by name where there is one."""
        listed = () if self.early and self.what is None else (*self.needs, *self.conditions)
        return [
            {
                **one.stated,
                "exact": str(one),
                "plain": rests_on((one,)) if one.meaning else one.plain,
            }
            for one in listed
        ]

    def _all_conditions(self) -> tuple[Condition, ...]:
        return (SMALLER, *self.conditions) if self.smaller and not self.early else self.conditions

    def _briefly(self) -> str:
        """That it rests on something, and on what of it that happened."""
        rests = [*self.needs, *self.conditions]
        others = [one for one in rests if one.stated.get("name") != "alone"]
        holds = ["for one study alone"] if len(others) < len(rests) else []
        about = list(dict.fromkeys(one.happened for one in others if one.happened))
        also = f", also about {in_a_row(about)}" if about else ""
        holds += [f"on conditions that the answer lists{also}"] if others else []
        return f"This holds {', '.join(holds)}." if holds else ""

    def _sure(self) -> str:
        what = self.what
        if what is None or what.chance in (FOR_CERTAIN, AS_SAID):
            return ""
        if what.chance == ON_AVERAGE:
            share = f"at most {100 * self.delta:.3g} % of {what.wrong}"
            return f"On average over studies like this one, {share}."
        return f"{of_many(self.delta, what.wrong)}."

    def _looks(self, it: str | None) -> str:
        if self.compares:
            return "None of this is proven"
        who = "They look" if self.several else f"{it or 'It'} looks"
        return f"{who} best, but that is not proven"

    def _early_plainly(self, rests: str, it: str | None) -> str:
        assert self.stopped is not None
        if self.compares:
            return f"Nothing is claimed: the study {self.stopped.plainly('undecided')}."
        said = f"{self._looks(it)}: the study {self.stopped.plainly('left')}."
        if self.what is None:
            return said
        few = of_many(self.delta, self.what.wrong)
        among = f"{self.what.plain}: {few[:1].lower()}{few[1:]}."
        return " ".join(filter(None, [said, among, rests]))

    @property
    def ahead(self) -> str:
        """What is promised before anything is found, in a line as :meth:`short` is.

        It is about studies, not about one answer: a small error probability is no probability that
        an option which was named is wrong.
        """
        if self.why is not None:
            return f"Nothing is promised: {self.why.plain}."
        if self.what is None:
            return "Nothing is promised."
        wrong = replace(self.what, wrong=self.what.ahead or self.what.wrong)
        return " ".join(filter(None, [replace(self, what=wrong)._sure(), self._briefly()]))

    # -- what becomes of it ----------------------------------------------------------------
    def withdrawn(self, why: Reason) -> Promise:
        """Nothing is promised, for a reason."""
        return replace(self, why=why)

    def looks_best(self) -> Promise:
        """All that is left of one that was stopped by hand where no promise can be made at all."""
        return replace(self, what=None, conditions=(), needs=()) if self.early else self


#: which way is better, where it is not the usual one
SMALLER = Condition("where smaller is better", meaning="Smaller is better here.")


def found_plainly(what: Promised, it: str | None = None) -> str:
    """What was found, as a sentence; empty where naming the option says it all."""
    names = ("It", "it", "this one") if it is None else (it, it, it)
    said = what.plain
    for place, name in zip(("{It}", "{it}", "{this}"), names):
        said = said.replace(place, name)
    return said


def as_said(kind: str, sentence: str) -> Promised:
    """A sentence of somebody else's, which says all by itself."""
    return Promised(sentence, f"{sentence[:1].upper()}{sentence[1:]}.", kind=kind, chance=AS_SAID)


def in_a_circle(beaten: str) -> Promised:
    """Of some options each beats the next one."""
    wrong = "are wrong about that circle (a risk of its own)"
    return Promised(f"of which {beaten}", f"{beaten}.", wrong)


def rests_on(conditions: tuple[Condition, ...]) -> str:
    """On what it rests, as a few sentences."""
    listed = in_a_row([one.plain for one in conditions if one.plain])
    meant = [one.meaning for one in conditions]
    return " ".join(filter(None, [*meant, f"This holds {listed}." if listed else ""]))


def in_a_row(parts: list[str]) -> str:
    """All of these, with "and" before the last one."""
    *first, last = parts or [""]
    return f"{', '.join(first)}, and {last}" if first else last


def confidence(delta: float) -> str:
    """1 - delta in words: never rounded up to a certainty."""
    return f"{1 - delta:.12g}" if delta >= 1e-9 else f"1 - {delta:g}"


# -- how many of many studies ----------------------------------------------------------------
def out_of(share: float, tolerance: float = 0.001) -> tuple[int, int]:
    """A share as whole numbers, so many of so many; rounded up, by no more than the tolerance.

    Examples
    --------
    >>> out_of(0.05), out_of(0.025), out_of(1e-6), out_of(0.0123, tolerance=0.1)
    ((5, 100), (25, 1000), (1, 1000000), (13, 1000))
    """
    many = 100
    while many < 10**15:
        few = math.ceil(share * many * (1 - 1e-12))
        if few <= share * many * (1 + tolerance):
            return few, many
        many *= 10
    return 1, math.floor(1 / max(share, 1e-300))


def of_many(delta: float, wrong: str, such: str = "studies like this one") -> str:
    """How many of many studies do what is wrong: a verb, and what belongs to it.

    Examples
    --------
    >>> of_many(0.05, "name a wrong option"), of_many(0.01, "are wrong about it")
    ('Of 100 studies like this one, at most 5 name a wrong option', 'Of 100 studies like this one, \
at most 1 is wrong about it')
    """
    few, many = out_of(delta)
    verb, _, rest = wrong.partition(" ")
    if few == 1:
        verb = "is" if verb == "are" else f"{verb}s"
    return f"Of {written(many)} {such}, at most {few:,} {verb} {rest}"


def wrong_somewhere(delta: float) -> str:
    """How many of many tests are wrong where each segment has an answer of its own.

    Examples
    --------
    >>> wrong_somewhere(0.05)
    'Of 100 such tests, at most 5 are wrong in some segment'
    """
    return of_many(delta, "are wrong in some segment", "such tests")


def sureness(p_value: float, supposing: str = "If another option were the best") -> str:
    """How sure an answer is that is not proven.

    Examples
    --------
    >>> sureness(0.03)
    'If another option were the best, at most 3 of 100 studies would ever show evidence this \
strong, however often you look (p-value 0.03).'
    """
    few, many = out_of(p_value, tolerance=0.1)
    if few >= many:
        return "Another option could just as well be the best (p-value 1)."
    return (
        f"{supposing}, at most {few:,} of {written(many)} studies would ever show evidence this "
        f"strong, however often you look (p-value {p_value:.2g})."
    )


def written(many: int) -> str:
    """A large number, as people read it."""
    return f"{many:,}" if many <= 10**9 else f"{many:.3g}"
