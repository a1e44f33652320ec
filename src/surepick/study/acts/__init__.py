"""What people do to a study while it is under way: correct, add, limit, pause, report, ….

Each kind of act is one value (:class:`ActKind`) in one small file, and every door reads it: the
methods of a study, the service, its clients and page, the command line.
"""

from surepick.study.acts.base import Act, ActKind, Field, Scene, Step, Who
from surepick.study.acts.registry import get, kinds, register, unregister

__all__ = [
    "Act",
    "ActKind",
    "Field",
    "Scene",
    "Step",
    "Who",
    "get",
    "kinds",
    "register",
    "unregister",
]
