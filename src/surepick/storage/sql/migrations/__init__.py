"""Steps from each version of the tables to the next, run by alembic when a storage is opened."""
