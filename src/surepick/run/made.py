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

    libraries = threadpoolctl.threadpool_info()
    kernels = {str(library["architecture"]) for library in libraries if "architecture" in library}
    package = sys.modules[__name__.partition(".")[0]]  # which imports this, not the other way
    return {
        "surepick": str(package.__version__),
        "numpy": np.__version__,
        "machine": " ".join([platform.machine(), *sorted(kernels)]),
    }
