"""How alembic runs here: on the connection, and inside the transaction, that it is handed."""

from __future__ import annotations

from alembic import context

from surepick.storage.sql.migrate import VERSION_TABLE

config = getattr(context, "config", None)
if config is not None:  # None where the file is merely imported
    context.configure(connection=config.attributes["connection"], version_table=VERSION_TABLE)
    context.run_migrations()
