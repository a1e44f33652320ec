"""A site's owner whose process dies at the worst moments, and what is left of the study.

Run as a program (``python -m tests.study.traffic.crashes URL``) it forks its victims from itself,
kills each at another contact with the database, lets a second one go on, and prints as JSON what it
found. ``--step 1`` kills at every single contact.
"""

import argparse
import json
import sys
from functools import partial

from tests.study.crashes import ended, fork, kill_at
from tests.study.traffic import site

import surepick as sp
from surepick.errors import SurepickError, UnknownStudyError
from surepick.storage import open_storage
from surepick.study.chain import check_chain

DAYS = 3
RIGHT = {label: (500 + k, 20 + 3 * k) for k, label in enumerate(site.LABELS)}


def mornings(url, name, point):
    """Three mornings, from wherever the study is; every call may be one that was made before."""
    kill_at(point)
    try:
        study = sp.load_study(name, url)
    except UnknownStudyError:
        study = site.create(url, name, control="plain", control_share="20%")
    for number in range(DAYS):
        if number >= study.current_run.batches:
            study.split(period=f"day {number}")
        site.day(study, number) if number >= study.current_run.batches else again(study, number)
        if number == 1:  # the first report had been that of another test
            study.correct_report("day 0", RIGHT, reason="another test")
    study.close()
    return 0


def again(study, number):
    """What was acknowledged, or written without anybody hearing of it, is the same again."""
    report = json.loads(study.traffic.desk.reports()[number].content)
    counts = dict.fromkeys(site.LABELS, (0, 0))
    for arm, visits, hits in zip(report["arms"], report["visits"], report["sums"]):
        counts[site.LABELS[arm]] = (visits, int(hits))
    done = study.record(counts, f"day {number}")
    assert done.status == "duplicate"


def points(url, step):
    """Kill at every contact of a study from its creation to its third report."""
    found = {"killed": 0, "failed": 0, "different": 0}
    open_storage(url).close()
    whole = state(url, "whole")
    for point in range(1, 10_000, step):
        name = f"shop {point}"
        if ended(fork(partial(mornings, url, name, point))) == 0:
            break
        found["killed"] += 1
        found["failed"] += ended(fork(partial(mornings, url, name, 0))) != 0
        found["different"] += state(url, name) != whole
    return found


def state(url, name):
    """All that matters, worked out from the log; the same whoever died on the way."""
    if name == "whole":
        assert ended(fork(partial(mornings, url, name, 0))) == 0
    with sp.load_study(name, url) as study:
        check_chain(study.storage, study._record)
        desk = study.traffic.desk
        shares = [(one.number, one.name, one.shares, one.settled) for one in desk.periods()]
        reports = [(one.period, one.content) for one in desk.reports()]
        reports += [(one.number, one.asked, one.rows) for one in study.report_changes()]
        run = study.rebuild()
        assert run.pulls.tolist() == study.current_run.pulls.tolist()
        return shares, reports, run.samples, run.pulls.tolist(), run.active


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--step", type=int, default=1)
    asked = parser.parse_args()
    print(json.dumps(points(asked.url, asked.step)))


if __name__ == "__main__":
    try:
        main()
    except SurepickError as error:
        sys.exit(f"{type(error).__name__}: {error}")
