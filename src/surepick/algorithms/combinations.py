"""What can be asked of which data: every question of every shape, unless it says here why not.

Errors, documentation and ``python -m benchmarks.combinations`` are made from this one table.
"""

from __future__ import annotations

from typing import NamedTuple

from surepick.errors import InvalidInputError

#: in what shape measurements come
SHAPES = {
    "pulls": "single measurements",
    "features": "single measurements of options whose features are trusted",
    "items": "measurements on the same items, drawn",
    "table": "a complete table of options and items",
    "pairs": "options compared two at a time",
    "counts": "reports of visitors",
    "segments": "reports of visitors by segment",
}
#: what can be asked, by the settings that ask it
QUESTIONS = {
    "best": "which option is the best",
    "top": "which m options are the best",
    "baseline": "which are better than a baseline, and which worse",
    "threshold": "which are better than a number, and which worse",
    "quantile": "which option has the best quantile",
    "cheapest": "which is the cheapest that is good enough",
    "keep": "which is the best that keeps limits",
    "keep, baseline": "which are better than a baseline and keep limits",
    "keep, top": "which m are the best that keep limits",
    "keep, cheapest": "which is the cheapest that is good enough and keeps limits",
    "guess": "which option is the best guess for a budget",
}


class Refusal(NamedTuple):
    """Why a question cannot be asked, and what to do instead."""

    why: str
    cure: str
    never: bool = False  #: whether that follows from what is asked; else it is not written yet

    @property
    def said(self) -> str:
        """For a list of reasons."""
        return f"{'Never' if self.never else 'Not yet'}: {self.why}."


_IN_TRAFFIC = (
    "a traffic study sees how many came and what came of them in all, and sums say nothing of "
    "quantiles"
)
_OTHERS = "ask for the best option, the top ones, or those that are better than a baseline"
_OWN = "limits are shown by options' own measurements, so features cannot be trusted"
_CELLS = "limits need further numbers, and a cell of a table has one score"


def _both(questions: str, why: str, cure: str, never: bool = False) -> dict[str, Refusal]:
    return {one: Refusal(why, cure, never) for one in questions.split("|")}


_KEEPING = "keep|keep, baseline|keep, top|keep, cheapest"
#: by shape and question
REFUSED: dict[str, dict[str, Refusal]] = {
    "features": {
        "quantile": Refusal(
            "quantiles are those of an option's own measurements, so features cannot be trusted",
            "let them guide only (misfit=math.inf), or leave them out",
            never=True,
        ),
        **_both(_KEEPING, _OWN, "let them guide only (misfit=math.inf), or leave them out", True),
    },
    "items": {
        "threshold": Refusal(
            "items cancel where options meet the same ones, and a number meets none",
            "compare with an option, or leave items out",
            never=True,
        ),
        "quantile": Refusal(
            "quantiles are those of an option's own measurements, not of items",
            "leave out quantile or items",
            never=True,
        ),
        **_both(_KEEPING, "limits cannot be combined with items for now", "leave one of them out"),
    },
    "table": {
        "quantile": Refusal(
            "options on a complete table are compared by their totals",
            "leave out quantile or complete",
        ),
        **_both(_KEEPING, _CELLS + ", for now", "leave out keep or complete"),
        "guess": Refusal(
            "on a complete table all measurements go to those that may be the best, and whoever "
            "leads is the best guess at any time",
            "leave guess out",
            never=True,
        ),
    },
    "pairs": {
        "threshold": Refusal(
            "a comparison says which of two is better, and not by how much, so no number can be "
            "compared with it",
            "leave threshold out",
            never=True,
        ),
        "quantile": Refusal(
            "a comparison has one of two results, which have no quantiles",
            "leave quantile out",
            never=True,
        ),
        **_both(_KEEPING, "a comparison has no further numbers, for now", "leave keep out"),
        "guess": Refusal(
            "comparisons are not shared out for a budget yet", "leave guess out; set max_samples"
        ),
    },
    **{
        shape: {
            "quantile": Refusal(_IN_TRAFFIC, _OTHERS, never=True),
            "guess": Refusal(
                "a traffic study goes on until an answer is proven", "leave guess out", never=True
            ),
        }
        for shape in ("counts", "segments")
    },
}
for _shape in SHAPES:
    REFUSED.setdefault(_shape, {})


def refused(question: str, shape: str) -> Refusal | None:
    """Why this cannot be asked of data of this shape; None: it can.

    Examples
    --------
    >>> refused("quantile", "pairs").why
    'a comparison has one of two results, which have no quantiles'
    >>> refused("best", "table")
    """
    return REFUSED[shape].get(question)


def check(question: str, shape: str) -> None:
    """Refuse what cannot be asked, by an error that names the setting."""
    found = refused(question, shape)
    if found is not None:
        setting = question.partition(",")[0]
        raise InvalidInputError(f"{setting}: {found.why}; {found.cure}")
