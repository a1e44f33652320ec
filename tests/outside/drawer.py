"""A storage from outside: an SQLite file in a drawer, with an address of its own."""

from surepick.storage import register
from surepick.storage.sql.sqlite import SqliteStorage


class DrawerStorage(SqliteStorage):
    """Everything is as in SQLite but the address."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        super().__init__(url.replace("drawer:", "sqlite:", 1), create=create)
        self.url = url


register("drawer", lambda url, create: DrawerStorage(url, create=create), form="drawer:///file.db")
