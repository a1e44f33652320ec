"""The process that others are copies of: ``python -m tests.forks.parent LISTENER``.

It never starts a thread, so that copies are whole. Between it and each copy stands a third process,
which says how the copy ended, and ends it when whoever asked for it is gone.
"""

import atexit
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, NoReturn


def load(folder: Path) -> None:
    """Load what most copies need, compiled code too; ``folder`` has commands that start at once."""
    import click
    import numpy as np

    import surepick as sp
    from surepick.cli import cli

    with click.Context(cli) as ctx:
        for verb in cli.list_commands(ctx):
            cli.get_command(ctx, verb)
    os.environ.setdefault("MPLBACKEND", "agg")  # read when Matplotlib is loaded: here
    for module in (
        "alembic.command", "httpx2", "matplotlib.pyplot", "pandas", "psycopg", "rich.table",
        "sqlite3", "uvicorn",
    ):  # fmt: skip
        importlib.import_module(module)
    importlib.import_module("surepick.server.app")
    importlib.import_module("surepick.server.helping")
    importlib.import_module("surepick.server.helpers").COMMAND = (str(folder / "helper"),)
    # What is not seeded is the same each time: tests do not depend on chance.
    importlib.import_module("surepick.run.order").fresh_seed = lambda: 0
    for noise in (1.0, None, "yes-no"):
        run = sp.algorithms.PooledPeleg(0.1).start(sp.Problem(np.eye(3), noise=noise))
        for _ in range(3):
            batch = run.ask()
            run.tell(batch, (np.arange(batch.size) % 3 == 0).astype(float))


def wait_for_work(listener: socket.socket) -> dict[str, Any] | None:
    """In a copy: what it is to do. In the process itself: nothing, once the tests have ended."""
    loaded, started = False, 0
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        while started and os.waitpid(-1, os.WNOHANG)[0]:
            started -= 1
        if 0 in ready:
            return None
        line, _ = listener.accept()
        if not loaded:
            load(Path(listener.getsockname()).parent)
            gc.freeze()  # what copies share stays shared
            loaded = True
        if not os.fork():
            listener.close()
            return watch_over(line)
        line.close()
        started += 1


def watch_over(line: socket.socket) -> dict[str, Any]:
    """Fork a copy and wait for its end; returns only in the copy, with what it is to do."""
    size, files, _, _ = socket.recv_fds(line, 8, 3)
    body = line.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    alive, ends = os.pipe()  # closed by the copy's end, however that comes
    child = os.fork()
    if child:
        os.close(ends)
        for file in files:
            os.close(file)
        line.sendall(child.to_bytes(8, "big", signed=True))
        ready, _, _ = select.select([line, alive], [], [])
        if alive not in ready:
            os.killpg(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        try:
            line.sendall(code.to_bytes(8, "big", signed=True))
        finally:
            os._exit(0)
    os.setsid()
    line.close()
    os.close(alive)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    return json.loads(body)


def main() -> None:
    listener = socket.socket(fileno=int(sys.argv[1]))
    work = wait_for_work(listener)
    if work is None:
        shutil.rmtree(Path(listener.getsockname()).parent)  # here: the tests may have been killed
        return
    os.chdir(work["cwd"])
    os.environ.clear()
    os.environ.update(work["env"])
    sys.argv = [work["what"], *work["arguments"]]
    module = "surepick.cli" if work["what"] == "surepick" else work["what"]
    code: Any = 1
    try:
        code = importlib.import_module(module).main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
    finally:
        leave(code)


def leave(code: Any) -> NoReturn:
    """End as the interpreter does, but without taking everything apart, for most of a second."""
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    main()
