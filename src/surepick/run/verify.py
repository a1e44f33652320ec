"""Certificates checked twice: by the independent verifier, then by making their run again."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from surepick import plugins
from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm
from surepick.algorithms.questions import Best
from surepick.arrays import cutoffs
from surepick.conditions import CONDITIONS, aside, duration, read_stated
from surepick.errors import CertificateError, SurepickError
from surepick.problem.noise import KnownNoise, NoiseKind, read_kind
from surepick.problem.problem import read_misfit
from surepick.promise import (
    IF_ANY,
    NOBODY,
    PROVEN,
    SHOWN,
    Condition,
    Promise,
    Promised,
    Reason,
    Stopped,
    as_said,
    in_a_circle,
    wrong_somewhere,
)
from surepick.run.certificate import comes_out_alike
from surepick.run.changes import stopped_by
from surepick.run.doubts import reason
from surepick.run.guarantee import REASONS, trusting
from surepick.text import plural

if TYPE_CHECKING:
    from surepick.verifier.record import Certificate, OfSegments
    from surepick.verifier.stated import Stated
    from surepick.verifier.verify import Verification


_PATIENCE = 3.0  # seconds that a replay may take that nobody asked for


def verify(
    certificate: dict[str, Any] | str | Path | Certificate,
    problem: Any = None,
    *,
    replay: bool | None = None,
) -> Verification:
    """Check a certificate.

    First by :func:`surepick.verifier.verify.verify`, which shares no code with the algorithms;
    then, with ``replay``, by running the algorithm again on what was measured: every batch must be
    what it asks for after the batches before.

    Parameters
    ----------
    certificate
        A dict, JSON text, or the path of a JSON file.
    problem
        What a certificate of very many arms refers to instead of containing it: the
        :class:`surepick.Problem`, or its arms as an array or the path of a ``.npy`` file. Arms,
        candidates and labels are compared with the certificate; the noise is the certificate's.
    replay
        True: replay, and refuse what comes out differently. False: do not. By default it is done
        where it takes no more than a few seconds; what comes out differently is refused, unless the
        certificate was made by another release, or is about very many arms and was made on
        another kind of machine.

    Returns
    -------
    Verification
        What was verified; ``replay`` says whether the run was made again, and how that came out.
        It counts as false (``complete``) where a replay was asked for and could not be made in
        full, and where one gave other pulls than the certificate, which says that it was made
        elsewhere.

    Raises
    ------
    CertificateError
        When the certificate does not hold, or is about other arms than those given.

    Examples
    --------
    >>> import surepick as sp
    >>> answer = sp.identify(sp.Problem([[1.0], [2.0]]), lambda arm: float(arm))
    >>> checked = sp.verify(answer.certificate())
    >>> checked.candidate, checked.replayed, checked.replay
    (1, True, 'every batch is what the algorithm asks for')
    """
    from surepick.verifier.record import read_one  # few verbs need it
    from surepick.verifier.verify import names_unknown
    from surepick.verifier.verify import verify as verify_alone

    record = read_one(certificate)
    body = record.body
    if names_unknown(body):  # of other packages, which have verifiers of their own
        plugins.load()
    found = verify_alone(record, problem)
    plain = promise_stated(body, found.stated).plain()
    found = dataclasses.replace(found, plain=plain, rewards=rewards_stated(body))
    if replay is False:
        return found
    from surepick.run import replay as again

    try:
        outcome = again.replay(body, problem, None if replay else _PATIENCE)
    except again.NotPossible as why:
        return dataclasses.replace(found, replay=f"not done: {why}", complete=not replay)
    except again.Different as why:
        alike = comes_out_alike(body, _entries(body))
        if replay or alike:
            hint = "" if alike else _ELSEWHERE
            raise CertificateError(f"certificate refused: replayed, {why}{hint}") from None
        said = f"not possible here: {why}{_ELSEWHERE}"
        return dataclasses.replace(found, replay=said, complete=False)
    if outcome == again.ROUNDED:  # as good as can be told of what need not come out alike
        if comes_out_alike(body, _entries(body)):
            raise CertificateError(f"certificate refused: replayed, {again.MOVED}")
        return dataclasses.replace(found, replay=f"not exactly: {outcome}", complete=False)
    if outcome != again.EXACT:  # drawn at random, or corrected since: it says how far it goes
        return dataclasses.replace(found, replay=f"in part: {outcome}", complete=not replay)
    return dataclasses.replace(found, replayed=True, replay=outcome)


def _entries(body: dict[str, Any]) -> int:
    """How many numbers the features of a certificate's arms are."""
    arms = body["problem"]["arms"]
    if isinstance(arms, dict):  # very many, which it only refers to
        return cutoffs.EMBEDDED_TABLE + 1
    return len(arms) * max(len(arms[0]), 1) if len(arms) else 0


_ELSEWHERE = (
    ". It may have been made by another version, or on another kind of processor, where rounding "
    "led to other designs: replay it there"
)


@dataclass(frozen=True)
class SegmentsVerified:
    """A certificate of several segments that holds."""

    of: str  #: the name of the test
    delta: float  #: that any answer is wrong has at most this probability
    segments: dict[str, Verification]

    @property
    def proven(self) -> bool:
        """Whether every segment has an answer with a guarantee."""
        return all(one.guarantee in SHOWN for one in self.segments.values())

    def __bool__(self) -> bool:
        return all(self.segments.values())

    @property
    def plain(self) -> str:
        """What holds of all of them together."""
        if not self.proven:
            return "Some segments have no guarantee, so there is none for all together."
        sure = wrong_somewhere(self.delta)
        return (
            f"All {len(self.segments)} segments together: {sure[:1].lower()}{sure[1:]}, as their "
            f"error probabilities add up to no more than {self.delta:g}."
        )


def verify_segments(
    certificate: dict[str, Any] | str | Path | OfSegments, *, replay: bool | None = None
) -> SegmentsVerified:
    """Check a certificate of several segments.

    Each part is checked by :func:`surepick.verify`, and all together by code of the verifier: that
    they are of one test, that no segment is missing, and that their error probabilities add up.

    Parameters
    ----------
    certificate
        A dict, JSON text, or the path of a JSON file.
    replay
        As for :func:`surepick.verify`, for each part.

    Raises
    ------
    CertificateError
        When a part does not hold, or is not one of this test.
    """
    from surepick.verifier.record import read_of_segments  # few verbs need it
    from surepick.verifier.segments import check_together

    whole = read_of_segments(certificate)
    check_together(whole)
    found = {name: verify(part, replay=replay) for name, part in whole.parts.items()}
    return SegmentsVerified(whole.of, whole.delta, found)


class _Known(NamedTuple):
    """What the homes of the parts may say, by the exact words."""

    promised: dict[str, Promised]
    conditions: dict[str, Condition]
    reasons: dict[str, Reason]


def promise_stated(body: dict[str, Any], said: Stated) -> Promise:
    """What a certificate promises."""
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


#: on what every certificate rests, whoever made it
UNSEEN = (
    "It rests on what no certificate can show: that its measurements ({rewards}) are those that "
    "were made, none left out, added or changed, and that its settings and seeds were fixed before "
    "them."
)


def verdict(result: Verification) -> list[str]:
    """What the check of a certificate came to, line by line."""
    if result.guarantee in ("pac", "eps-pac"):
        found = f"The certificate holds: the answer is {', '.join(result.labels) or result.label}"
        limited = "the limits" in result.plain  # which plain words do not repeat
        found += f", {result.stated.what.rstrip(',')}." if limited else "."
    elif result.guarantee == NOBODY:
        found = f"The certificate holds: {result.stated.what}."
    elif result.guarantee == IF_ANY:
        found = (
            f"The certificate holds, but not that any option is the best: {result.label} is "
            f"{result.stated.what.rstrip(',')}."
        )
    elif result.guarantee in PROVEN:
        found = "The certificate holds: what it says about the options is proven."
    else:
        found = "The record is in order, but it does not prove the answer."
    done = f"{plural(result.checked, 'comparison')} worked out again"
    lines = [found, result.plain, f"{done} by an independent program. Replay: {result.replay}."]
    if result.guarantee in SHOWN:
        lines.append(UNSEEN.format(rewards=result.rewards))
    if result.left_out:
        lines.insert(2, f"Set aside for all options: {'; '.join(result.left_out)}.")
    if result.unknown:
        lines.insert(1, f"Unknown to this version, and not checked: {', '.join(result.unknown)}.")
    why = result.replay.removeprefix("not done").removeprefix(": ")
    if not result.complete:
        lines.insert(0, f"NOT fully verified. The run could not be repeated{_how_far(why)}.")
        lines[1] = f"Apart from that: {lines[1][:1].lower()}{lines[1][1:]}"
    elif not result.replayed:
        lines[0] = f"Without a replay{f' ({why})' if why else ''}: {found[:1].lower()}{found[1:]}"
    return lines


def _how_far(why: str) -> str:
    for outcome, how in (("in part", " in full"), ("not exactly", " exactly")):
        if why.startswith(f"{outcome}: "):
            return f"{how}: {why.removeprefix(f'{outcome}: ')}"
    return f": {why}"


def explained(result: Verification) -> list[str]:
    """The exact statement of a certificate, and how much of its error probability is used."""
    lines = [f"Exactly: {result.statement}."]
    if result.guarantee in PROVEN:
        used = f"Error probability: at most {result.delta:g}, of which {result.risk:.3g} is used."
        lines.append(used)
    return lines
