"""The pages of the documentation, and the code on them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_RUN = " {data-run=never}"  # after the language; the page says why
# After text: numbers may differ. Rounding differs between processors, and with it, now and then,
# which of two equally good pulls comes first, and so all rewards after it.
_VARY = " {data-numbers=vary}"
_FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=fence) *$",
    re.MULTILINE | re.DOTALL,
)
_LANGUAGES = {"python": "python", "{code-cell} python": "python", "sh": "sh"}
_SAVED = re.compile(r"# (?P<name>[\w-]+\.py)\n")


def pages() -> list[Path]:
    """Every page that is read on the site or beside the code."""
    beside = [*ROOT.glob("*.md"), *ROOT.glob("examples/*.md")]
    site = [p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts]
    return sorted(beside + site)


def name_of(page: Path) -> str:
    """The page as its path from the root."""
    return page.relative_to(ROOT).as_posix()


@dataclass
class Block:
    """A block of code that readers may copy."""

    language: str  #: python or sh
    code: str
    line: int  #: where its code begins
    is_run: bool = True
    prints: str | None = None  #: the ``text`` block that follows at once
    numbers_vary: bool = False  #: in what it prints, from one processor to the next

    @property
    def saved_as(self) -> str | None:
        """The file it is, when its first line is just the file's name."""
        match = _SAVED.match(self.code)
        return match["name"] if match and self.language == "python" else None


def infos(page: Path) -> list[str]:
    """What each fenced block of a page says that it is."""
    text = page.read_text(encoding="utf-8")
    found = (match["info"].strip() for match in _FENCE.finditer(text))
    return [info.removesuffix(NOT_RUN).removesuffix(_VARY) for info in found]


def blocks(page: Path) -> list[Block]:
    """The code on a page, in order."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(text):
        info, body = match["info"].strip(), match["body"]
        indent = len(match["indent"])
        body = "".join(line[indent:] for line in body.splitlines(keepends=True))
        line = text.count("\n", 0, match.start("body")) + 1
        kind = info.removesuffix(NOT_RUN)
        if kind in _LANGUAGES:
            found.append(Block(_LANGUAGES[kind], body, line, is_run=kind == info))
        elif info.removesuffix(_VARY) == "text" and found and not text[end : match.start()].strip():
            found[-1].prints, found[-1].numbers_vary = body, info.endswith(_VARY)
        end = match.end()
    return found
