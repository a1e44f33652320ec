"""What a certificate says that nobody here looks at.

A later release, or somebody who forges, may write more into a certificate than this verifier
knows. It proves nothing and is checked by nothing, but readers may take it for part of what was
verified: it is listed.
"""

from __future__ import annotations

from typing import Any

from surepick.verifier import conditions

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
