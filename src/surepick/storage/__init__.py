"""Where studies live: in memory, in an SQLite file, in PostgreSQL, or in a storage of your own."""

from surepick.storage.contract import Storage, Transaction
from surepick.storage.open import open_storage, register, unregister

__all__ = ["Storage", "Transaction", "open_storage", "register", "unregister"]
