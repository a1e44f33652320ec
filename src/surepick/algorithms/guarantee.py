"""What an answer promises."""

from __future__ import annotations

#: kinds of guarantees that have a theorem behind them
PROVEN = ("pac", "eps-pac", "claims", "fdr")


class Guarantee(str):
    """What an answer promises, as a sentence; ``kind`` is for programs.

    Kinds: ``"pac"`` (the best candidate, or the m best, with probability at least 1 - delta),
    ``"eps-pac"`` (within epsilon of the best, or of the m-th best), ``"claims"`` (all claims
    against a baseline are right with that probability), ``"fdr"`` (of these, a share of at most
    delta is wrong on average),
    ``"heuristic"`` (a threshold without a theorem), ``"none"`` (stopped early). It is true
    (``bool``) only when there is a theorem behind it.

    Examples
    --------
    >>> promise = Guarantee("pac", "the best with probability at least 0.95")
    >>> bool(promise), promise.kind
    (True, 'pac')
    """

    kind: str

    def __new__(cls, kind: str, sentence: str) -> Guarantee:
        """A guarantee of this kind, in these words."""
        made = super().__new__(cls, sentence)
        made.kind = kind
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.kind, str(self)  # for copies, and answers sent between processes

    def __bool__(self) -> bool:
        return self.kind in PROVEN
