"""Stands in for a language model: whether a prompt gets one of 400 test questions right.

Usage: surepick run prompts --call examples.ask_model:is_right
"""

import random
from typing import Any

GOOD = {"medium": 0.6, "large": 1.6, "steps": 1.2, "role": 0.3, "three": 0.8}


def is_right(pull: Any) -> int:
    """1 if the answer to this question is right, 0 if not."""
    hard = random.Random(f"question {pull.item}").gauss(2.5, 3.0)
    luck = random.Random(f"{pull.label} on question {pull.item}").gauss(0.0, 0.8)
    return int(sum(GOOD.get(part, 0.0) for part in pull.label.split("-")) + luck > hard)
