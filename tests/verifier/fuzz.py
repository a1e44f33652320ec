"""Certificates changed at random, and what must hold for each: a crash is worse than a refusal.

A change is made to an honest certificate: any value replaced, dropped, doubled or of another type,
the claim changed, batches permuted, merged, split or left out. Where the change calls for it, every
number that the verifier works out is then put in by the accomplice of ``test_forgeries``; and the
digest is made to fit. Where only the sentence of the claim is refused, the one that was due takes
its place. What is accepted is sorted by what is different about it.
"""

import ast
import contextlib
import copy
import json
import math
import re
import warnings

import numpy as np
from tests.algorithms.pairs.test_asked import ASKED, CHANCE
from tests.algorithms.pairs.test_asked import judged as asked_of_pairs
from tests.study.traffic.test_segments import in_a_mix
from tests.verifier.kinds import as_json, finished
from tests.verifier.samples import (
    accepted,
    compared,
    corrected,
    distrusted,
    judged,
    keeping,
    of_any_kind,
    of_any_kind_on_items,
    of_study,
    on_a_table,
    on_days,
    on_items,
    several,
    visited,
    with_a_cell_that_failed,
    without_a_plate,
)
from tests.verifier.test_forgeries import certificate_of, completed, sentence

import surepick as sp
from surepick.errors import CertificateError, FormatError
from surepick.run.certificate import fingerprint

#: rules and variants of them, and how to get certificates that they are about
RULES = {
    "phases": [lambda: certificate_of("phases"), lambda: certificate_of("phases of fixed width")],
    "pooled": [
        lambda: certificate_of("pooled"),
        lambda: as_json(finished("symmetric", past=12, delta=0.2)),
        lambda: as_json(finished("yes-no", delta=0.2, epsilon=0.3)),
    ],
    "static": [lambda: certificate_of("static"), lambda: certificate_of("static by a union")],
    "alba": [lambda: certificate_of("alba")],
    "intervals": [lambda: certificate_of("intervals")],
    "ellipsoid": [lambda: certificate_of("ellipsoid")],
    "glr": [
        lambda: certificate_of("glr"),
        lambda: certificate_of("glr by a determinant"),
        lambda: certificate_of("glr in rounds"),
    ],
    "checked-fit": [lambda: certificate_of("checked-fit", inner="peleg")],
    "misfit": [
        lambda: as_json(distrusted(None, math.inf)),
        lambda: as_json(distrusted("equal", 0.1)),
    ],
    "strata": [lambda: as_json(on_days(0.0)), lambda: as_json(on_days(math.inf))],
    "items": [lambda: as_json(on_items())],
    "complete": [
        lambda: as_json(on_a_table()),
        lambda: as_json(on_a_table(noise=(0.0, 2.0), epsilon=0.3)),
        lambda: as_json(on_a_table(top=2)),
        lambda: as_json(on_a_table(baseline="b")),
        lambda: as_json(on_a_table(threshold=0.5, claims="fdr")),
        lambda: as_json(on_a_table(living=True)),
    ],
    "compared": [
        lambda: compared("all", baseline="now"),
        lambda: compared("fdr", baseline="now"),
        lambda: compared("all", threshold=0.6),
    ],
    "top": [lambda: as_json(several(0.0)), lambda: as_json(several(0.3))],
    "any": [
        lambda: as_json(of_any_kind()),
        lambda: as_json(of_any_kind(digits=0)),
        lambda: as_json(of_any_kind_on_items()),
    ],
    "quantile": [
        lambda: as_json(of_any_kind(quantile=0.5)),
        lambda: as_json(of_any_kind(digits=0, quantile=0.8)),
        lambda: as_json(of_any_kind(digits=1, quantile=0.7, minimise=True)),
    ],
    "pairs": [
        lambda: as_json(judged()),
        lambda: as_json(judged(beats="most")),
        lambda: as_json(judged(beats="most", top=2)),
        lambda: as_json(judged(epsilon=0.2, items=4)),
        lambda: as_json(judged(confirm=True, cycle=True)),
        lambda: as_json(judged(living=True)),
        lambda: as_json(judged(beats="most", living=True)),
    ],
    "pairs, others": [
        lambda asked=asked: as_json(asked_of_pairs(CHANCE, 3, **asked)) for asked in ASKED.values()
    ],
    "keeping": [
        lambda: as_json(keeping()),
        lambda: as_json(keeping("any", "any", ["p80 of cost <= 0.5"])),
        lambda: as_json(keeping("symmetric", "symmetric", ["cost <= a + 0.3"])),
        lambda: as_json(keeping(keep=["cost <= 0.3 ± 0.2", "cost >= 0.05"], epsilon=0.1)),
        lambda: as_json(keeping(keep=["cost <= 0.05"])),
    ],
    "keeping, living": [
        lambda: as_json(keeping(0.1, 0.1, living=True)),
        lambda: as_json(keeping(0.1, "symmetric", ["cost <= a + 0.3"], living=True)),
        lambda: as_json(keeping("yes-no", 0.1, living=True)),
    ],
    "keeping, compared": [
        lambda: as_json(keeping(0.1, 0.1, ["cost <= a + 0.3", "cost <= 0.4 ± 0.05"], baseline=0)),
        lambda: as_json(keeping(0.1, 0.1, baseline="b", max_samples=12)),
        lambda: as_json(keeping(0.1, 0.1, threshold=0.4, claims="fdr")),
        lambda: as_json(keeping(0.1, "symmetric", baseline=0, claims="fdr")),
        lambda: as_json(keeping(0.1, "any", ["p80 of cost <= 0.5"], baseline=0)),
        lambda: as_json(keeping("yes-no", 0.1, baseline=0)),
    ],
    "keeping, others": [
        lambda: as_json(keeping(0.1, 0.1, top=2)),
        lambda: as_json(keeping(0.1, 0.1, ["cost <= 0.25"], top=2)),
        lambda: as_json(keeping("yes-no", 0.1, top=2, max_samples=20)),
        lambda: as_json(keeping(0.1, 0.1, cheapest=True, within=0.5)),
        lambda: as_json(keeping("yes-no", 0.1, cheapest=True, within=0.3)),
    ],
    "corrected": [lambda: of_study(corrected())],
    "set aside": [lambda: of_study(without_a_plate())],
    "failed cells": [lambda: of_study(with_a_cell_that_failed())],
    "accepting": [
        lambda: as_json(accepted()),
        lambda: as_json(accepted(top=2)),
        lambda: as_json(accepted(items=120)),
    ],
    "traffic": [lambda: of_study(visited()), lambda: of_study(visited(wrong=True))],
    "segments": [
        lambda: of_study(in_a_mix(threshold=0.06)),
        lambda: of_study(in_a_mix(keep=["refunds <= 3%"])),
        lambda: of_study(in_a_mix(keep=["refunds <= 3%"], top=2)),
        lambda: of_study(in_a_mix(cheapest=True, within=0.02)),
    ],
}
GUARANTEES = ("pac", "eps-pac", "if-any", "heuristic", "none", "nobody", "claims", "fdr")
SIDES = ("better", "worse", "ruled_out", "undecided")
#: of the rule "pooled", with more in the certificate
VARIANTS = ("misfit", "strata", "items", "top", "corrected", "traffic")
#: what a refusal says that only the sentence is missing for
DUE = re.compile("the statement should be (.+); it is ", re.DOTALL)
#: what may become of a change; those that must not are named in ``BAD``
OUTCOMES = (
    "refused",
    "accepted: the same",
    "accepted: another wording",
    "accepted: another problem",
    "accepted: other rewards",
    "accepted: other pulls, not replayed",
    "replayed: batches left out",
    "accepted: another answer, not replayed",
    "replayed: other pulls",
    "replayed: another answer",
    "crash",
)
BAD = OUTCOMES[-4:]
UNREPLAYED = BAD[0]
PROBLEM = ("problem", "past", "options", "delta", "epsilon")


# -- changes -------------------------------------------------------------------------------
def places(value, path=()):
    """Every place in a JSON value but the digest."""
    if path and path != ("digest",):
        yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def other_value(rng, certificate, value, path):
    """Something else for a place."""
    own = at(certificate, path[:-1])
    choices = [None, True, False, 0, 1, -1, 0.5, "x", [], {}, [value], {"a": value}, str(value)]
    if isinstance(value, bool):
        choices += [int(value)]
    elif isinstance(value, int):
        choices += [value + 1, value - 1, float(value), 10**20, -value, bool(value)] * 2
    elif isinstance(value, float):
        choices += [value * 1.01, value * 0.99, -value, value * (1 + 1e-9), 1e300, int(value)] * 2
        choices += [float("nan"), float("inf")]
    elif isinstance(value, str):
        choices += [value + "x", value.upper(), ""] * 2
    elif isinstance(value, list) and value:
        choices += [value[::-1], value[:-1], value + value[-1:], sorted(value, key=str)] * 3
    if isinstance(own, list | dict):  # what stands beside it
        beside = own if isinstance(own, list) else list(own.values())
        choices.append(beside[int(rng.integers(len(beside)))])
    everything = list(places(certificate))
    choices.append(at(certificate, everything[int(rng.integers(len(everything)))]))
    return copy.deepcopy(choices[int(rng.integers(len(choices)))])


def change_a_value(rng, body):
    path = _some(rng, list(places(body)))
    at(body, path[:-1])[path[-1]] = other_value(rng, body, at(body, path), path)


def drop_a_value(rng, body):
    path = _some(rng, list(places(body)))
    del at(body, path[:-1])[path[-1]]


def double_an_entry(rng, body):
    lists = [path for path in places(body) if isinstance(at(body, path), list) and at(body, path)]
    entries = at(body, _some(rng, lists))
    i = int(rng.integers(len(entries)))
    entries.insert(i, copy.deepcopy(entries[i]))


def swap_two_values(rng, body):
    one, other = (_some(rng, list(places(body))) for _ in range(2))
    first, second = copy.deepcopy(at(body, one)), copy.deepcopy(at(body, other))
    at(body, one[:-1])[one[-1]] = second
    at(body, other[:-1])[other[-1]] = first


def change_the_claim(rng, body):
    """Another answer, or another promise, in the words that belong to it."""
    claim, count = body["claim"], len(body["problem"]["candidates"] or body["problem"]["arms"])
    if "better" in claim:
        change_a_comparison(rng, body)
    if rng.random() < 0.7:
        claim["candidate"] = int(rng.integers(count))
        labels = body["problem"]["candidate_labels"] or body["problem"]["labels"]
        claim["label"] = labels[claim["candidate"]]
    if rng.random() < 0.5:
        some = rng.permutation(count)[: rng.integers(0, count)].tolist()
        claim["survivors"] = sorted({claim["candidate"], *some})
    if rng.random() < 0.4:
        claim["guarantee"] = _some(rng, GUARANTEES)
    if rng.random() < 0.3:
        body["delta"] = body["algorithm"]["settings"]["delta"] = float(rng.uniform(0.001, 0.5))
    if rng.random() < 0.3:
        body["epsilon"] = body["algorithm"]["settings"]["epsilon"] = float(rng.uniform(0, 1))
    claim["statement"] = sentence(body, claim["guarantee"], len(claim["survivors"]))


def change_a_comparison(rng, body):
    """An option said to be better, worse or undecided that was not; with evidence that says so."""
    claim, sides = body["claim"], [side for side in SIDES if side in body["claim"]]
    option = _some(rng, [option for side in sides for option in claim[side]])
    for side in sides:
        claim[side] = [other for other in claim[side] if other != option]
    side = _some(rng, sides)
    claim[side] = sorted([*claim[side], option])
    claims = body["evidence"]["claims"]
    own = [entry for entry in claims if entry["candidate"] == option]
    if side == "undecided":
        body["evidence"]["claims"] = [entry for entry in claims if entry not in own]
    elif own:
        own[0]["claim"] = side
    elif claims:
        claims.append(dict(claims[-1], candidate=option, claim=side))


def one_each(body):
    """Lists with an entry for each batch."""
    blocks = body["evidence"].get("blocks", [])
    own = isinstance(blocks, list) and len(blocks) == len(body["batches"])
    return [body["batches"], blocks] if own else [body["batches"]]


def shuffle_batches(rng, body):
    order = rng.permutation(len(body["batches"]))
    for listed in one_each(body):
        listed[:] = [listed[i] for i in order]


def drop_batches(rng, body):
    kept = rng.random(len(body["batches"])) < 0.8
    for listed in one_each(body):
        listed[:] = [entry for entry, keep in zip(listed, kept, strict=True) if keep]


def merge_batches(rng, body):
    i = int(rng.integers(len(body["batches"])))
    if i + 1 == len(body["batches"]) or "spreads" in body["batches"][i]:
        return
    for listed in one_each(body)[1:]:
        del listed[i]
    one, other = body["batches"].pop(i), body["batches"].pop(i)
    arms = sorted({*one["arms"], *other["arms"]})
    merged = {"arms": arms}
    for key in [key for key in ("counts", "sums", "parts") if key in one]:
        merged[key] = _together(arms, (one, other), lambda batch, key=key: batch[key])
    if "numbers" in one:
        merged["numbers"] = {
            name: {
                key: _together(arms, (one, other), lambda b, n=name, k=key: b["numbers"][n][k])
                for key in one["numbers"][name]
            }
            for name in one["numbers"]
        }
    body["batches"].insert(i, merged)


def _together(arms, batches, column):
    """A column of several batches as one."""
    parts = [[column(b)[b["arms"].index(arm)] for b in batches if arm in b["arms"]] for arm in arms]
    lists = isinstance(parts[0][0], list)
    return [[one for part in found for one in part] if lists else sum(found) for found in parts]


def split_a_batch(rng, body):
    i = int(rng.integers(len(body["batches"])))
    batch = body["batches"][i]
    if len(batch["arms"]) < 2:
        return
    cut = int(rng.integers(1, len(batch["arms"])))
    for listed in one_each(body)[1:]:
        listed.insert(i, copy.deepcopy(listed[i]))
    parts = [_cut(batch, slice(cut)), _cut(batch, slice(cut, None))]
    body["batches"][i : i + 1] = parts


def _cut(columns, part):
    """Part of every column, in those of further numbers, too."""
    return {
        key: _cut(column, part) if isinstance(column, dict) else column[part]
        for key, column in columns.items()
    }


def change_pulls(rng, body):
    """A pull more or fewer of one arm, with rewards that fit."""
    batch = _some(rng, body["batches"])
    i = int(rng.integers(len(batch["arms"])))
    count = batch["counts"][i]
    new = max(1, count + int(rng.integers(-1, 2)))
    batch["counts"][i] = new
    for told in (batch, *batch.get("numbers", {}).values()):
        told["sums"][i] *= new / count


def change_rewards(rng, body):
    batch = _some(rng, body["batches"])
    i = int(rng.integers(len(batch["sums"])))
    if body["problem"]["noise"] == "pairs":
        batch["sums"][i] = _some(rng, [0.0, 0.5, 1.0])
        return
    told = batch
    if batch.get("numbers") and rng.random() < 0.5:
        told = batch["numbers"][_some(rng, sorted(batch["numbers"]))]
    told["sums"][i] += float(rng.normal()) * 10.0 ** int(rng.integers(-6, 2))


def take_from_another(rng, body, others):
    """A part of another honest certificate of the same rule in the place of its own."""
    other = _some(rng, others)
    shared = [path for path in places(body) if len(path) <= 3 and _at_or_none(other, path)]
    path = _some(rng, shared)
    at(body, path[:-1])[path[-1]] = copy.deepcopy(at(other, path))


def _at_or_none(value, path):
    try:
        return at(value, path)
    except (LookupError, TypeError):
        return None


CHANGES = {
    change_a_value: 6,
    drop_a_value: 2,
    double_an_entry: 2,
    swap_two_values: 2,
    change_the_claim: 3,
    shuffle_batches: 1,
    drop_batches: 1,
    merge_batches: 1,
    split_a_batch: 1,
    change_pulls: 2,
    change_rewards: 1,
    take_from_another: 2,
}
_OF_BATCHES = (shuffle_batches, drop_batches, merge_batches, split_a_batch, change_pulls)
_COMPLETED = (*_OF_BATCHES, change_the_claim, change_rewards)


def _some(rng, things):
    return things[int(rng.integers(len(things)))]


def changed(rng, honest, others=()):
    """A changed copy, or text of one; ``others`` are what it may take parts from."""
    body = copy.deepcopy(honest)
    kinds, weights = list(CHANGES), np.array(list(CHANGES.values()), dtype=float)
    for _ in range(1 + int(rng.random() < 0.3)):
        kind = kinds[int(rng.choice(len(kinds), p=weights / weights.sum()))]
        with contextlib.suppress(Exception):  # what the forger stumbles over stays as it is
            kind(rng, body, others) if kind is take_from_another else kind(rng, body)
            if kind in _OF_BATCHES and body["evidence"]["rule"] == "pairs":
                body["evidence"]["blocks"] = list(range(len(body["batches"])))
            if kind in _OF_BATCHES:
                body["claim"]["samples"] = sum(sum(b["counts"]) for b in body["batches"])
            if kind in _COMPLETED and rng.random() < 0.7:
                body = completed(body)
    try:
        body["digest"] = fingerprint(body)
    except (ValueError, TypeError):
        return body
    if rng.random() < 0.05:  # a key twice in the text
        key = _some(rng, sorted(body))
        text = json.dumps(body)
        return "{" + json.dumps(key) + ": " + json.dumps(body[key]) + ", " + text[1:]
    return body


# -- and what becomes of them --------------------------------------------------------------
def outcome(honest, body):
    """One of ``OUTCOMES``, and a word on it."""
    try:
        try:
            found = _verified(body)
        except CertificateError as error:
            due = DUE.search(str(error))
            if due is None or not isinstance(body, dict):
                raise
            body["claim"]["statement"] = ast.literal_eval(due[1])
            body["digest"] = fingerprint(body)
            found = _verified(body)
    except (CertificateError, FormatError):
        return "refused", ""
    except Exception as error:
        return "crash", repr(error)[:300]
    return _accepted(honest, json.loads(body) if isinstance(body, str) else body, found), ""


def _verified(body):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return sp.verify(copy.deepcopy(body), replay=True)


def _accepted(honest, body, found):
    if "candidates" in honest["claim"]:  # in any order
        if (
            set(found.candidates) != set(honest["claim"]["candidates"])
            and found.guarantee != "none"
        ):
            return "replayed: another answer" if found.replayed else UNREPLAYED
    elif found.candidate != honest["claim"]["candidate"]:
        same = _row(body, found.candidate) == _row(honest, honest["claim"]["candidate"])
        if not same and found.guarantee in ("pac", "eps-pac", "if-any", "claims", "fdr"):
            return f"{'replayed' if found.replayed else 'accepted'}: another answer" + (
                "" if found.replayed else ", not replayed"
            )
    nobody = [claim == "nobody" for claim in (found.guarantee, honest["claim"]["guarantee"])]
    if nobody[0] != nobody[1] and found.guarantee in ("pac", "eps-pac", "if-any", "nobody"):
        return "replayed: another answer" if found.replayed else UNREPLAYED
    if _sides(body) != _sides(honest) and found.guarantee in ("claims", "fdr"):
        return "replayed: another answer" if found.replayed else UNREPLAYED
    if _pulls(body) != _pulls(honest):
        if found.replayed and _left_out(body["batches"], honest["batches"]):
            return "replayed: batches left out"
        return "replayed: other pulls" if found.replayed else OUTCOMES[5]
    if any(_problem(body, part) != _problem(honest, part) for part in PROBLEM):
        return "accepted: another problem"
    if _told(body) != _told(honest):
        return "accepted: other rewards"
    if body == honest:
        return "accepted: the same"
    return "accepted: another wording"


def _left_out(own, whole):
    """Whether these are some of the batches, as they were and in their order.

    If what comes next would have been asked for without them, too, that is a record in order: of a
    shorter run, in which they never were. Its study's chain has them.
    """
    left = iter(whole)
    return len(own) < len(whole) and all(batch in left for batch in own)


def _row(body, candidate):
    return (body["problem"]["candidates"] or body["problem"]["arms"])[candidate]


def _told(body):
    return [(batch["sums"], batch.get("numbers")) for batch in body["batches"]]


def _problem(body, part):
    """What was asked; of options that came and went, who did and when."""
    if part != "options":
        return body.get(part)
    return [{key: one[key] for key in ("change", "arms", "batch")} for one in body.get(part, ())]


def _sides(body):
    return [body["claim"].get(side) for side in SIDES if side != "undecided"]


def _pulls(body):
    if "traffic" in body:  # how many came is reported, as rewards are; shares are proposed
        return [period["shares"] for period in body["traffic"]["periods"]]
    return [[batch.get(key) for key in ("arms", "counts", "parts")] for batch in body["batches"]]


def fuzz(rule, cases, seed=0):
    """How often each outcome came up, and the first few that must not."""
    samples = [make() for make in RULES[rule]]
    counts, wrong = dict.fromkeys(OUTCOMES, 0), []
    for case in range(cases):
        rng = np.random.default_rng([seed, case])
        honest = samples[case % len(samples)]
        body = changed(rng, honest, samples)
        what, why = outcome(honest, body)
        counts[what] += 1
        if what in BAD and len(wrong) < 20:
            wrong.append(f"case {case} (seed {seed}): {what} {why}")
    return counts, wrong
