"""Programs that the tests need, installed from Debian's packages where there are none."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
# One for all programs: two installations at a time are refused.
_LOCK = Path(tempfile.gettempdir()) / "surepick-test-packages.lock"


def there(what: str, find: Callable[[], T | None], *ways: Sequence[str]) -> T:
    """What ``find`` finds, once it is installed.

    Parameters
    ----------
    what
        Name of the program, for people.
    find
        Looks for it; None where it is not there.
    ways
        Packages to install, together; the next ones are tried where these do not exist.
    """
    found = find()
    if found is not None:
        return found
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        found = find()
        if found is None:
            _install(what, ways)
            found = find()
    assert found is not None, f"{what} was installed, but cannot be found"
    return found


def _install(what: str, ways: Sequence[Sequence[str]]) -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise RuntimeError(
            f"the tests need {what} and cannot install it here; install it "
            f"(on Debian: apt-get install {' '.join(ways[0])}) and run them again"
        )
    # At this run level nothing that is installed starts to serve this machine.
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    commands = [["apt-get", "install", "-y", "--no-install-recommends", *way] for way in ways]
    update = ["apt-get", "update"]
    for command in (commands[0], update, *commands):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if command is not update and done.returncode == 0:
            return
    raise RuntimeError(f"{what} cannot be installed: {done.stderr}")
