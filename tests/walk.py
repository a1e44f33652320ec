"""How many files of the package an ask, a told reward and others pass: ``python -m tests.walk``.

With ``--files`` it names them, in the order in which they are entered. The way is short if somebody
who looks for a mistake on it can read all of it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import surepick as sp

_PACKAGE = Path(sp.__file__).parent


def passed(act: Callable[[], Any]) -> list[str]:
    """The files of the package in which something is called, in the order of the first calls."""
    found: dict[str, None] = {}

    def look(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            found.setdefault(frame.f_code.co_filename)

    sys.setprofile(look)
    try:
        act()
    finally:
        sys.setprofile(None)
    inside = [Path(name) for name in found if name.startswith(str(_PACKAGE))]
    return [path.relative_to(_PACKAGE).as_posix() for path in inside]


def walked() -> dict[str, list[str]]:
    """By what was done: on a study in a SQLite file, by somebody who has asked and told before."""
    found: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        problem, place = sp.Problem([[1.0, 0.0], [0.0, 1.0]]), f"sqlite:///{folder}/s.db"
        study = sp.create_study("s", problem, storage=place)
        batch = study.progress().batch
        while study.progress().batch < batch + 2:  # two batches, so that everything is loaded
            (pull,) = study.ask(1)
            study.tell(pull.id, float(pull.arm))
        pulls: list[Any] = []
        found["an ask"] = passed(lambda: pulls.extend(study.ask(1)))
        found["a told reward"] = passed(lambda: study.tell(pulls[0].id, 0.5))
        at = study.progress()
        rest = study.ask(at.size - at.asked)
        study.tell_many({pull.id: 0.5 for pull in rest[:-1]})
        found["one that completes a batch"] = passed(lambda: study.tell(rest[-1].id, 0.25))
        study.close()
        table = "label,size,colour\na,1,red\nb,2,blue\nc,3,red\nd,4,blue\n"
        Path(folder, "options.csv").write_text(table, encoding="utf-8")
        how: dict[str, Any] = {
            "table": f"{folder}/options.csv",
            "storage": place,
            "noise": "symmetric",
        }
        sp.create_study("first", **how).close()
        found["a study from a table"] = passed(lambda: sp.create_study("t", **how).close())
        study = sp.load_study("t", place)
        while not study.finished:
            study.tell_many({pull.id: 9.0 * pull.arm for pull in study.ask(16)})
        study.status()
        found["its status"] = passed(study.status)
        certificate = study.answer.certificate()
        sp.verify(certificate)
        found["its certificate, verified"] = passed(lambda: sp.verify(certificate))
        study.close()
    return found


def main() -> int:
    """Show it."""
    for name, files in walked().items():
        print(f"{name}: {len(files)} files")
        if "--files" in sys.argv:
            print(*(f"    {file}" for file in files), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
