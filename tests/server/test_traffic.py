"""Traffic over HTTP: the client does what the library does, with the same sentences."""

import shutil

import numpy as np
import pytest
from tests.postgres import fast_folder
from tests.server.served import Served
from tests.study.traffic import site

import surepick as sp
from surepick.errors import InvalidInputError, RunStateError, TellConflictError
from surepick.study import SegmentStudies

PROBLEM = sp.Problem(np.eye(4), noise="yes-no", labels=site.LABELS)
RULES = {"at_least": "5%", "control": "plain", "control_share": "20%"}


@pytest.fixture(scope="module")
def service():
    folder = fast_folder("sp-traffic-")
    with Served(f"sqlite:///{folder}/studies.db", folder, "--rate", "100000") as served:
        yield served
    shutil.rmtree(folder)


@pytest.mark.validation
def test_a_service_says_what_the_library_says(service, tmp_path):
    with service.client(patience=20) as client:
        there = client.create_study("shop", PROBLEM, traffic=RULES)
        here = site.create(**RULES)
        for study in (there, here):
            site.decide(study)
        assert there.answer.to_dict() == here.answer.to_dict()
        assert sp.verify(there.answer.certificate(), replay=True).replayed
        own, other = there.status()["traffic"], here.status()["traffic"]
        assert own == other | {"open": own["open"]}
        assert [row["samples"] for row in there.history()] == [
            row["samples"] for row in here.history()
        ]
        rows = there.export(tmp_path / "all.csv").read_text().splitlines()
        assert rows[0] == "period,arm,label,share,visits,sum,time,token"
        assert len(rows[1].split(",")[-1]) > 4  # who reported it


def test_options_come_and_go_at_a_service(service):
    with service.client(patience=20) as client:
        study = client.create_study("coming and going", PROBLEM, traffic=True)
        study.split(period="monday")
        assert (
            study.add(["new"], reason="one more").said
            == "Added: new. It comes with the next period."
        )
        assert study.retire("bold", reason="sold out").said.endswith(
            "open period is finished first."
        )
        assert "new" not in study.split(period="monday").shares
        shares = study.split(period="tuesday").shares
        assert {"new", "plain"} <= shares.keys()
        assert "bold" not in shares
        study.record(dict.fromkeys(site.LABELS, (100, 4)), "monday")
        assert study.record(dict.fromkeys(shares, (100, 4)), "tuesday").left == len(shares)
        assert [one["recorded"] for one in study.periods()] == [True, True]


def test_what_a_service_refuses_has_the_same_sentence(service):
    with service.client(patience=20) as client:
        pair = client.create_study("mistakes", PROBLEM, traffic=True), site.create(name="mistakes")
        good = dict.fromkeys(site.LABELS, (1000, 40))
        said = []
        for study in pair:
            sentences = []

            def refused(kind, work, into=sentences):
                with pytest.raises(kind) as error:
                    work()
                into.append(str(error.value))

            refused(RunStateError, lambda study=study: study.record(good, "monday"))
            study.split(visits=100, period="monday")
            for report in (
                good | {"plain": (40, 41)},
                good | {"bold": (10.5, 1)},
                {"plain": (1, 1)},
                good | {"other": (1, 1)},
            ):
                refused(InvalidInputError, lambda study=study, r=report: study.record(r, "monday"))
            assert study.record(good, "monday").status == "accepted"
            assert study.record(good, "monday").status == "duplicate"
            refused(
                TellConflictError,
                lambda study=study: study.record(good | {"plain": (999, 40)}, "monday"),
            )
            refused(RunStateError, lambda study=study: study.ask())
            said.append(sentences)
        assert said[0] == said[1]


def test_reports_are_looked_at_and_corrected_over_http(service):
    with service.client(patience=20) as client:
        study = client.create_study("corrected", PROBLEM, traffic=RULES)
        study.split()
        good = dict.fromkeys(site.LABELS, (1000, 40))
        assert study.record(good, "monday", check=True).status == "checked"
        assert study.status()["traffic"]["settled"] == 0
        study.record(good, "monday")
        right = good | {"bold": (990, 31)}
        made = study.correct_report("monday", right, reason="bots", by="ann")
        assert study.correct_report("monday", right, reason="bots", by="ann") == made
        assert study.report_changes() == [made]
        assert [(row.label, row.old, row.new) for row in made.rows] == [
            ("bold", (1000, 40.0), (990, 31.0))
        ]
        assert made.token is not None
        assert study.status()["pulls"][1] == 990
        with pytest.raises(RunStateError, match="was not recorded"):
            study.correct_report("tuesday", good, reason="x")


def _listed(http, name):
    rows = http.get("/api/v1/studies").json()["studies"]
    return next(row for row in rows if row["name"] == name)


@pytest.mark.validation
def test_a_picture_of_every_study_comes_from_the_service(service):
    with service.client(patience=20) as client, service.http() as http:
        study = client.create_study("drawn", PROBLEM, traffic=RULES)
        place = "/api/v1/studies/drawn/picture"
        refused = http.get(place)
        assert refused.status_code == 422
        assert "nothing to draw yet" in refused.json()["error"]["message"]
        assert not _listed(http, "drawn")["measuring"]
        study.split()
        assert _listed(http, "drawn")["measuring"]  # a period is under way
        study.record(dict.fromkeys(site.LABELS, (1000, 40)) | {"video": (1000, 90)}, "monday")
        for form, kind, start in (
            ("svg", "image/svg+xml", b"<?xml"),
            ("png", "image/png", b"\x89PNG"),
            ("pdf", "application/pdf", b"%PDF"),
        ):
            drawn = http.get(place, params={"format": form})
            assert drawn.headers["content-type"].startswith(kind)
            assert drawn.headers["content-disposition"] == f'attachment; filename="drawn.{form}"'
            assert drawn.content.startswith(start)


def test_a_service_begins_a_study_for_each_segment_once(service):
    """As its page asks; a client has no study of the whole test to give, and sends nothing."""
    with service.client(patience=20) as client, service.http() as http:
        with pytest.raises(InvalidInputError, match="on the page"):
            client.create_study("parts", PROBLEM, traffic=True, segments="phone,desk")
        assert "parts@phone" not in client.list_studies()
        body = {"name": "parts", "table": {"csv": "label\nold\nbold\n"}, "traffic": True}
        body |= {"noise": "yes-no", "segments": "phone, desk", "key": "once"}
        for _ in range(2):  # the answer to the first request was lost
            made = http.post("/api/v1/studies", json=body)
            assert (made.status_code, made.json()["name"]) == (201, "parts@phone")
        assert made.json()["study"]["traffic"]["segment"]["others"] == {"desk": "parts@desk"}
        taken = http.post("/api/v1/studies", json=body | {"key": "another"})
        assert taken.status_code == 409
        test = SegmentStudies.among("parts", client.list_studies(), client.load_study)
        test.split()
        report = {label: {"phone": (90, 5), "desk": (80, 3)} for label in ("old", "bold")}
        found = test.record(report, "monday")
        assert [one.status for one in found.values()] == ["accepted", "accepted"]
        assert test.studies["desk"].algorithm.delta == 0.025
