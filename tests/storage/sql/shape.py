"""What tables a database has, however they were made."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, inspect


def shape(connection: Connection) -> dict[str, Any]:
    """Of each table: its columns by name, its keys and its indexes."""
    seen = inspect(connection)
    return {
        table: {
            "columns": {
                one["name"]: (str(one["type"]), one["nullable"], one["default"])
                for one in seen.get_columns(table)
            },
            "key": seen.get_pk_constraint(table)["constrained_columns"],
            "refers": sorted(
                (one["constrained_columns"], one["referred_table"], sorted(one["options"].items()))
                for one in seen.get_foreign_keys(table)
            ),
            "unique": sorted(one["column_names"] for one in seen.get_unique_constraints(table)),
            "indexes": sorted(
                (one["name"], one["column_names"], one["unique"]) for one in seen.get_indexes(table)
            ),
        }
        for table in seen.get_table_names()
    }
