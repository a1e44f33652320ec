"""``surepick answer``: which option is best (or better than the baseline), and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.options import file_option, from_signature, option
from surepick.cli.studies import (
    EXPLAIN_HELP,
    NOT_YET,
    UNPROVEN,
    limit_in_words,
    open_studies,
    said_of_uncounted,
    say,
    shown,
    spent,
    study_options,
)
from surepick.errors import InvalidInputError
from surepick.promise import IF_ANY, NOBODY, PROVEN, SHOWN
from surepick.run.standing import best_first, between
from surepick.study.outlook import no_answer_yet
from surepick.text import plural, typed

if TYPE_CHECKING:
    from surepick.problem import Problem
    from surepick.problem.noise import NoiseKind
    from surepick.run import Answer
    from surepick.study import SegmentStudies, Study


@click.command("answer")
@study_options
@from_signature
def command(
    name: str,
    storage: str,
    as_json: bool,
    certificate: Path | None = file_option(
        None, "Write the proof to this file; surepick verify checks it."
    ),
    explain: bool = option(False, EXPLAIN_HELP),
    exports: tuple[Path, ...] = file_option(
        (),
        "For a pipeline: .md (for a comment) or .xml (JUnit), also where there is no answer yet.",
        flag="--export",
    ),
) -> None:
    """Print the answer of a finished study, how sure it is, and what that takes.

    The exit code is 4 as long as there is none, and 7 where the answer is not proven: the study was
    stopped before, or measurements contradict what it rests on (the warnings say why).
    """
    for file in exports:
        if file.suffix.lower() not in (".md", ".xml"):
            raise InvalidInputError(f"export: {file.name} must end in .md or .xml")
    from surepick.study import SegmentStudies

    study = open_studies(name, storage)
    if isinstance(study, SegmentStudies):
        _by_segment(study, certificate, explain, exports, as_json)
        return
    if not study.finished:
        status = study.status()
        _export(exports, name, False, no_answer_yet(status))
        _not_yet(status, as_json)
        raise SystemExit(NOT_YET)
    content, lines = _told(study, explain)
    if certificate is not None:
        from surepick.files import write_whole

        write_whole(certificate, json.dumps(study.answer.certificate(), indent=1) + "\n")
        arms = "--arms OPTIONS, with the table of the study" if study.problem.by_reference else ""
        check = typed("verify", certificate, more=arms)
        lines.append(f"Certificate: {certificate} (check it with: {check})")
    content["certificate"] = None if certificate is None else str(certificate)
    proven = content["guarantee"]["kind"] in PROVEN
    _export(exports, name, proven, "\n\n".join(lines))
    say(as_json, content, "\n".join(lines))
    if not proven:
        raise SystemExit(UNPROVEN)


def _told(study: Study, explain: bool, alone: bool = True) -> tuple[dict[str, Any], list[str]]:
    """What is said of the answer of a finished study: for programs, and for people.

    Of one of several segments, what is said of all is left out.
    """
    checks, answer, status = study.checks(), study.answer, study.status()
    lines = [
        *(_compared(answer, study.problem.noise_kind) if answer.lifts else [_named(answer, study)]),
        _after(answer, status["traffic"] is not None),
        *said_of_uncounted(study.progress().uncounted),
        answer.plain,
    ]
    lines += _kept(answer, study.problem)
    ahead = status["traffic"] and status["traffic"]["worth"]
    lines += [shown(ahead)] if ahead else []
    if explain:
        lines.append(f"Exactly: {shown(str(answer.guarantee))}.")
    if answer.equivalent and not answer.lifts:
        same = ", ".join(shown(study.problem.candidate_labels[i]) for i in answer.equivalent)
        lines.append(f"Just as good, because they have the same features: {same}")
    warnings = status["warnings"]
    lines += [f"Warning: {shown(text)}" for text in warnings]
    if checks.fit is not None and not checks.fit:
        lines.append(f"Check: {checks.fit.message}")
    lines += [f"Note: {text}" for text in checks.remarks]
    segment = (status["traffic"] or {}).get("segment")
    lines += [shown(segment["words"])] if alone and segment is not None else []
    content = {"finished": True, "study": study.name, **answer.to_dict()}
    return content | {"checks": checks.to_dict(), "warnings": warnings}, lines


def _by_segment(
    test: SegmentStudies,
    certificate: Path | None,
    explain: bool,
    exports: tuple[Path, ...],
    as_json: bool,
) -> None:
    """The answers of all segments; the exit code is that of the worst."""
    content, lines, left = dict[str, Any](), list[str](), list[str]()
    proven = stands = True  # it also stands that no option is the answer
    for name, study in test.studies.items():
        if not study.progress().finished:
            own = study.status()
            content[name] = {"finished": False, "study": study.name, "leader": own["leader"]}
            lines += ["", f"{shown(name)}:", shown(no_answer_yet(own))]
            left.append(name)
            continue
        content[name], said = _told(study, explain, alone=False)
        kind = content[name]["guarantee"]["kind"]
        proven, stands = proven and kind in PROVEN, stands and kind in SHOWN
        lines += ["", f"{shown(name)}:", *said]
    without = "Not every answer has a guarantee, so there is none for all segments together."
    lines = [*lines[1:], "", shown(test.promise) if stands else without]
    if certificate is not None and not left:
        from surepick.files import write_whole

        write_whole(certificate, json.dumps(test.answers.certificate(), indent=1) + "\n")
        check = typed("verify", certificate)
        lines.append(f"Certificate of all segments: {certificate} (check it with: {check})")
    elif certificate is not None:
        lines.append(
            f"No certificate was written, as {', '.join(map(shown, left))} is not decided; single "
            f"segments have one, too ({typed('answer', test.studies[left[0]].name)})."
        )
    _export(exports, test.name, proven and not left, "\n\n".join(filter(None, lines)))
    written = None if certificate is None or left else str(certificate)
    found = {"finished": not left, "test": test.name, "delta": test.delta, "segments": content}
    say(as_json, found | {"certificate": written}, "\n".join(lines))
    if left:
        raise SystemExit(NOT_YET)
    if not proven:
        raise SystemExit(UNPROVEN)


def _export(files: tuple[Path, ...], name: str, proven: bool, text: str) -> None:
    """What a pipeline reads: passed where the answer is proven, else undecided."""
    from surepick.files import write_whole
    from surepick.report.gates import PASSED, UNDECIDED, Case, comment, junit

    outcome = PASSED if proven else UNDECIDED
    for file in files:
        if file.suffix.lower() == ".md":
            write_whole(file, comment(name, outcome, shown_lines(text)))
        else:
            write_whole(file, junit("answer", [Case(name, outcome, text)]))


def shown_lines(text: str) -> str:
    """Several lines as they can be printed."""
    return "\n".join(shown(line) for line in text.split("\n"))


def _named(answer: Answer, study: Study) -> str:
    if answer.guarantee.kind == NOBODY:
        limits = " and ".join(limit_in_words(study.problem, limit) for limit in answer.limits)
        what = answer.guarantee.promise.what
        said = f"no option keeps {shown(limits)}" if limits or what is None else what.exact
        return f"Answer: {said}"
    labels = ", ".join(shown(label) for label in answer.labels)
    if answer.guarantee.kind == IF_ANY:
        return f"Not shown to be the best, but only if any option is: {labels}"
    several = len(answer.labels) > 1
    return f"{'Answer, best-looking first' if several else 'Answer'}: {labels}"


def _kept(answer: Answer, problem: Problem) -> list[str]:
    """How options stand to limits; those that are named first."""
    from surepick.algorithms.limits.limit import parse_limit

    lines = []
    for limit, options in answer.limits.items():
        lines.append(f"{shown(limit_in_words(problem, limit))}:")
        for label in sorted(options, key=lambda label: label not in answer.labels):
            one = options[label]
            own = None if one.estimate is None else parse_limit(limit).mean(one.estimate, problem)
            lines.append(f"  {shown(label)}: {one.verdict}{'' if own is None else f' ({own})'}")
    return lines


def _after(answer: Answer, traffic: bool) -> str:
    if traffic:
        return f"after {plural(answer.samples, 'visit')} in {plural(answer.batches, 'period')}."
    took = f"{plural(answer.samples, 'measurement')}{spent(answer.cost)}"
    return f"after {took} in {plural(answer.batches, 'batch', 'batches')}."


def _compared(answer: Answer, kind: NoiseKind) -> list[str]:
    """What is better than the baseline, what is worse, and what is neither; rates in points."""
    times, unit = (100.0, " points") if kind.successes else (1.0, "")
    lines = []
    for name, listed in answer.verdicts().items():
        best = best_first(answer.minimise)
        labels = sorted(listed, key=lambda label: best(answer.lifts[label].estimate))
        lines.append(f"{name.capitalize()}: {len(labels) or 'none'}")
        for label in labels:
            lift = answer.lifts[label]
            low, high, near = (times * end for end in (lift.low, lift.high, answer.epsilon))
            ends = between(name, low, high, near, answer.minimise)
            known = f" ({ends})" if ends else ""
            lines.append(f"  {shown(label)}: {times * lift.estimate:+.3g}{unit}{known}")
    return lines


def _not_yet(status: dict, as_json: bool) -> None:
    if as_json:
        keys = ("name", "samples", "survivor_labels", "leader")
        click.echo(json.dumps({"finished": False, **{key: status[key] for key in keys}}))
        return
    click.echo(shown(no_answer_yet(status)), err=True)
