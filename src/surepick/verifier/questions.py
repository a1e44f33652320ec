"""By which rule a certificate is checked that answers another question than which is the best.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.chosen import check_chosen
from surepick.verifier.comparison import check_comparison
from surepick.verifier.rules import complete, pairs
from surepick.verifier.statement import check_claims_statement, check_statement

#: lists of options that a claim may have, each as an answer to some question
_LISTS = frozenset({"candidates", "better", "worse", "close", "undecided", "ruled_out"})
_CHOSEN = frozenset({"candidates"})
_COMPARED = frozenset({"better", "worse", "close", "undecided"})
_RULED_OUT = frozenset({"better", "ruled_out", "undecided"})


class Rule(NamedTuple):
    """What decides, and what may be concluded from it."""

    verify: Callable[[Check], Any] | str  #: what was shown; or the module that works it out
    conclude: Callable[[Check, Any], None]  #: refuses a claim that does not follow from it
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
        """What the record shows."""
        if isinstance(self.verify, str):
            rule = importlib.import_module(f"surepick.verifier.rules.{self.verify}")
            return rule.verify(check)
        return self.verify(check)


def who_is_left(check: Check, left: list[int]) -> None:
    """The claim must follow from who is left."""
    check.check_conclusion(left)
    check_statement(check, len(left))


def _several(check: Check, found: Any) -> None:
    check_chosen(check, found)
    check_statement(check, len(found.left))


def _claims(check: Check, found: Any) -> None:
    check_comparison(check, found)
    check_claims_statement(check, found)


def _on_table(check: Check, found: Any) -> None:
    complete.conclude(check, found)
    check_statement(check, 1 if found.tied else len(found.left))


def _several_on_table(check: Check, found: Any) -> None:
    complete.conclude_top(check, found)
    check_statement(check, len(found.left))


def _with_limits(check: Check, found: Any) -> None:
    from surepick.verifier.rules.keeping import conclude

    conclude(check, found)


def _claims_with_limits(check: Check, found: Any) -> None:
    from surepick.verifier.rules.keeping_compared import conclude

    conclude(check, found)


#: by name; these are known by a field that only they have
_RULES = {
    "top": Rule("top_m", _several, lists=_CHOSEN),
    "quantile": Rule("quantile", who_is_left, p_value=True),
    "cheapest": Rule("cheapest", who_is_left, p_value=True),
    "claims": Rule("compared", _claims, lists=_COMPARED),
}
#: the same on complete tables, where the name is None for which is the best
_ON_TABLES: dict[str | None, Rule] = {
    None: Rule("complete", _on_table, p_value=True, may=_CHOSEN),  # those that tie
    "top": Rule(complete.verify_top, _several_on_table, lists=_CHOSEN),
    "claims": Rule("complete_compared", _claims, lists=_COMPARED),
}
#: the same where options have to keep limits
_WITH_LIMITS: dict[str | None, Rule] = {
    None: Rule("keeping", _with_limits),
    "claims": Rule("keeping_compared", _claims_with_limits, lists=_RULED_OUT),
}


def register(name: str, verify: Callable[[Check], list[int]]) -> None:
    """A question of another package: what is left of the candidates, worked out from the record."""
    _RULES[name] = Rule(verify, who_is_left, p_value=True)


def name_of(evidence: Any) -> str | None:
    """What evidence says that was asked: a name; None: which candidate is the best."""
    asked = evidence.get("question") if isinstance(evidence, dict) else None
    if not isinstance(asked, dict):
        return None
    if "asked" in asked:
        return str(asked["asked"]).partition(":")[0]
    return next((name for name in _RULES if name in asked), "claims")


def is_known(evidence: Any) -> bool:
    """Whether there is a rule for what was asked."""
    return name_of(evidence) in (None, *_RULES)


def rule_of(check: Check, file: str) -> Rule:
    """The rule for what was asked; ``file`` has that for which is the best."""
    if file == "pairs":
        several = name_of(check.evidence) == "top"
        return Rule(pairs.verify, pairs.conclude, lists=_CHOSEN if several else frozenset())
    if file == "complete":
        name = name_of(check.evidence)
        check.demand(name in _ON_TABLES, f"it answers an unknown question {name!r:.80}")
        return _ON_TABLES[name]
    if file == "keeping":
        name = name_of(check.evidence)
        check.demand(name in _WITH_LIMITS, f"it answers an unknown question {name!r:.80}")
        return _WITH_LIMITS[name]
    name = name_of(check.evidence) if file == "pooled" else None
    if name is None:
        return Rule(file, who_is_left, p_value=file == "pooled")
    check.demand(name in _RULES, f"it answers an unknown question {name!r:.80}")
    return _RULES[name]


def asked_text(check: Check) -> str:
    """The question of another package as it was asked, which must be what was set."""
    asked = exact.mapping(check.evidence["question"], "the question")
    check.demand(set(asked) == {"asked"}, "the question says more than it should")
    check.demand(
        check.settings.get("question") == asked["asked"],
        "the question is not the one that the algorithm was set to",
    )
    return exact.text(asked["asked"], "the question")
