"""Studies: runs that live in a database and are shared by workers."""

from surepick.study.acts import Act
from surepick.study.acts.limits import LimitChange
from surepick.study.acts.options import OptionChange
from surepick.study.acts.reports import ReportChange
from surepick.study.acts.rewards import Change
from surepick.study.core import StudyCore, check_study
from surepick.study.manage import (
    copy_study,
    create_study,
    delete_study,
    list_studies,
    load_study,
    store,
)
from surepick.study.per_segment import (
    SegmentAnswers,
    SegmentShares,
    SegmentSplits,
    SegmentStudies,
)
from surepick.study.pulls import Pull, Told
from surepick.study.sheet import OptionTable, Sheet
from surepick.study.spec import StudySpec
from surepick.study.study import Study
from surepick.study.traffic.lookback import LookBack, look_back
from surepick.study.traffic.results import Recorded, Split
from surepick.study.workers.measure import Measurement

__all__ = [
    "Act",
    "Change",
    "LimitChange",
    "LookBack",
    "Measurement",
    "OptionChange",
    "OptionTable",
    "Pull",
    "Recorded",
    "ReportChange",
    "SegmentAnswers",
    "SegmentShares",
    "SegmentSplits",
    "SegmentStudies",
    "Sheet",
    "Split",
    "Study",
    "StudyCore",
    "StudySpec",
    "Told",
    "check_study",
    "copy_study",
    "create_study",
    "delete_study",
    "list_studies",
    "load_study",
    "look_back",
    "store",
]
