"""The words of a command line, and where a label may stand in them.

No shell is used. But a command may be one, or start one: there, what a label says would be obeyed.
So no part of a program's text may come from a label; it comes through the environment.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from surepick.errors import InvalidInputError

#: what is replaced in a command
MARKERS = ("{label}", "{arm}", "{pull}", "{item}", "{first}", "{second}")

_SHELLS = {"sh", "ash", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox"}
_SHELLS |= {"cmd", "powershell", "pwsh", "su", "script"}
# Other programs that run a text as a program, and the options that the text follows.
_INTERPRETERS = {
    "python": ("-c",),
    "perl": ("-e", "-E"),
    "ruby": ("-e",),
    "node": ("-e", "--eval", "-p", "--print"),
    "php": ("-r",),
    "lua": ("-e",),
    "Rscript": ("-e",),
    "osascript": ("-e",),
}
# Programs that hand all of their arguments to a shell.
_ALL_TO_A_SHELL = {"ssh", "rsh", "watch", "parallel", "eval"}
_SHELL_WORDS = {"|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1"}
_INSTEAD = (
    "exec: a label must not be pasted into a shell command, where its characters could be run as "
    'code; write "$SUREPICK_LABEL" there instead of {label}'
)


def words_of(line: str) -> tuple[str, ...]:
    """The words of a command, or an error that says what is wrong with it."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InvalidInputError(f"exec: {line!r} cannot be split into words: {error}") from None
    if not words:
        raise InvalidInputError("exec must name a command, such as 'measure.sh {label}'")
    odd = next((word for word in words if word in _SHELL_WORDS), None)
    if odd is not None:
        raise InvalidInputError(
            f"exec: {odd!r} only works in a shell, and none is used here; write a script, or sh "
            "-c '... \"$SUREPICK_LABEL\" ...'"
        )
    if _obeyed(words):
        raise InvalidInputError(_INSTEAD)
    program = words[0]
    if shutil.which(program) is None:
        local = Path(program).absolute()
        if not local.is_file():
            raise InvalidInputError(f"exec: there is no program {program!r}")
        if not os.access(local, os.X_OK):
            raise InvalidInputError(f"exec: {program!r} is not executable (chmod +x {program})")
        words[0] = str(local)  # a script in this folder needs no ./
    return tuple(words)


def _obeyed(words: Sequence[str]) -> bool:
    """Whether a label would stand in the text of a program, whatever comes before that."""
    for i, word in enumerate(words):
        rest = words[i + 1 :]
        name = _name(word)
        if name in _ALL_TO_A_SHELL and _marked(rest):
            return True
        if name in _SHELLS and _marked(_program(rest, _is_shell_flag)):
            return True
        flags = _INTERPRETERS.get(name, ())
        if flags and _marked(_program(rest, flags.__contains__)):
            return True
        # One word may be a whole command, for a program that splits it again (env -S).
        if i and _marked([word]) and len(word.split()) > 1 and _obeyed(_split(word)):
            return True
        if _marked([word]) and name in _SHELLS | _ALL_TO_A_SHELL:
            return True
    return _marked(words[:1])  # which program is started must not depend on a label


def _name(word: str) -> str:
    """What a program is called, without folder, ending and version (python3.11)."""
    name = re.split(r"[\\/]", word)[-1]
    stem = re.sub(r"\.(exe|cmd|bat)$", "", name, flags=re.IGNORECASE)
    return stem.rstrip("0123456789.") or stem


def _is_shell_flag(word: str) -> bool:
    if word.lower() == "/c" or word == "--command" or word.startswith("--command="):
        return True
    letters = re.fullmatch(r"[-+](\w*)", word)
    return letters is not None and "c" in letters[1].lower()


def _program(rest: Sequence[str], is_flag: Callable[[str], bool]) -> Sequence[str]:
    """The words that may be a program's text: from its option to the first that is none.

    What comes after them are the program's arguments, which are safe for a label.
    """
    start = next((i for i, word in enumerate(rest) if is_flag(word)), None)
    if start is None:
        return ()
    end = next((i for i in range(start + 1, len(rest)) if rest[i][:1] not in "-+"), len(rest))
    return rest[start : end + 1]


def _split(word: str) -> list[str]:
    try:
        return ["", *shlex.split(word)]
    except ValueError:
        return ["", *word.split()]


def _marked(words: Sequence[str]) -> bool:
    return any(marker in word for word in words for marker in MARKERS)
