"""Every Python snippet of the README runs, in order, as one program."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_python_snippets_run(capsys):
    snippets = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)
    assert snippets
    exec(compile("\n".join(snippets), str(README), "exec"), {})
    assert "mix" in capsys.readouterr().out
