"""Keys: given as digits, or in a file whose name may be of any length."""

import pytest

from surepick.errors import InvalidInputError
from surepick.run.signature import read_key

KEY = "0123456789abcdef" * 4


def test_a_file_whose_path_is_as_long_as_a_key_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "k" * 60 + ".pub"
    assert len(name) == len(KEY)
    (tmp_path / name).write_text(f"{KEY.upper()}\n")
    assert read_key(name) == KEY
    (tmp_path / KEY).write_text("f" * 64)  # such a name is a key
    assert read_key(KEY) == KEY
    assert read_key(f"./{KEY}") == "f" * 64
    (tmp_path / "binary").write_bytes(b"\xff\xfe" * 32)
    for wrong in ("binary", "nothing", "g" * 64, "", "."):
        with pytest.raises(InvalidInputError, match="neither a key"):
            read_key(wrong)
