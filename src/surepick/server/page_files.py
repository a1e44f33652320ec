"""The page's files: browsers keep them, under an address that changes whenever one of them does.

The page is some sixty small files, and asking for each of them at every visit would be most of the
visit. Their scripts name each other relative to themselves, so a folder with the version in its
name is all it takes.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from fastapi.staticfiles import StaticFiles
from starlette.responses import Response
from starlette.types import Scope

PAGE = Path(__file__).parent / "page"
_VERSION = re.compile(r"v[0-9a-f]{16}")
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_FIRST = "no-cache"  # may be kept, but only used after asking whether it is still the same


def version_of(folder: Path) -> str:
    """A name for the content of all files in a folder."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        found.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return f"v{found.hexdigest()[:16]}"


class PageFiles(StaticFiles):
    """The files, as they are when the service starts; with or without a version in the address.

    Another version than this one is asked for while a service is replaced by a newer one: it gets
    what there is, but not for keeps.
    """

    def __init__(self) -> None:
        super().__init__(directory=PAGE)
        self.version = version_of(PAGE)

    def index(self) -> str:
        """The page itself, naming its files by their version."""
        text = (PAGE / "index.html").read_text(encoding="utf-8")
        return text.replace('="/static/', f'="/static/{self.version}/')

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file, or that it is still the same."""
        first, _, rest = path.partition("/")
        versioned = _VERSION.fullmatch(first) is not None
        response = await super().get_response(rest if versioned else path, scope)
        response.headers["cache-control"] = _FOR_EVER if first == self.version else _ASK_FIRST
        return response
