"""What judges see of two options: texts, pictures and links, without the names of the options.

They are cells of the table of options. A cell may be the name of a file that came with the study
(``files``), whose content is then shown; ``{item}`` in a cell stands for the number of the item.
What is the same for both options is shown once, above both: the question that they answer, say.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem.tables.cells import as_number
from surepick.study.settings import Prepared, Setting

SHOW, FILES = "show", "files"  #: what a study's notes call them
#: pictures that every browser shows, and that can hold no script
PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_TEXTS = (".txt", ".md", ".csv", ".json", ".html", ".py", "")
_LARGEST = 4 * 2**20  # bytes of all files of a study: they are read whenever it is opened
_MOST = 2000  # files
_ITEM = "{item}"
_DATA = re.compile(r"data:(image/[a-z]+);base64,(.*)", re.DOTALL)


# -- files -----------------------------------------------------------------------------------
def _files(given: Any) -> dict[str, str]:
    """Files by name: texts as they are, pictures as data URLs; from a folder, or from JSON."""
    if isinstance(given, str | os.PathLike):
        given = _read(Path(given))
    if not isinstance(given, Mapping):
        raise InvalidTypeError(
            f"files must be a folder, or contents by the names of files; got {given!r:.80}"
        )
    for name, content in given.items():
        if not (isinstance(name, str) and isinstance(content, str)):
            raise InvalidTypeError(f"files: {name!r:.80} and its content must be texts")
        if content.startswith("data:"):
            picture(content, name)
    if len(given) > _MOST:
        raise InvalidInputError(
            f"files: at most {_MOST:,} are kept with a study; got {len(given):,}"
        )
    size = sum(len(content) for content in given.values())
    if size > _LARGEST:
        raise InvalidInputError(
            f"files: {size / 2**20:.1f} MB are too much, at most {_LARGEST // 2**20} are kept with "
            "a study; make pictures smaller, or give links (https://…) to where they are"
        )
    return {str(name).replace("\\", "/"): str(content) for name, content in given.items()}


def _read(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise InvalidInputError(f"files: {folder} is not a folder")
    found: dict[str, str] = {}
    size = 0
    for path in sorted(folder.rglob("*")):
        ending = path.suffix.lower()
        if not path.is_file() or path.name.startswith("."):
            continue
        if ending not in PICTURES and ending not in _TEXTS:
            continue
        content = path.read_bytes()
        size += len(content)
        if size > _LARGEST:  # the exact limit is looked at above
            raise InvalidInputError(
                f"files: {folder} has more than {_LARGEST // 2**20} MB; make pictures smaller, or "
                "give links (https://…) to where they are"
            )
        name = path.relative_to(folder).as_posix()
        if ending in PICTURES:
            found[name] = f"data:{PICTURES[ending]};base64,{base64.b64encode(content).decode()}"
            continue
        try:
            found[name] = content.decode("utf-8-sig").replace("\x00", "")
        except UnicodeDecodeError:
            raise InvalidInputError(f"files: {name} is not a text in UTF-8") from None
    if not found:
        raise InvalidInputError(
            f"files: {folder} has no texts ({', '.join(filter(None, _TEXTS))}) and no pictures "
            f"({', '.join(PICTURES)})"
        )
    return found


def picture(content: str, name: str) -> tuple[str, bytes]:
    """The type and the bytes of a picture, or an error that names the file."""
    found = _DATA.fullmatch(content)
    if found is None or found[1] not in PICTURES.values():
        raise InvalidInputError(
            f"files: {name!r:.80} is not a picture that can be shown ({', '.join(PICTURES)})"
        )
    try:
        return found[1], base64.b64decode(found[2], validate=True)
    except binascii.Error:
        raise InvalidInputError(f"files: {name!r:.80} is not written in base64") from None


# -- columns ---------------------------------------------------------------------------------
def _columns(given: Any) -> list[str]:
    names = given.split(",") if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(one, str) for one in names):
        raise InvalidTypeError(f"show must be names of columns; got {given!r:.80}")
    found = [one.strip() for one in names]
    if not all(found):
        raise InvalidInputError(f"show: a name of a column is empty in {given!r:.80}")
    return found


def _of_pairs(name: str, made: Prepared) -> None:
    if made.problem.pairing is None:
        raise InvalidInputError(
            f"{name}: only where options are compared two at a time; add pairs (--pairs)"
        )


def _known(show: list[str], made: Prepared) -> Prepared:
    _of_pairs(SHOW, made)
    there = [*(made.meta.get("columns") or {}), made.meta.get("label_column")]
    for name in show:
        if name not in there:
            known = ", ".join(repr(one) for one in there if one)
            raise InvalidInputError(f"show: there is no column {name!r}; there are {known}")
    return made


def _named(files: dict[str, str], made: Prepared) -> Prepared:
    """Refuse files that no cell names: a folder was meant for something else."""
    _of_pairs(FILES, made)
    cells = {str(cell) for column in (made.meta.get("columns") or {}).values() for cell in column}
    with_items = [cell for cell in cells if _ITEM in cell]
    used = {
        name: content
        for name, content in files.items()
        if name in cells or any(_names_for_some_item(cell, name) for cell in with_items)
    }
    if not used:
        example = next(iter(files))
        raise InvalidInputError(
            f"files: no cell of the table names one of them; put their names into a column, such "
            f"as {example!r} ({_ITEM} stands for the number of an item)"
        )
    return replace(made, meta=made.meta | {FILES: used})


def _names_for_some_item(cell: str, name: str) -> bool:
    """Whether a cell is the name of a file once ``{item}`` is the number of some item.

    Takes time in proportion to the name, however often the cell has ``{item}``.

    Examples
    --------
    >>> _names_for_some_item("{item}/{item}.png", "12/12.png")
    True
    >>> _names_for_some_item("{item}/{item}.png", "12/13.png")
    False
    """
    places = cell.count(_ITEM)
    digits, left = divmod(len(name) - (len(cell) - places * len(_ITEM)), places)
    if left or digits < 1:
        return False
    start = cell.index(_ITEM)
    number = name[start : start + digits]
    return number.isdecimal() and number.isascii() and cell.replace(_ITEM, number) == name


SHOW_SETTING = Setting(
    help="With `pairs`: the columns of the table that judges see on the page, with commas; that of "
    "the labels may be among them. By default all columns with texts, or all there are, or "
    "the label, where the table has nothing else.",
    schema={"type": "string"},
    check=_columns,
    write=lambda show: list(show),
    apply=_known,
    question="Columns that judges see",
    hint="Names of columns, with commas: texts, or links (https://…). Judges do not see the names "
    "of the options. Empty: all columns with texts.",
    empty="all with texts",
    pairs=True,
)
FILES_SETTING = Setting(
    help="With `pairs`: a folder with texts and pictures that judges see. A cell of the table that "
    "is the name of such a file is shown by its content; {item} in a cell stands for the number "
    "of the item.",
    schema={"$ref": "FilesBody"},
    check=_files,
    apply=_named,
)


# -- what is shown ---------------------------------------------------------------------------
def shown_columns(meta: Mapping[str, Any]) -> list[str]:
    """The columns that judges see; none: they see the labels.

    Examples
    --------
    >>> shown_columns({"columns": {"tokens": ["3", "5"], "text": ["Hi.", "Ho."]}})
    ['text']
    """
    columns = meta.get("columns") or {}
    if meta.get(SHOW):
        return list(meta[SHOW])
    texts = [
        name
        for name, cells in columns.items()
        if any(cell is not None and as_number(cell) is None for cell in cells)
    ]
    return texts or list(columns)


def shown(
    meta: Mapping[str, Any],
    labels: Sequence[str],
    both: tuple[int, int],
    item: int | None,
    pictures_from: Sequence[str] = (),
) -> dict[str, list[dict[str, str]]]:
    """What a judge sees: of each of two options, and what is the same for both.

    Pictures of the sites in ``pictures_from`` are shown; those of others are links.

    Examples
    --------
    >>> meta = {"columns": {"asked": ["Why?", "Why?"], "said": ["So.", "https://a.org"]}}
    >>> seen = shown(meta, ["a", "b"], (1, 0), None)
    >>> seen["both"][0]["content"], seen["first"][0]["kind"], seen["second"][0]["content"]
    ('Why?', 'link', 'So.')
    """
    columns, files = meta.get("columns") or {}, meta.get(FILES) or {}
    seen: dict[str, list[dict[str, str]]] = {"both": [], "first": [], "second": []}
    for name in shown_columns(meta):
        cells = labels if name == meta.get("label_column") else columns.get(name)
        if cells is None:
            continue
        first, second = (_thing(name, cells[i], files, item, pictures_from) for i in both)
        if first == second:
            seen["both"].append(first)
            continue
        seen["first"].append(first)
        seen["second"].append(second)
    if not seen["first"]:  # nothing tells them apart but their names
        for which, i in zip(("first", "second"), both):
            seen[which].append({"name": "", "kind": "text", "content": labels[i]})
    return seen


def _thing(
    name: str, cell: Any, files: Mapping[str, str], item: int | None, pictures_from: Sequence[str]
) -> dict[str, str]:
    text = "" if cell is None else str(cell).strip()
    if item is not None:
        text = text.replace(_ITEM, str(item))
    if text in files:
        if files[text].startswith("data:"):
            return {"name": name, "kind": "file", "content": text}
        return {"name": name, "kind": "text", "content": files[text]}
    site = _site(text)
    if site is None:
        return {"name": name, "kind": "text", "content": text}
    ending = Path(urlsplit(text).path).suffix.lower()
    shows = ending in PICTURES and site in pictures_from
    return {"name": name, "kind": "picture" if shows else "link", "content": text}


def _site(text: str) -> str | None:
    """The site of a link that may be followed; None: it is none."""
    if not text.lower().startswith(("http://", "https://")) or any(c.isspace() for c in text):
        return None
    try:
        parts = urlsplit(text)
        return f"{parts.scheme.lower()}://{parts.netloc.lower()}" if parts.hostname else None
    except ValueError:
        return None
