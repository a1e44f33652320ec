"""Language models: options on items, scored; evaluating only what decides.

Options are models, prompts or settings; items are questions or tests. Files of promptfoo and of
lm-evaluation-harness are read and written; nothing has to be installed for that. Tasks of Inspect
are stopped early by :class:`InspectRace`.
"""

from surepick.integrations.evaluations.decide import decide
from surepick.integrations.evaluations.decision import EvaluationDecision
from surepick.integrations.evaluations.inspect_ai import InspectRace
from surepick.integrations.evaluations.lm_eval import read_lm_eval, write_lm_eval
from surepick.integrations.evaluations.promptfoo import read_promptfoo, write_promptfoo
from surepick.integrations.evaluations.scores import ScoreTable

__all__ = [
    "EvaluationDecision",
    "InspectRace",
    "ScoreTable",
    "decide",
    "read_lm_eval",
    "read_promptfoo",
    "write_lm_eval",
    "write_promptfoo",
]
