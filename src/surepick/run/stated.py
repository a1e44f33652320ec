"""What a certificate promises, from the parts of its sentence that the verifier has checked.

The verifier puts the sentence together by code of its own. What the home of a part says in the very
same words is said plainly as it is said there; the rest is said as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm
from surepick.algorithms.questions import Best
from surepick.conditions import CONDITIONS, aside, duration, read_stated
from surepick.errors import SurepickError
from surepick.problem.contents import read_misfit
from surepick.problem.noise import KnownNoise, NoiseKind, read_kind
from surepick.promise import Condition, Promise, Promised, Reason, Stopped, as_said, in_a_circle
from surepick.run.doubts import reason
from surepick.run.guarantee import REASONS, trusting
from surepick.run.limits import stopped_by

if TYPE_CHECKING:
    from surepick.verifier.stated import Stated


class _Known(NamedTuple):
    """What the homes of the parts may say, by the exact words."""

    promised: dict[str, Promised]
    conditions: dict[str, Condition]
    reasons: dict[str, Reason]


def promise_stated(body: dict[str, Any], said: Stated) -> Promise:
    """What a certificate promises.

    Parameters
    ----------
    body
        The certificate.
    said
        The parts of its sentence, from the verifier.
    """
    known, delta = _known(body, said), float(body["delta"])
    needs = (said.needs,) if said.needs else ()
    stopped = Stopped(stopped_by(said.stopped, said.limit), said.left) if said.stopped else None
    what = known.promised.get(said.what)
    if what is None and said.what:
        what = as_said(body["claim"]["guarantee"], f"{said.what}{said.sure}")
    return Promise(
        delta,
        what,
        said.theorem,
        needs=tuple(known.conditions.get(one, Condition(one)) for one in needs),
        also=Promise(delta / 2, in_a_circle(said.also)) if said.also else None,
        conditions=tuple(known.conditions.get(one, Condition(one)) for one in said.conditions),
        compares=said.compares,
        several=said.several,
        smaller=said.smaller,
        stopped=stopped,
        why=known.reasons.get(said.why, reason(said.why)) if said.why else None,
    )


def _known(body: dict[str, Any], said: Stated) -> _Known:
    """What kind of noise, algorithm, question and run may say."""
    held, kind = body["problem"], _noise(body)
    kind = KnownNoise(1.0) if kind is None else kind
    conditions = [trusting(read_misfit(held)), kind.provided, kind.provided_on_items]
    conditions += [one.of() for one in CONDITIONS.values() if not one.fields]
    window = body.get("traffic", {}).get("window")
    conditions += [] if window is None else [CONDITIONS["in-window"].of(window=duration(window))]
    conditions += [*read_stated(body.get("conditions", ())), *aside(body.get("set_aside", ()))]
    algorithm, reasons = _algorithm(body), list(REASONS)
    asked, on_items = Best() if algorithm is None else algorithm.asked, False
    promised = list[Promised]()
    if algorithm is not None:
        on_items = algorithm.measured_on() is not None
        conditions += [asked.meaning, *algorithm.needs(), algorithm.about_items()]
        why = algorithm.promise(kind, epsilon_used=False).why
        reasons += [] if why is None else [why]
        if said.sure == " for certain":
            promised = [what] if (what := algorithm.promise_for_certain(kind).what) else []
        elif said.compares:
            what = algorithm.promise_of_claims(said.against).what
            promised = [] if what is None else [what]
    if not promised:
        promised = asked.may_promise(float(body["epsilon"]), kind, on_items)
        promised.append(asked.among(said.left, said.several))
    return _Known(
        {one.exact: one for one in promised},
        {str(one): one for one in conditions if one is not None},
        {str(one): one for one in reasons},
    )


def rewards_stated(body: dict[str, Any]) -> str:
    """What a certificate says that measurements give, in plain words."""
    kind = _noise(body)
    return f"{body['problem']['noise']!s:.80}" if kind is None else kind.words


def _noise(body: dict[str, Any]) -> NoiseKind | None:
    """The kind of noise; None: it is of another package, which is not installed here."""
    held, arms = body["problem"], body["problem"]["arms"]
    try:
        return read_kind(held["noise"], arms["shape"][0] if isinstance(arms, dict) else len(arms))
    except SurepickError:
        return None


def _algorithm(body: dict[str, Any]) -> Algorithm | None:
    """The algorithm of a certificate; None: it is not known here."""
    try:
        return registry.get(body["algorithm"]["name"], **body["algorithm"]["settings"])
    except (SurepickError, TypeError, ValueError):
        return None
