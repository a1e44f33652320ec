"""Rankings for people: means that are too small, because trials gave up, are marked as such."""

from surepick.bench.compare.standings import Standings
from surepick.report.leaderboard import cells, columns
from surepick.simulate.table import Table


def trial(algorithm, samples, guarantee):
    return {
        "algorithm": algorithm,
        "instance": "a",
        "delta": 0.1,
        "trial": 0,
        "samples": samples,
        "correct": True,
        "arm": 0,
        "batches": 1,
        "survivors": 1,
        "guarantee": guarantee,
        "seconds": 0.1,
        "failed": "",
        "lower_bound": 100.0,
    }


def test_means_of_trials_that_gave_up_are_lower_bounds():
    rows = [trial("peleg", 300, "pac"), trial("peleg", 300, "pac")]
    rows += [trial("rage", 400, "pac"), trial("rage", 800, "none")]
    standings = Standings(Table.from_rows(rows))
    heading = columns(standings)
    shown = {}
    for rank, place in enumerate(standings.ranking("proven"), 1):
        shown[place.algorithm] = dict(zip(heading, cells(place, rank, standings), strict=True))
    for column in ("all", "× fewest"):
        assert shown["rage"][column].startswith("> ")
        assert not shown["peleg"][column].startswith(">")
    assert float(shown["peleg"]["all"]) == 3.0
    assert float(shown["rage"]["all"].removeprefix("> ")) == 6.0
    assert (shown["rage"]["capped"], shown["peleg"]["capped"]) == ("1", "")
    assert (shown["rage"]["wrong"], shown["peleg"]["wrong"]) == ("0 of 1", "0 of 2")
