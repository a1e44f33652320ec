"""Packages from outside: what they register is known, once, and where one fails it is named."""

import sys

import pytest

import surepick as sp
from surepick import plugins
from surepick.errors import PluginError
from surepick.storage import open_storage, unregister

REGISTERS = """
from surepick.algorithms import Peleg, register
from surepick.storage import register as store
from surepick.storage.memory import MemoryStorage

register("lab-peleg", lambda delta, **more: Peleg(delta, growth=1.2, **more))
store("shelf", lambda url, create: MemoryStorage(url), form="shelf://name")
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """A package as installed, in a process that has looked for plugins in vain or not at all."""

    def installed(name, code):
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[surepick.plugins]\n{name} = {name}\n")
        monkeypatch.delitem(sys.modules, name, raising=False)

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "_begun", False)
    monkeypatch.setattr(plugins, "_failed", None)
    return installed


def test_a_plugin_registers_what_it_has_when_a_name_is_first_unknown(install):
    install("lab_plugin", REGISTERS)
    sp.algorithms.get("peleg", delta=0.1)  # known: nobody has to look further
    assert "lab_plugin" not in sys.modules
    try:
        assert sp.algorithms.get("lab-peleg", delta=0.1).growth == 1.2
        assert open_storage("shelf://mine").url == "shelf://mine"
        plugins.load()  # nothing is registered twice
    finally:
        sp.algorithms.registry.unregister("lab-peleg")
        unregister("shelf")


@pytest.mark.parametrize(
    "look_up",
    [
        lambda: sp.algorithms.get("lab-peleg"),
        sp.algorithms.names,
        lambda: open_storage("shelf://mine"),
    ],
)
def test_a_plugin_that_fails_is_named_at_every_call(install, look_up):
    install("broken_plugin", "import nothing_of_that_name")
    for _ in range(2):
        with pytest.raises(
            PluginError, match=r"'broken_plugin' of the package 'broken_plugin'.*"
        ) as e:
            look_up()
        assert "No module named 'nothing_of_that_name'" in str(e.value)
        assert "Repair or uninstall it" in str(e.value)


def test_a_plugin_that_takes_a_name_of_ours_is_named(install):
    install("greedy", "from surepick.algorithms import register\nregister('peleg', print)\n")
    with pytest.raises(PluginError, match=r"'greedy'.*an algorithm called 'peleg' already exists"):
        sp.algorithms.names()
