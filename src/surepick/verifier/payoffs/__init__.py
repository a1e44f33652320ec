"""What bets pay under each kind of noise, worked out again."""

from surepick.errors import InvalidInputError
from surepick.verifier.noise import Noise
from surepick.verifier.payoffs.base import Payoff
from surepick.verifier.payoffs.bounded import Bounded, BySegment, YesNo
from surepick.verifier.payoffs.paired import Paired
from surepick.verifier.payoffs.student import Gaussian, Student
from surepick.verifier.payoffs.symmetric import Symmetric
from surepick.verifier.payoffs.wins import PairedWins, Wins

__all__ = ["declare", "payoff_of"]

_PAYOFFS: dict[str, type[Payoff]] = {
    "symmetric": Symmetric,
    "any": Wins,
    "equal": Student,
    "known": Gaussian,
    "yes-no": YesNo,
    "segments": BySegment,
    "bounded": Bounded,
    "pairs": YesNo,  # bets on pairs have a rule of their own
}


#: where options are measured on items, and nothing else is said
_ON_ITEMS: dict[str, type[Payoff]] = {"any": PairedWins}


def declare(kind: str, payoff: type[Payoff]) -> None:
    """The bets of a kind of noise of another package."""
    _PAYOFFS[kind] = payoff


def payoff_of(kind: Noise | type[Noise], items: bool = False) -> type[Payoff]:
    """The bets of a kind of noise (of options on items), or an error that names it."""
    if items:
        return _ON_ITEMS.get(kind.kind, Paired)
    if kind.kind not in _PAYOFFS:
        raise InvalidInputError(f"the kind of noise {kind.kind!r} has no bets in the verifier")
    return _PAYOFFS[kind.kind]
