"""Services whose patience is short, so that tests need not wait for it to end."""

import contextlib
import shutil
import sys
from pathlib import Path

import pytest
from tests.postgres import fast_folder
from tests.server import served

_SCRIPT = """#!{python}
import importlib
for place, value in {changes!r}.items():
    module, _, name = place.rpartition(".")
    module = importlib.import_module(module)
    assert getattr(module, name) > value, place
    setattr(module, name, value)
from surepick.cli import main
main()
"""


@contextlib.contextmanager
def hasty_service(*options, **changes):
    """A service in which numbers (``server__gate___BODY_SECONDS=1``) are smaller than usual."""
    folder = Path(fast_folder("sp-hasty-"))
    command = folder / "surepick"
    places = {"surepick." + name.replace("__", ".", 2): value for name, value in changes.items()}
    command.write_text(_SCRIPT.format(python=sys.executable, changes=places))
    command.chmod(0o755)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(served, "COMMAND", command)
            with served.Served(f"sqlite:///{folder}/studies.db", folder, *options) as service:
                yield service
    finally:
        shutil.rmtree(folder)
