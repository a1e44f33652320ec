"""Every block of Python and shell commands in the documentation runs, and prints what it says.

How a page is written for this is told in CONTRIBUTING.md.
"""

import dataclasses
import json
import os
import re
import shutil
import socket
import sysconfig

import pytest
from tests.docs.pages import ROOT, Block, blocks, infos, name_of, pages
from tests.forks import client as forks

EXAMPLE_DATABASE = "postgresql+psycopg://surepick@localhost/surepick"
EXAMPLE_PORTS = ("8421", "8786")  # of `surepick serve`, and of Dask's scheduler
_MAKE = re.compile(r"^make (\S+)", re.MULTILINE)
README, LAYOUTS = ROOT / "README.md", ROOT / "docs" / "tutorials" / "layouts.md"
USES = ROOT / "docs" / "uses"
DOORS = [USES / f"{door}.md" for door in ("website", "prompts", "laboratory", "fastest")]
FRONT = (README, ROOT / "docs" / "index.md", USES / "gallery.md")  # they repeat what the doors run
_PICTURES = "SUREPICK_PICTURES"  # a folder: pictures that pages draw are then left there
_WITH_CODE = [page for page in pages() if any(block.is_run for block in blocks(page))]
# What newcomers run first. `make validate` runs the other pages: other tests try what they show.
_FIRST_PAGES = (README, ROOT / "docs" / "index.md", ROOT / "docs" / "start.md", *DOORS[:2])


def _in_every_run(page):
    marks = () if page in _FIRST_PAGES else pytest.mark.validation
    return pytest.param(page, id=name_of(page), marks=marks)


@pytest.fixture
def database(request):
    """The address of a database, for the pages that have one."""
    return lambda: request.getfixturevalue("postgres").url()


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def to_run(page, database) -> list[dict]:
    """The blocks of a page, with a real database and a free port in place of those it names."""
    text = page.read_text(encoding="utf-8")
    swaps = {}
    if EXAMPLE_DATABASE in text:
        swaps[EXAMPLE_DATABASE] = database()
    swaps |= {port: free_port() for port in EXAMPLE_PORTS if port in text}
    work = []
    for block in blocks(page):
        if not block.is_run or (page in FRONT and any(is_part_of(p, block) for p in DOORS)):
            continue
        code, prints = block.code, block.prints
        for example, real in swaps.items():
            code, prints = code.replace(example, real), prints and prints.replace(example, real)
        if block.language == "sh":  # make cannot run the tests inside the tests
            code = _MAKE.sub(rf"make -C '{ROOT}' --dry-run \1 >/dev/null", code)
        row = dataclasses.asdict(block) | {"code": code, "prints": prints}
        work.append(row | {"page": name_of(page), "saved_as": block.saved_as})
    return work


def is_part_of(page, block) -> bool:
    """Whether a page runs these commands, some with more options, in this order, and others."""
    if block.language != "sh" or block.prints:
        return False
    shell = [b.code for b in blocks(page) if b.language == "sh" and b.is_run]
    lines = iter([line.strip() for line in "".join(shell).splitlines()])
    return all(
        any(line.startswith(own.strip()) for line in lines) for own in block.code.splitlines()
    )


@pytest.mark.parametrize("page", [_in_every_run(page) for page in _WITH_CODE])
def test_code_runs(page, tmp_path, database):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    work = json.dumps(to_run(page, database))
    scripts = (forks.command_folder(), sysconfig.get_path("scripts"))
    env = {k: v for k, v in os.environ.items() if not k.startswith("SUREPICK_")}
    env |= {
        "PATH": os.pathsep.join([*scripts, env["PATH"]]),
        "COLUMNS": "100",
        "MPLBACKEND": "agg",
        "MLFLOW_DISABLE_TELEMETRY": "true",  # tests tell nobody that they ran
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [env.get("PYTHONPATH")])]),
        forks.ADDRESS: os.environ[forks.ADDRESS],
    }
    done = forks.run("tests.docs.run_page", input=work, cwd=tmp_path, env=env, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    if _PICTURES in os.environ:
        for picture in tmp_path.glob("*.png"):
            shutil.copy(picture, os.environ[_PICTURES])


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_blocks_say_what_they_are(page):
    """Code that is called console, bash or nothing at all would never be run."""
    plain = {"python", "sh", "text", "json", "csv", "toml", "yaml", "nginx", "js"}
    for info in infos(page):
        assert info in plain or info.startswith("{"), f"{name_of(page)}: block marked {info!r}"


def test_all_kinds_of_blocks_are_found():
    known = [block for page in pages() for block in blocks(page)]
    assert any(not block.is_run for block in known)
    assert any(block.prints for block in known)
    assert any(block.saved_as for block in known)
    assert {block.language for block in known} == {"python", "sh"}


def test_commands_that_another_page_runs_are_recognised():
    commands = "surepick new layouts examples/layouts.csv\nsurepick status layouts\n"
    assert is_part_of(LAYOUTS, Block("sh", commands, 1))
    assert not is_part_of(LAYOUTS, Block("sh", commands, 1, prints="a table"))
    assert not is_part_of(LAYOUTS, Block("sh", commands + "surepick plan\n", 1))  # before them
    assert not is_part_of(LAYOUTS, Block("sh", commands + "surepick ask\n", 1))


def test_readme_and_tutorial_tell_the_same_numbers():
    """The tutorial's are what its blocks print."""
    claimed = re.findall(r"(\d+)\s+measurements\s+of\s+(\d+)\s+layouts", README.read_text("utf-8"))
    printed = re.findall(r"^(\d+) ratings of (\d+) layouts$", LAYOUTS.read_text("utf-8"), re.M)
    assert len(printed) == 1
    assert set(claimed) <= set(printed)


def test_what_is_chosen_is_what_the_leaderboard_ranks_first():
    board = (ROOT / "docs" / "leaderboard.md").read_text("utf-8")
    ranked = dict(re.findall(r"^\| (\d+) \| ([\w-]+) \|", board.split("\n## ")[1], re.M))
    choice = (ROOT / "docs" / "choosing.md").read_text("utf-8")
    assert f"`{ranked['1']}` | first on the leaderboard |" in choice
    assert f"`{ranked['2']}` | second among the proven on the leaderboard |" in choice
