"""By what a certificate was made, and whether a replay must come out the same here.

What is asked for does not depend on the processor (:mod:`surepick.arrays.grid`), so a replay can be
demanded of every certificate made by the present rule, wherever that was.
"""

from __future__ import annotations

import functools
import platform
import sys
from typing import Any

from surepick.arrays import limits

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
    large = entries > limits.LARGE_TABLE or (isinstance(problem, dict) and problem.get("large"))
    return made == made_here() or (made.get("pulls_rule") == PULLS_RULE and not large)
