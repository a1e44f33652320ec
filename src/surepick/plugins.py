"""Packages from outside that add to surepick: settings, algorithms, storages, ….

A package names its modules as entry points of the group ``surepick.plugins``; in its
``pyproject.toml``::

    [project.entry-points."surepick.plugins"]
    lab = "lab.surepick"

Such a module registers what it has when it is imported (``surepick.storage.register``, …). Where
the package is installed, the library, the command line, the service with its helpers and the
verifier then all know it: every registry calls :func:`load` before it says that a name is unknown,
or lists all names.
"""

from __future__ import annotations

import threading
from importlib.metadata import EntryPoint, entry_points

from surepick.errors import PluginError

GROUP = "surepick.plugins"

_lock = threading.RLock()  # other threads wait until all is registered
_begun = False  # a plugin that registers something looks up names itself
_failed: tuple[EntryPoint, BaseException] | None = None


def load() -> None:
    """Import the plugins that are installed; once in a process.

    Raises
    ------
    PluginError
        One of them cannot be imported; the message names it. It is raised at every call: half of
        the names would be missing.

    Examples
    --------
    >>> load()  # where nothing is installed that adds to surepick, nothing happens
    """
    global _begun, _failed
    with _lock:
        if not _begun:
            _begun = True
            for plugin in sorted(entry_points(group=GROUP), key=lambda found: found.name):
                try:
                    plugin.load()
                except Exception as error:
                    _failed = plugin, error
                    break
    if _failed is not None:
        plugin, error = _failed
        package = "" if plugin.dist is None else f" of the package {plugin.dist.name!r}"
        raise PluginError(
            f"the plugin {plugin.name!r}{package} cannot be loaded ({plugin.value}): "
            f"{type(error).__name__}: {error}. Repair or uninstall it"
        ) from error
