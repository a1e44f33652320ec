"""Build the site as ``make docs`` does, in a process that has loaded what the site is about."""

import gc
import sys

from sphinx.cmd.build import main as build


def main() -> int:
    """The arguments are those of ``sphinx-build``."""
    gc.disable()  # it makes millions of nodes, and hardly any garbage: a tenth of the time
    return build(sys.argv[1:])
