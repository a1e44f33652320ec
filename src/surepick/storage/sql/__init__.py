"""Studies in an SQL database: SQLite and PostgreSQL."""
