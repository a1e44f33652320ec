"""Ask for a process that starts at once; light, as it is all that the pages' ``surepick`` loads."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "SUREPICK_TEST_FORKS"  # where the parent listens
#: commands that start at once, and what they are
COMMANDS = {"surepick": "surepick", "helper": "surepick.server.helping"}
_COMMAND = """#!{python} -IS
import os, sys
sys.path.insert(0, {root!r})
from tests.forks.client import ADDRESS, as_command
os.environ.setdefault(ADDRESS, {address!r})
as_command({what!r})
"""


class Parent:
    """The process that others are copies of, while the tests run; it loads what it needs later."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="sp-forks-")
        self.address = f"{folder}/parent"
        for name, what in COMMANDS.items():
            command = Path(folder, name)
            given = {"python": sys.executable, "root": str(ROOT), "address": self.address}
            command.write_text(_COMMAND.format(**given, what=what))
            command.chmod(0o755)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.address)
            listener.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forks.parent", str(listener.fileno())],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def command_folder() -> str:
    """The folder with a command ``surepick`` that starts at once."""
    return str(Path(os.environ[ADDRESS]).parent)


class Forked:
    """A running copy, used like ``subprocess.Popen``: the leader of a session of its own.

    ``what`` is ``surepick``, or a module of the tests with a function ``main``; ``files`` are the
    numbers of three open files, for its standard input, output and errors.
    """

    def __init__(self, what, arguments, *, files, cwd=None, env=None) -> None:
        env = os.environ if env is None else env
        request = {
            "what": what,
            "arguments": list(map(str, arguments)),
            "cwd": str(cwd or os.getcwd()),
            "env": dict(env),
        }
        body = json.dumps(request).encode()
        self.returncode: int | None = None
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(os.environ[ADDRESS])
        socket.send_fds(self._line, [len(body).to_bytes(8, "big")], files)
        self._line.sendall(body)
        self.pid = self._number()

    def _number(self) -> int:
        said = self._line.recv(8, socket.MSG_WAITALL)
        if len(said) < 8:
            raise RuntimeError("the parent of the forks is gone")
        return int.from_bytes(said, "big", signed=True)

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._line], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0)
            self.returncode = self._number()
            self._line.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(what, *arguments, input="", cwd=None, env=None, timeout=240):
    """Run a copy to its end, like ``subprocess.run``."""
    with (
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        given.write(input)
        given.seek(0)
        files = [file.fileno() for file in (given, out, err)]
        process = Forked(what, arguments, files=files, cwd=cwd, env=env)
        try:
            code = process.wait(timeout)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and what it left running
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([what, *arguments], code, out.read(), err.read())


def as_command(what: str) -> None:
    """A command that starts at once, passing on signals and the exit code."""
    process = Forked(what, sys.argv[1:], files=[0, 1, 2])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: process.send_signal(number))
    code = process.wait()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
