"""Measurements of surepick itself begin anew each time: none keeps scores for the next one."""

import os

from surepick.calls.kept import VARIABLE

os.environ.setdefault(VARIABLE, "none")
