"""Which version of the tables a database has, and bringing it to the newest one."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, text

from surepick.errors import StorageVersionError

VERSION_TABLE = "surepick_version"
VERSIONS = ("0001",)  # oldest first; each has its file in migrations/versions

_log = logging.getLogger(__name__)
_one_at_a_time = threading.Lock()  # alembic keeps the migration under way in a global


def version(connection: Connection) -> str | None:
    """The version of the tables in this database; None when there are none."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()


def check(found: str | None, url: str) -> bool:
    """Whether tables of this version have to be brought up to date; refuse newer ones."""
    if found is not None and found not in VERSIONS:
        raise StorageVersionError(
            f"{url} was written by a newer version of surepick (its tables are version {found}, "
            f"this version knows up to {VERSIONS[-1]}); upgrade surepick to open it"
        )
    return found != VERSIONS[-1]


def upgrade(connection: Connection, url: str) -> None:
    """Bring the tables to the newest version, inside the transaction of this connection."""
    found = version(connection)
    if not check(found, url):
        return  # somebody else did it while this one waited
    if found is None:
        create(connection)
    else:
        migrate(connection)
        _log.info("%s: tables brought from version %s to %s", url, found, VERSIONS[-1])


def create(connection: Connection) -> None:
    """Make the newest tables at once, where there are none: a tenth of the work of all versions."""
    from surepick.storage.sql.tables import metadata

    metadata.create_all(connection)
    version_table = Table(
        VERSION_TABLE, MetaData(), Column("version_num", String(32), primary_key=True)
    )
    version_table.create(connection)
    connection.execute(version_table.insert().values(version_num=VERSIONS[-1]))


def migrate(connection: Connection) -> None:
    """Bring older tables (or none) to the newest version, version by version."""
    from alembic import command
    from alembic.config import Config

    folder = str(Path(__file__).parent / "migrations")
    config = Config()
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.attributes["connection"] = connection
    with _one_at_a_time:
        command.upgrade(config, VERSIONS[-1])
