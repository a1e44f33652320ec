"""Options that come and go through the service and the client: what the library does."""

import pytest

import surepick as sp
from surepick.errors import AccessError, InvalidInputError, UnknownNameError
from surepick.study import Sheet

TRUTH = {"a": 0.0, "b": 1.0, "c": 3.0, "d": 2.0, "e": 6.0}


def measured(pulls):
    return [(p.id, TRUTH[p.label] + 0.1 * ((7 * p.id) % 5)) for p in pulls]


@pytest.mark.validation
def test_an_admin_adds_and_retires_and_everybody_sees_it(service):
    table = Sheet(csv="label,size,colour\na,1,red\nb,2,blue\nc,3,red\n")
    more = Sheet(csv="label,size,colour\nd,4,red\ne,5,green\n")
    with service.client() as admin:
        study = admin.create_study("turns", table=table, delta=0.1)
        worker = sp.Client(service.url, admin.make_token("worker", ["turns"])).load_study("turns")
        worker.tell_many(measured(worker.ask(2, "w")))
        with pytest.raises(AccessError, match="admin"):
            worker.add(more)
        with pytest.raises(InvalidInputError, match="no column 'size'"):
            study.add(Sheet(csv="label,colour\nd,red\n"))
        added = study.add(more, reason="they are new", by="ann")
        assert (added.labels, added.waits, added.by) == (("d", "e"), True, "ann")
        assert added.token is not None
        assert study.add(more, reason="they are new", by="ann") == added, "a repeated request"
        assert study.status()["coming"] == ["d", "e"]
        while not worker.finished:
            pulls = worker.ask(9, "w")
            assert all(worker.features_of(p.arm)["colour"] for p in pulls)
            worker.tell_many(measured(pulls))
        assert study.answer.label == "e"
        with pytest.raises(UnknownNameError, match="unknown option 'z'"):
            study.retire("z", reason="sold out")
        study.retire("e", reason="sold out")
        assert not study.finished
        while not study.finished:
            study.tell_many(measured(study.ask(9, "w")))
        answer, status = study.answer, study.status()
        assert (answer.label, status["retired"], status["options"]) == ("c", ["e"], 4)
        assert sp.verify(answer.certificate(), replay=True).replayed
        mine = sp.load_study("turns", service.storage)
        assert mine.option_changes() == study.option_changes()
        mine.rebuild()
        worker.close()
