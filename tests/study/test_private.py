"""What other parts of the package read of a study is public."""

import ast
from pathlib import Path

import surepick.study

FOLDER = Path(surepick.study.__file__).parent
PRIVATE = {"study", "opened", "desk", "remote"}  # what studies are called in other rooms


def test_others_read_nothing_private_of_a_study():
    root = FOLDER.parent
    rooms = [*(root / name for name in ("server", "cli", "report", "client")), FOLDER / "desk"]
    for path in (file for room in rooms for file in room.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
                continue
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            private = name.strip("_") in PRIVATE and not node.attr.startswith("__")
            assert not private, f"{path}, line {node.lineno}: {ast.unparse(node)}"
