"""Where studies live: in memory, in an SQLite file, or in PostgreSQL."""

from surepick.storage.contract import Storage, Transaction
from surepick.storage.open import open_storage

__all__ = ["Storage", "Transaction", "open_storage"]
