"""Noise of known scale: normal stakes, cut at 0, in closed form."""

from __future__ import annotations

import numpy as np

from surepick.verifier.blocks import Block
from surepick.verifier.guide import Outlook
from surepick.verifier.payoffs.base import News, Pairs, Payoff, known, log_psi


class Gaussian(Payoff):
    """Rewards are in units of the noise."""

    def look(self, past: Block) -> Outlook:
        return known()

    def log_paid(self, pairs: Pairs, news: News) -> list[np.ndarray]:
        found = []
        for multiple in self.precisions:
            score, precision = pairs.stakes(multiple)
            after = precision + pairs.told
            found.append(
                log_psi((score + pairs.told * pairs.new_lead) / np.sqrt(after))
                - log_psi(score / np.sqrt(precision))
                - 0.5 * np.log(after / precision)
            )
        return found
