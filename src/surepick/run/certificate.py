"""Certificates: the raw record of a run with the claims that follow from it."""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import sys
from typing import Any

import numpy as np

from surepick.arrays import cutoffs
from surepick.problem import Problem
from surepick.run.codec import encode
from surepick.run.order import RULE

FORMAT, VERSION = "surepick-certificate", 1
#: what a certificate has only where there is something to say
_MORE = (
    "stopped",  # by hand
    "corrections",
    "set_aside",  # for all options
    "conditions",  # that only those know who measured
    "unmeasured",  # cells of a table that count as the worst score
    "options",  # that were added or retired
    "accepted",  # as close enough, from some moment on
    "limits",  # of what may be measured, and were changed
    "traffic",  # shares by which visitors were sent, and reported
    "segment",  # of a test with an answer for each
    "chain",  # of the study that it is from
)


def make_certificate(answer: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """The certificate of an answer, as plain values, with the record of what it rests on."""
    problem = record["problem"]
    body = {
        "format": FORMAT,
        "version": VERSION,
        "made": made_here(),
        "algorithm": {
            "name": answer["algorithm"],
            "settings": record["settings"]
            | {"delta": answer["delta"], "epsilon": answer["epsilon"]},
        },
        "problem": _refer(record) if problem.by_reference else _embed(problem),
        "delta": answer["delta"],
        "epsilon": answer["epsilon"],
        "batches": _batches(record["batches"]),
        "evidence": plain(record["evidence"]),
        "claim": {
            "candidate": answer["arm"],
            "label": answer["label"],
            "survivors": answer["survivors"],
            "samples": answer["samples"],
            "guarantee": answer["guarantee"]["kind"],
            "statement": answer["guarantee"]["text"],
        },
    }
    if "p_value" in answer:
        body["claim"]["p_value"] = answer["p_value"]
    if "arms" in answer:
        body["claim"]["candidates"] = answer["arms"]
    claims = record["claims"]
    if claims is not None:
        names = ("better", "worse", "close", "undecided")
        if claims.ruled_out is not None:
            names = ("better", "ruled_out", "undecided")
        body["claim"] |= {name: getattr(claims, name).tolist() for name in names}
    if record["past"] is not None:
        body["past"] = {
            "chosen": "in advance" if record["past"]["evidence"] else "by results",
            "measurements": record["past"]["measurements"],
            "batches": _batches(record["past"]["batches"]),
        }
    if record["order"] is not None:
        body["order"] = {"rule": RULE, "seed": record["order"]}
    body |= {name: record[name] for name in _MORE if record.get(name)}
    return body | {"digest": fingerprint(body)}


def _embed(problem: Problem) -> dict[str, Any]:
    held = problem.to_dict()
    tables = {
        name: held[name].tolist() for name in ("arms", "candidates") if held[name] is not None
    }
    return held | tables


def _refer(record: dict[str, Any]) -> dict[str, Any]:
    """Digests of a problem with very many arms, and the features of those that were measured."""
    problem, past = record["problem"], record["past"]
    batches = record["batches"] + ([] if past is None else past["batches"])
    arms = np.unique(np.concatenate([batch["arms"] for batch in batches] or [[]])).astype(np.int64)
    rows = problem.backend.rows(problem.arms, arms) if len(arms) else np.empty((0, 0))
    return problem.reference() | {"measured": {"arms": arms.tolist(), "features": rows.tolist()}}


def fingerprint(body: dict[str, Any]) -> str:
    """SHA-256 of the certificate's canonical JSON (without the digest itself, and signatures)."""
    content = {k: v for k, v in body.items() if k not in ("digest", "signature")}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _batches(batches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: plain(values) for key, values in batch.items()} for batch in batches]


def plain(value: Any) -> Any:
    """Arrays as lists: certificates are meant to be read by people and other languages."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return encode(value)


#: number of the rule by which pulls follow from rewards: one more with every change of what is
#: asked for after a release
PULLS_RULE = 1


@functools.cache
def made_here() -> dict[str, Any]:
    """Versions of surepick and NumPy, the kind of processor, and the rule of pulls."""
    import numpy as np
    import threadpoolctl

    libraries = [one for one in threadpoolctl.threadpool_info() if "architecture" in one]
    # Others that happen to be loaded, such as PyTorch's, have no part in the designs of a run.
    own = [one for one in libraries if "numpy" in one["filepath"] or "scipy" in one["filepath"]]
    kernels = {str(library["architecture"]) for library in own or libraries}
    package = sys.modules[__name__.partition(".")[0]]  # which imports this, not the other way
    return {
        "surepick": str(package.__version__),
        "numpy": np.__version__,
        "machine": " ".join([platform.machine(), *sorted(kernels)]),
        "pulls_rule": PULLS_RULE,
    }


def comes_out_alike(body: dict[str, Any], entries: int) -> bool:
    """Whether the run of a certificate, made again here, must ask for the same pulls.

    ``entries`` is the size of its table of features. Very large ones, and those that somebody had
    worked on as if they were, go to libraries that add up in an order of their own: there the
    machine has to be of the same kind.
    """
    made = body.get("made")
    if not isinstance(made, dict):
        return False
    problem = body.get("problem")
    large = entries > cutoffs.LARGE_TABLE or (isinstance(problem, dict) and problem.get("large"))
    return made == made_here() or (made.get("pulls_rule") == PULLS_RULE and not large)
