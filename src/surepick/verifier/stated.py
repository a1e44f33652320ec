"""The parts of the sentence of a certificate, as they were checked."""

from __future__ import annotations

from dataclasses import dataclass

_NO = "no guarantee: "


@dataclass(frozen=True)
class Stated:
    """What a certificate says, part by part, each as it stands in its sentence."""

    what: str = ""  #: what is promised; empty: nothing
    sure: str = ""  #: how sure that is
    theorem: str = ""
    needs: str = ""  #: what the theorem rests on beside the model
    also: str = ""  #: what is shown beside it, of options that beat each other in a circle
    also_sure: str = ""  #: how sure that is
    conditions: tuple[str, ...] = ()
    compares: bool = False  #: whether claims are made against a baseline, called
    against: str = ""  #: like this
    several: bool = False  #: whether more than one option is named
    smaller: bool = False  #: whether smaller is better
    stopped: str = ""  #: what ended it, where it was not decided: "by hand", or which limit
    limit: float | None = None  #: and how much that was
    left: int = 0  #: options that are left then, or undecided
    why: str = ""  #: nothing is promised, for this reason

    @property
    def text(self) -> str:
        if self.stopped and not (self.compares and self.what):
            return self._early()
        undecided = self._stopped("option", "undecided") if self.stopped else ""
        way = "where smaller is better" if self.smaller else ""
        also = f"of which {self.also}{self.also_sure}" if self.also else ""
        said = [self._promised(), undecided, also, way, *self.conditions]
        if self.why and self.what:
            said[0] = f"{_NO}{self.why}; otherwise it would be {said[0]}"
        elif self.why:
            said[0] = f"{_NO}{self.why}"
        return "; ".join(filter(None, said))

    def _promised(self) -> str:
        if not self.what:
            return ""
        theorem = f" ({self.theorem})" if self.theorem else ""
        return f"{self.what}{self.sure}{theorem}{', ' if self.needs else ''}{self.needs}"

    def _stopped(self, noun: str, state: str) -> str:
        how = {
            "budget": f"by budget={self.limit:.12g}" if self.limit is not None else "",
            "max_samples": f"by max_samples={self.limit}",
            "tied": "as they look tied",
        }.get(self.stopped, self.stopped)
        return f"stopped {how} with {self.left} {noun}{'s' if self.left > 1 else ''} {state}"

    def _early(self) -> str:
        aside = " (smaller is better)" if self.smaller else ""
        if self.compares:
            return f"{_NO}{self._stopped('option', 'undecided')}; nothing is claimed{aside}"
        looks = "those that look" if self.several else "the one that looks"
        said = f"{_NO}{self._stopped('candidate', 'left')}; the answer is {looks} best{aside}"
        if not self.what:
            return said
        return "; ".join([f"{said}, and {self._promised()}", *self.conditions])
