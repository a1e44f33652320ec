"""Studies of a service, as if they were here."""

from surepick.client.client import Client
from surepick.client.study import RemoteStudy

__all__ = ["Client", "RemoteStudy"]
