"""Services whose patience is short, so that tests need not wait for it to end.

Such a service is a copy of a process that has loaded everything, which begins with ``main``: what
only the tests need is imported where it is needed.
"""

import contextlib
import importlib
import json
import os
import shutil

_CHANGES = "SUREPICK_TEST_HASTY"  # as JSON: where a number is, and what it is to be


@contextlib.contextmanager
def hasty_service(changes, *options, storage=None):
    """A service with numbers (``surepick.server.bodies._SECONDS``) that are smaller than usual."""
    from tests.postgres import fast_folder
    from tests.server.served import Served

    folder = fast_folder("sp-hasty-")
    storage = storage or f"sqlite:///{folder}/studies.db"
    more = {"what": __name__, "env": {_CHANGES: json.dumps(changes)}}
    try:
        with Served(storage, folder, *options, **more) as service:
            yield service
    finally:
        shutil.rmtree(folder)


def main():
    """In the service: as ``surepick``, with those numbers."""
    for place, value in json.loads(os.environ[_CHANGES]).items():
        module, _, name = place.rpartition(".")
        module = importlib.import_module(module)
        assert getattr(module, name) > value, place
        setattr(module, name, value)
    from surepick.cli import main

    main()
