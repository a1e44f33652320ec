"""Run the blocks of one page, in order, in the current folder: as a reader would.

Reads them as JSON on standard input. Python blocks share their names, shell blocks their
environment; what is left running in the background is ended with this process's group.
"""

import contextlib
import doctest
import io
import json
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

_CHECKER = doctest.OutputChecker()
_LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_NUMBER = re.compile(r"(?:(?<!\S)-|(?<![\w.-]))\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w-])")
_SHELL = "set -euo pipefail; . ./.shell; export -p > ./.environment"


def run_python(block: dict[str, Any], names: dict[str, Any]) -> str:
    """Run a block of Python; what it prints."""
    if block["saved_as"]:
        Path(block["saved_as"]).write_text(block["code"], encoding="utf-8")
        return ""
    printed = io.StringIO()
    code = "\n" * (block["line"] - 1) + block["code"]  # tracebacks tell the line of the page
    with contextlib.redirect_stdout(printed):
        exec(compile(code, block["page"], "exec"), names)
    return printed.getvalue()


def run_shell(block: dict[str, Any]) -> str:
    """Run a block of shell commands; what it prints."""
    Path(".shell").write_text(block["code"], encoding="utf-8")
    start = ". ./.environment; " if Path(".environment").exists() else ""
    with open(".printed", "w+", encoding="utf-8") as printed:  # a pipe would wait for servers
        done = subprocess.run(["bash", "-c", start + _SHELL], stdout=printed, stderr=sys.stderr)
        printed.seek(0)
        text = printed.read()
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode} after printing:\n{text}")
    return text


def matches(want: str, got: str, numbers_vary: bool) -> bool:
    """Whether a block printed what the page promises."""
    if numbers_vary:
        want, got = _NUMBER.sub("#", want), _NUMBER.sub("#", got)
    return _CHECKER.check_output(want, got, _LOOSE)


def main() -> int:
    """Run all blocks; stop at the first that fails or prints something else than promised."""
    names: dict[str, Any] = {"__name__": "__main__"}
    sys.path.insert(0, "")
    for block in json.load(sys.stdin):
        where = f"{block['page']}:{block['line']}"
        try:
            got = run_python(block, names) if block["language"] == "python" else run_shell(block)
        except Exception:
            sys.stderr.write(f"{where} failed:\n{traceback.format_exc()}")
            return 1
        want = block["prints"]
        if want is not None and not matches(want, got, block["numbers_vary"]):
            sys.stderr.write(f"{where} promises\n\n{want}\nbut prints\n\n{got}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
