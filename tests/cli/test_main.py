"""The command without its script."""

import subprocess
import sys

import surepick as sp


def test_python_dash_m_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "surepick", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert sp.__version__ in done.stdout
