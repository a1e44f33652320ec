"""Studies: runs that live in a database and are shared by workers."""

from surepick.study.checks.checks import check_study
from surepick.study.manage import create_study, delete_study, list_studies, load_study
from surepick.study.study import Pull, Study, Told

__all__ = [
    "Pull",
    "Study",
    "Told",
    "check_study",
    "create_study",
    "delete_study",
    "list_studies",
    "load_study",
]
