"""By which rule a certificate is checked, and what may be concluded from it: by what was asked."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from surepick.verifier import exact
from surepick.verifier.check import Check

#: lists of options that a claim may have, each as an answer to some question
_LISTS = frozenset({"candidates", "better", "worse", "close", "undecided", "ruled_out"})
_CHOSEN = frozenset({"candidates"})
_COMPARED = frozenset({"better", "worse", "close", "undecided"})
_RULED_OUT = frozenset({"better", "ruled_out", "undecided"})


class Rule(NamedTuple):
    """What decides, and what may be concluded from it."""

    verify: Callable[[Check], Any] | str  #: what was shown; or the function that works it out
    conclude: str  #: the function that refuses a claim which does not follow from it
    p_value: bool = False  #: whether an answer may have one
    lists: frozenset[str] = frozenset()  #: of options, that a claim has beside the answer
    may: frozenset[str] = frozenset()  #: and those that it may have

    def check_claim(self, check: Check) -> None:
        """A claim must not have what nobody concludes here: readers would take it for proven."""
        check.demand(
            "p_value" not in check.claim or self.p_value,
            "it gives a p-value, which its rule does not have",
        )
        has = check.claim.keys() & _LISTS
        wrong = sorted((has ^ self.lists) - self.may)
        check.demand(
            not wrong,
            f"its claim {'has' if set(wrong) & has else 'lacks'} {''.join(wrong[:1])!r}, by what "
            "was asked",
        )

    def shown(self, check: Check) -> Any:
        verify = _function(self.verify) if isinstance(self.verify, str) else self.verify
        return verify(check)

    def check_conclusion(self, check: Check, shown: Any) -> None:
        """The claim must follow from what was shown."""
        _function(self.conclude)(check, shown)


def _function(name: str) -> Callable[..., Any]:
    """One of a module beside this one, as in ``best:verify``; loaded when it is needed."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"surepick.verifier.{module}"), function)


_LEFT = "questions.answers:conclude_left"
_SEVERAL = "questions.answers:conclude_chosen"
_CLAIMS = "questions.answers:conclude_claims"

#: by the rule that a certificate names, and by what is asked (None: which candidate is the best)
_RULES: dict[str, dict[str | None, Rule]] = {
    "pooled": {
        None: Rule("questions.best:verify", _LEFT, p_value=True),
        "top": Rule("questions.best:verify_top", _SEVERAL, lists=_CHOSEN),
        "quantile": Rule("questions.quantile:verify", _LEFT, p_value=True),
        "cheapest": Rule("questions.cheapest:verify", _LEFT, p_value=True),
        "claims": Rule("questions.baseline:verify", _CLAIMS, lists=_COMPARED),
    },
    "complete": {
        None: Rule(  # where some tie, these are listed
            "questions.table:verify", "questions.table:conclude", p_value=True, may=_CHOSEN
        ),
        "top": Rule("questions.table:verify_top", "questions.table:conclude_top", lists=_CHOSEN),
        "cheapest": Rule("questions.cheapest:verify_on_table", _LEFT, p_value=True),
        "claims": Rule("questions.baseline:verify_on_table", _CLAIMS, lists=_COMPARED),
    },
    "keeping": {
        None: Rule("questions.keeping:verify", "questions.keeping:conclude"),
        "top": Rule(
            "questions.keeping:verify_top", "questions.keeping:conclude_top", may=_CHOSEN
        ),
        "cheapest": Rule(
            "questions.keeping_cheapest:verify", "questions.keeping_cheapest:conclude_cheapest"
        ),
        "claims": Rule(
            "questions.keeping_baseline:verify",
            "questions.keeping_baseline:conclude",
            lists=_RULED_OUT,
        ),
    },
    "pairs": {
        None: Rule("questions.pairs:verify", "questions.pairs:conclude"),
        "top": Rule("questions.pairs:verify", "questions.pairs:conclude", lists=_CHOSEN),
        "cheapest": Rule("questions.pairs:verify_cheapest", "questions.pairs:conclude_cheapest"),
        "claims": Rule("questions.pairs:verify_claims", _CLAIMS, lists=_COMPARED),
    },
    **{  # those of the literature, which ask for nothing else
        name: {None: Rule(f"rules.{name.replace('-', '_')}:verify", _LEFT)}
        for name in (
            "phases", "glr", "budget", "ellipsoid", "intervals", "static", "alba", "checked-fit",
        )
    },
}  # fmt: skip


def register(name: str, verify: Callable[[Check], Any], claims: bool = False) -> None:
    """A question of another package, worked out from the record.

    ``verify`` says who is left of the candidates; or what is claimed of each (``claims``).
    """
    made = Rule(verify, _CLAIMS, lists=_COMPARED) if claims else Rule(verify, _LEFT, p_value=True)
    _RULES["pooled"][name] = made


def name_of(evidence: Any) -> str | None:
    """What evidence says that was asked: a name; None: which candidate is the best."""
    asked = evidence.get("question") if isinstance(evidence, dict) else None
    if not isinstance(asked, dict):
        return None
    if "asked" in asked:
        return str(asked["asked"]).partition(":")[0]
    return next((name for name in _RULES["pooled"] if name in asked), "claims")


def is_known(evidence: Any) -> bool:
    """Whether there is a rule for what was asked."""
    return name_of(evidence) in _RULES["pooled"]


def rule_of(check: Check) -> Rule:
    """The rule for what was asked."""
    check.demand(check.rule in _RULES, f"it uses an unknown rule {check.rule!r}")
    own, name = _RULES[check.rule], name_of(check.evidence)
    if len(own) == 1:  # it has no questions
        return own[None]
    check.demand(name in own, f"it answers an unknown question {name!r:.80}")
    return own[name]


def asked_text(check: Check) -> str:
    """The question of another package as it was asked, which must be what was set."""
    asked = exact.mapping(check.evidence["question"], "the question")
    check.demand(set(asked) == {"asked"}, "the question says more than it should")
    check.demand(
        check.settings.get("question") == asked["asked"],
        "the question is not the one that the algorithm was set to",
    )
    return exact.text(asked["asked"], "the question")
