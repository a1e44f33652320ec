"""By what a certificate was made: what decides how rounding goes in the designs of a run."""

from __future__ import annotations

import functools
import platform
import sys


@functools.cache
def made_here() -> dict[str, str]:
    """Versions of surepick and NumPy, and the kind of processor."""
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
    }
