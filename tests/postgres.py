"""A real PostgreSQL server for the tests: found or installed, started, and stopped again.

The server keeps its data in a folder of its own, writes to disk like any other (fsync stays
on), listens on a local socket only, and runs as an ordinary user, as PostgreSQL insists.
"""

import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.packages import there


def fast_folder(prefix: str) -> Path:
    """A new folder; in memory where there is room, as the tests write to disk very often."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2**30
    return Path(tempfile.mkdtemp(prefix=prefix, dir=memory if roomy else None))


class Server:
    """A running server; ``url()`` makes an empty place in it and says how to reach it."""

    def __init__(self) -> None:
        self._bin = _binaries()
        self.folder = fast_folder("sp-pg-")
        self.user = _user()
        if self.user is not None:
            shutil.chown(self.folder, self.user)
        self._call("initdb", "-D", self.folder / "data", "-U", "tester", "-A", "trust", "-N")
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} "
        options += "-c max_connections=150 -c fsync=on -c synchronous_commit=on"
        self._options = options
        self._count = 0
        self._guard = self._watch()
        self.start()

    def _watch(self) -> subprocess.Popen:
        """A process that stops the server and clears up once this one is gone, however it went."""
        stop = shlex.join(self._command("pg_ctl", "-D", self.folder / "data", "-m", "immediate"))
        folder = shlex.quote(str(self.folder))
        script = f"cat > /dev/null; {stop} -w stop; rm -rf {folder}"
        return subprocess.Popen(
            ["sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    def start(self) -> None:
        self._call(
            "pg_ctl", "-D", self.folder / "data", "-w", "-t", "60", "-o", self._options,
            "-l", self.folder / "log", "start",
        )  # fmt: skip

    def kill_connections(self) -> int:
        """Cut every connection but the one that does it; how many there were."""
        cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        return int(self.sql(cut + "WHERE usename = 'tester' AND pid <> pg_backend_pid()"))

    def stop(self, mode: str = "fast") -> None:
        self._call("pg_ctl", "-D", self.folder / "data", "-w", "-m", mode, "stop")

    def close(self) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait(60)

    def url(self) -> str:
        """A schema of its own: much cheaper than a database of its own."""
        self._count += 1
        schema = f"test{self._count}"
        self.sql(f"CREATE SCHEMA {schema}")
        options = f"host={self.folder}&options=-csearch_path%3D{schema}"
        return f"postgresql+psycopg://tester@/postgres?{options}"

    def sql(self, statement: str) -> str:
        """Run one statement as an onlooker."""
        psql = [self._bin / "psql", "-h", self.folder, "-U", "tester", "-d", "postgres"]
        done = subprocess.run(
            [*psql, "-tA", "-c", statement], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def _command(self, program: str, *arguments: object) -> list[str]:
        command = [str(self._bin / program), *map(str, arguments)]
        if self.user is not None:
            command = ["runuser", "-u", self.user, "--", *command]
        return command

    def _call(self, program: str, *arguments: object) -> None:
        command = self._command(program, *arguments)
        # The server must not hold on to the pipes of the tests.
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd="/"
            )
            if done.returncode:
                said.seek(0)
                raise RuntimeError(f"{program} failed: {said.read().decode(errors='replace')}")


def _user() -> str | None:
    """Whom the server runs as: oneself, or somebody without rights if one is root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


def _binaries() -> Path:
    """The folder with the server's programs."""
    return there("a PostgreSQL server", _find, ["postgresql"])


def _find() -> Path | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    if shutil.which("pg_config"):
        said = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True)
        folders.append(Path(said.stdout.strip()))
    on_path = shutil.which("initdb")
    if on_path:
        folders.append(Path(on_path).resolve().parent)
    wanted = ("initdb", "pg_ctl", "postgres", "psql")
    return next((f for f in folders if all((f / name).exists() for name in wanted)), None)


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in folder.parent.name.split(".") if part.isdigit())
