"""Studies of a service, as if they were here."""

from surepick.client.asynchronous import AsyncClient, AsyncStudy
from surepick.client.client import Client, Here, RemoteStudy

__all__ = ["AsyncClient", "AsyncStudy", "Client", "Here", "RemoteStudy"]
