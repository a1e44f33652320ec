"""An independent check of certificates, in deliberately plain NumPy (and one function of SciPy).

Nothing here is shared with the algorithms: from the recorded pulls and reward sums alone, this
file works out again why every other candidate is ruled out, and refuses a certificate whose
numbers, levels or conclusions do not follow. What it cannot see it says: that the noise is of the
stated kind, that the model is linear, and that the pulls of each batch, and the parts that they
were dealt into, were chosen before its rewards were seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from surepick.errors import CertificateError, InvalidInputError
from surepick.verifier import conditions, exact, published
from surepick.verifier.caps import check_caps
from surepick.verifier.changed import check_corrections, check_set_aside, check_unmeasured, left_out
from surepick.verifier.check import Check
from surepick.verifier.noise import KINDS
from surepick.verifier.options import check_accepted, check_options
from surepick.verifier.order import check_order, check_overlap
from surepick.verifier.questions import is_known, rule_of
from surepick.verifier.record import Certificate, read_one
from surepick.verifier.segments import check_segment
from surepick.verifier.stated import Stated
from surepick.verifier.tables import Given
from surepick.verifier.traffic import check_traffic

# what reading a record may stumble over that lacks something, or has something else in its place
_MALFORMED = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
_WITH_PAST = ("pooled", "keeping", "checked-fit")


@dataclass(frozen=True)
class Verification:
    """A certificate that holds: what it proves and at which total risk."""

    candidate: int
    label: str
    guarantee: str
    delta: float
    risk: float  #: sum of the levels actually spent; at most delta
    checked: int  #: comparisons recomputed
    statement: str
    replayed: bool = False  #: whether the run was made again, and every batch came out as recorded
    replay: str = "not done"  #: how that came out, or why it was not done
    candidates: tuple[int, ...] = ()  #: all that were chosen: one, unless more were asked for
    labels: tuple[str, ...] = ()  #: theirs
    #: False where a replay was asked for and could not be made in full, or gave other pulls
    complete: bool = True
    unknown: tuple[str, ...] = ()  #: fields that nobody here knows, and that were not checked
    left_out: tuple[str, ...] = ()  #: what was set aside for all options, by whom and why
    stated: Stated = field(default_factory=Stated)  #: the statement part by part, as it was checked
    plain: str = field(default="", compare=False)  #: in plain words, from ``surepick.verify``
    #: what its measurements are said to give, in plain words, from ``surepick.verify``
    rewards: str = field(default="", compare=False)

    def __bool__(self) -> bool:
        return self.complete


def verify(
    certificate: dict[str, Any] | str | Path | Certificate, problem: Any = None
) -> Verification:
    """Check a certificate.

    Parameters
    ----------
    certificate
        A dict, JSON text, or the path of a JSON file; also in a DSSE envelope, and what
        ``record.read_one`` made of it. (Who signed it is another question: ``surepick verify
        --signed-by``.)
    problem
        What a certificate of very many arms refers to instead of containing it: the
        :class:`surepick.Problem`, or its arms as an array or the path of a ``.npy`` file. Arms,
        candidates and labels are compared with the certificate; the noise is the certificate's.

    Returns
    -------
    Verification
        What was verified.

    Raises
    ------
    CertificateError
        When the certificate does not hold, or is about other arms than those given.

    Examples
    --------
    >>> import surepick as sp
    >>> from surepick.verifier.verify import verify
    >>> answer = sp.identify(sp.Problem([[1.0], [2.0]]), lambda arm: float(arm))
    >>> verify(answer.certificate()).candidate
    1
    """
    record = read_one(certificate)
    given = _given(problem)
    try:
        _demand_problem(record.body["problem"], given)
        with np.errstate(all="ignore"):  # what overflows is refused below
            return _run(Check(record.body, given), record)
    except (CertificateError, InvalidInputError):
        raise
    except _MALFORMED as error:
        raise CertificateError(f"certificate refused: it is malformed ({error!r:.200})") from None


def _given(problem: Any) -> Given:
    """Tables and labels of a problem, or the arms alone."""
    if problem is None:
        return Given()
    if isinstance(problem, str | Path):
        if Path(problem).suffix != ".npy":
            raise InvalidInputError(
                f"problem: {str(problem)!r} is no .npy file; read it into a surepick.Problem, and "
                f"pass that"
            )
        return Given(_matrix(np.load(problem, mmap_mode="r", allow_pickle=False)))
    if not hasattr(problem, "transductive"):
        return Given(_matrix(problem))
    candidates = problem.candidates if problem.transductive else None
    return Given(problem.arms, candidates, problem.labels, problem.candidate_labels)


def _matrix(arms: Any) -> Any:
    arms = arms if hasattr(arms, "shape") else np.array(arms)
    if len(arms.shape) != 2:
        raise InvalidInputError(
            f"problem must be a surepick.Problem, or its arms as a matrix; got an array of shape "
            f"{tuple(arms.shape)}"
        )
    return arms


def _demand_problem(held: dict[str, Any], given: Given) -> None:
    """Say what to do where a certificate refers to tables that were not given."""
    for what in ("arms", "candidates"):
        if isinstance(held[what], dict) and getattr(given, what) is None:
            count, features = held[what]["shape"]
            cure = (
                "pass the arms (the array or the path of a .npy file) or the Problem: "
                "verify(certificate, problem=arms), surepick verify certificate.json --arms "
                "arms.npy"
                if what == "arms" and held["candidates"] is None
                else "pass the Problem: verify(certificate, problem=problem), or surepick verify "
                "certificate.json --arms arms.npy --candidates candidates.npy"
            )
            raise InvalidInputError(
                f"problem: the certificate does not contain its {count:,} {what} of {features:,} "
                f"features, only their SHA-256; {cure}"
            )


def names_unknown(body: dict[str, Any]) -> bool:
    """Whether a certificate names a kind of noise, or a question, that is not known here."""
    problem = body.get("problem")
    noise = problem.get("noise") if isinstance(problem, dict) else None
    known = not isinstance(noise, str) or noise in KINDS
    return not (known and is_known(body.get("evidence")))


def _run(check: Check, given: Certificate) -> Verification:
    record = check.record
    check.check_record()
    check.check_measured()
    if record.chain is not None:
        check.demand(
            re.fullmatch("[0-9a-f]{64}", record.chain.head), "the head of its chain is no SHA-256"
        )
        check.demand(record.chain.links >= 1, "its chain has no links")
    made = given.body.get("made")
    if isinstance(made, dict) and "pulls_rule" in made:  # by which replays tell what to demand
        exact.whole(made["pulls_rule"], "the rule of its pulls")
    if record.options:
        check_options(check)
    if record.accepted:
        check_accepted(check)
    if record.traffic is not None:
        check_traffic(check, record.traffic)
    check_corrections(check)
    check_set_aside(check)
    conditions.stated_in(check)
    check_overlap(check)
    check_order(check)
    check_caps(check)
    if given.part is not None:
        check_segment(check, given.part)
    stopped = record.stopped in (None, "by hand")
    check.demand(stopped, "it says that it stopped otherwise")
    rule = rule_of(check)
    published.check_name(check)
    past = not check.past or check.rule in _WITH_PAST
    check.demand(past, f"the rule {check.rule!r} knows no past measurements")
    rule.check_claim(check)
    rule.check_conclusion(check, rule.shown(check))
    check_unmeasured(check)
    claim = check.claim
    return Verification(
        candidate=claim["candidate"],
        label=claim["label"],
        guarantee=claim["guarantee"],
        delta=check.delta,
        risk=check.risk,
        checked=check.checked,
        statement=claim["statement"],
        candidates=tuple(chosen := claim.get("candidates", [claim["candidate"]])),
        labels=tuple(check.label(i) for i in chosen),
        unknown=unknown_fields(given.body),
        left_out=left_out(record),
        stated=check.stated or Stated(),
    )


# -- what nobody here looks at ---------------------------------------------------------------
# A later release, or somebody who forges, may write more into a certificate than this verifier
# knows. It proves nothing and is checked by nothing, but readers may take it for part of what was
# verified: it is listed.
_MOST = 20  # that are listed


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLACES = {
    "": _names(
        "format version made algorithm problem delta epsilon batches evidence claim past stopped "
        "corrections conditions set_aside unmeasured order options accepted limits traffic chain "
        "segment digest signature "
    ),
    "algorithm": _names("name settings"),
    "conditions": conditions.FIELDS | {"name"},
    "corrections": _names(
        "pull arm batch asked old new number aside at by reason period rows bucket"
    ),
    "accepted": _names("epsilon batch changes reason by at"),
    "set_aside": _names("of name decided left_out reason by at from asked"),
    "segment": _names("of name all delta test"),
    "claim": _names(
        "candidate candidates label survivors samples guarantee statement p_value better worse "
        "close undecided ruled_out "
    ),
    "problem": _names(
        "arms candidates noise labels candidate_labels misfit costs large measured minimise numbers"
    ),
    "batches": _names("arms counts sums spreads parts stratum after items numbers"),
}
#: where names are those of settings, or of further numbers, which others know
_OWN_NAMES = ("algorithm.settings", "problem.numbers", "batches.numbers", "problem.noise.segments")
#: names of all others, wherever they stand
_ELSEWHERE = _names(
    "accounts active after against arm arms asked at at_least ball baseline batch batches "
    "beats bets better bias block blocks bucket budget by candidate candidates certain "
    "change cheapest chosen claim claims close constants control control_share corrections costs "
    "counts cycle decided delta direct doubt dropped epsilon extra features first from from_batch "
    "gap guarantee head high inner items key kind label labels leads learner least level "
    "levels limits links log_capital looks low machine margin max_batch max_samples measured "
    "measurements members misfit most name near nearness new noise norm_bound numpy old options "
    "orders parts past period periods phases power precisions pull pulls_rule quantile "
    "question reason regularisation rivals round rounds rows rule samples scales seed "
    "settled sha256 shape shares slack spreads stages stratum study sums sure surepick "
    "survivors test threshold top traffic undecided union value waits ways weights width worse "
    "dealt segments window outside planes "
)


def unknown_fields(body: dict[str, Any]) -> tuple[str, ...]:
    """Where fields stand that this verifier does not know; the first few of them."""
    found: dict[str, None] = {}
    left: list[tuple[str, Any]] = [("", body)]
    while left and len(found) < _MOST:
        place, value = left.pop()
        if type(value) is list:
            left += [(place, one) for one in value if type(one) in (dict, list)]
        elif type(value) is dict:
            kind = place.removeprefix("past.")  # batches of the past are like all others
            known = _PLACES.get(kind, _ELSEWHERE)
            for name, inside in value.items():
                path = f"{place}.{name}" if place else str(name)
                if name not in known and not _is_own(kind):
                    found[_plain(path)[:80]] = None
                elif path != "algorithm.settings":
                    left.append((path, inside))
    return tuple(found)


def _is_own(place: str) -> bool:
    """Whether the names there are those of somebody's own: also of segments of further numbers."""
    of_number = place.startswith("problem.numbers.") and place.endswith(".segments")
    return place in _OWN_NAMES or of_number


def _plain(path: str) -> str:
    """A place in letters that look like no others: ``delta`` may be written in Cyrillic ones."""
    return path if path.isascii() and path.isprintable() else ascii(path)[1:-1]
