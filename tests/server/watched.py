"""Services that write down how long their event loop was held at the most.

While it is held, nobody is answered. A clock on the loop rings every few milliseconds; how late it
rings is how long something held it. On a busy machine it may also be late because others had the
processors: it does not count for more than the processor time that the loop's own thread took.
"""

import asyncio
import contextlib
import os
import shutil
import time
from pathlib import Path

_FILE = "SUREPICK_TEST_WATCHED"  # where the number is written
_EVERY, _NOTED, _SETTLED = 0.005, 0.01, 0.1  # seconds


@contextlib.contextmanager
def watched_service(*options):
    """A service, and a function that says how many seconds its loop was held since the last."""
    from tests.postgres import fast_folder
    from tests.server.served import Served

    folder, storage = fast_folder("sp-watched-"), "sqlite:///{}/studies.db"
    file = folder / "held"
    more, known = {"what": __name__, "env": {_FILE: str(file)}}, 0

    def longest():
        nonlocal known
        time.sleep(_SETTLED)  # the clock has rung again by then
        held = [float(line) for line in file.read_text().split()]
        new, known = held[known:], len(held)
        return max(new, default=0.0)

    try:
        with Served(storage.format(folder), folder, *options, **more) as service:
            yield service, longest
    finally:
        shutil.rmtree(folder)


async def _watch(file):
    loop = asyncio.get_running_loop()
    with file.open("a", buffering=1) as held_for:
        while True:
            started, worked = loop.time(), time.thread_time()
            await asyncio.sleep(_EVERY)
            late = loop.time() - started - _EVERY
            held = min(late, time.thread_time() - worked)
            if held > _NOTED:
                held_for.write(f"{held!r}\n")


def main():
    """In the service: as ``surepick``, with the clock."""
    from surepick.cli import main
    from surepick.server import main as server

    make, file = server.app, Path(os.environ[_FILE])

    def watched():
        app, watching = make(), []

        async def with_clock(scope, receive, send):
            if not watching:
                watching.append(asyncio.get_running_loop().create_task(_watch(file)))
            await app(scope, receive, send)

        return with_clock

    server.app = watched
    main()
