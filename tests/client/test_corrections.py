"""Corrections through the service and the client: what the library does, with the token kept."""

import pytest

import surepick as sp
from surepick.errors import AccessError, InvalidInputError, UnknownPullError


def test_an_admin_corrects_and_withdraws_what_workers_told(service):
    with service.client() as admin:
        problem = sp.Problem([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]], noise=1.0)
        study = admin.create_study("corrected", problem, delta=0.1)
        tokens = [admin.make_token("worker", ["corrected"]) for _ in range(2)]
        workers = [sp.Client(service.url, token).load_study("corrected") for token in tokens]
        turn = 0
        while study.progress().batch < 3:
            worker = workers[turn % 2]
            turn += 1
            worker.tell_many(
                [(p.id, p.arm + 0.1 * (p.id % 5)) for p in worker.ask(1, f"w{turn % 2}")]
            )
        with pytest.raises(AccessError, match="admin"):
            workers[0].correct(0, 1.0, reason="x")
        with pytest.raises(InvalidInputError):
            study.correct(0, 1.0, reason="")
        with pytest.raises(UnknownPullError, match="has no reward"):
            study.withdraw(4000, reason="x")
        change = study.correct(0, -4.2, reason="the sign was lost", by="ann")
        assert (change.new, change.by, change.counted) == (-4.2, "ann", True)
        assert change.token is not None
        assert study.correct(0, -4.2, reason="the same request again") == change
        assert study.rewards().values[0] == -4.2
        mine = sp.load_study("corrected", service.storage)
        token = next(tell.token for tell in mine.desk.told() if tell.token)
        told = [tell.pull for tell in mine.desk.told() if tell.token == token]
        gone = study.withdraw_token(token, reason="its sensor was broken")
        assert sorted(one.pull for one in gone) == told
        assert token not in {tell.token for tell in mine.desk.told()}
        assert len(study.corrections()) == 1 + len(gone)
        assert study.status()["revision"] == 2
        mine.rebuild()
        while not study.finished:
            study.tell_many([(p.id, p.arm + 0.1 * (p.id % 5)) for p in study.ask(9, "ann")])
        certificate = study.answer.certificate()
        assert len(certificate["corrections"]) == 1 + len(gone)
        assert sp.verify(certificate)
        for worker in workers:
            worker.close()
