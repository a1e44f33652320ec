"""Language models as judges of two options, and files of comparisons that others have made.

A judge is made of any function that completes a prompt, so nothing has to be installed. Comparisons
are read from and written to the JSON lines of chat arenas, and promptfoo's ``select-best``.
"""

from surepick.integrations.judges.battles import (
    Battle,
    Battles,
    read_battles,
    read_select_best,
    write_battles,
    write_select_best,
)
from surepick.integrations.judges.decide import BattleDecision, decide
from surepick.integrations.judges.llm import PROMPT, VerdictError, llm_judge, read_verdict

__all__ = [
    "PROMPT",
    "Battle",
    "BattleDecision",
    "Battles",
    "VerdictError",
    "decide",
    "llm_judge",
    "read_battles",
    "read_select_best",
    "read_verdict",
    "write_battles",
    "write_select_best",
]
