"""The client for coroutines: what it does is what the client does."""

import asyncio

import pytest
from tests.coroutines import completed

import surepick as sp
from surepick.client import AsyncStudy, RemoteStudy
from surepick.client.transport import Transport, proxy_of
from surepick.errors import AccessError, InvalidInputError, TellConflictError, UnknownStudyError

PROBLEM = sp.Problem([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]], noise=1.0)


def test_it_has_the_methods_of_the_client():
    def public(kind):
        return {name for name in dir(kind) if not name.startswith("_")}

    # What needs the definition of the study has no awaited form: `await study.definition()` has it.
    without = {"problem", "algorithm", "meta", "strata", "features_of", "run", "close"}
    without |= {"features_by_arm", "shown"}
    assert public(RemoteStudy) - without <= public(AsyncStudy)
    assert public(sp.Client) <= public(sp.AsyncClient)


def test_coroutines_measure_a_study_to_its_end(service):
    async def work(study, name):
        told = 0
        while not await study.finished:
            for pull in await study.ask(worker=name, wait=5):
                assert (await study.tell(pull.id, pull.arm + 0.1 * (pull.id % 5))).used
                told += 1
        return told

    async def main():
        async with sp.AsyncClient(service.url, service.token) as client:
            # In turn, so that what is measured does not depend on who is faster.
            study = await client.create_study("async", PROBLEM, delta=0.1, overlap=False)
            told = await asyncio.gather(*(work(study, f"w{k}") for k in range(8)))
            answer = await study.answer
            assert sum(told) == answer.samples == (await study.progress()).measured
            assert sp.verify(answer.certificate())
            assert len((await study.rewards()).pulls) == answer.samples
            assert (await study.status())["finished"]
            assert await study.history()
            assert "async" in await client.list_studies()
            change = await study.correct(0, 0.3, reason="read again", by="ann")
            assert (await study.corrections()) == [change]
            await client.delete_study("async")
            with pytest.raises(UnknownStudyError):
                await client.load_study("async")
            return answer

    answer = completed(main())
    here = sp.create_study("here", PROBLEM, storage="memory://async", delta=0.1)
    answer_here = here.run(lambda task: task.arm + 0.1 * (task.pull % 5))
    assert answer.pulls.tolist() == answer_here.pulls.tolist()


def test_several_of_one_option_from_a_service(service):
    async def main():
        async with sp.AsyncClient(service.url, service.token) as client:
            study = await client.create_study("same", PROBLEM)
            return await study.ask(2, "ann", same=True)

    mine = completed(main())
    with sp.Client(service.url, service.token) as client:
        yours = client.load_study("same").ask(2, "bob", same=True)
    assert [len({pull.arm for pull in pulls}) for pulls in (mine, yours)] == [1, 1]
    assert len(mine) == len(yours) == 2
    assert {pull.arm for pull in mine}.isdisjoint({pull.arm for pull in yours})


def test_who_is_cancelled_in_the_middle_of_a_request_leaves_others_alone(service):
    async def main():
        async with sp.AsyncClient(service.url, service.token) as client:
            study = await client.create_study("cancelled", PROBLEM)
            await study.pause()
            waiting = [asyncio.create_task(study.ask(1, f"w{i}", wait=20)) for i in range(4)]
            await asyncio.sleep(0.2)
            for one in waiting:
                one.cancel()
            found = await asyncio.gather(*waiting, return_exceptions=True)
            await study.resume()
            pulls = await asyncio.gather(*(study.ask(1, f"w{i}") for i in range(4)))
            return found, [pull.id for one in pulls for pull in one]

    found, pulls = completed(main())
    assert {type(one) for one in found} == {asyncio.CancelledError}
    assert sorted(pulls) == [0, 1, 2, 3]


def test_proxies_are_those_of_the_environment(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://gate.example:3128")
    monkeypatch.setenv("no_proxy", "127.0.0.1,.inside.example")
    assert proxy_of("http://studies.example:8421") == "http://gate.example:3128"
    assert proxy_of("http://127.0.0.1:8421") is None
    assert proxy_of("http://a.inside.example") is None
    assert proxy_of("https://studies.example") is None


def test_certificates_are_read_wherever_the_way_is_encrypted(monkeypatch):
    def trusted(url):
        return Transport(url, "sp_x", patience=1.0, timeout=1.0).trusted()

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert trusted("https://studies.example") is True
    assert trusted("http://127.0.0.1:8421") is False
    monkeypatch.setenv("http_proxy", "https://gate.example:3128")
    assert trusted("http://studies.example") is True
    assert trusted("http://127.0.0.1:8421") is False


def test_errors_are_those_of_the_client(service):
    async def main():
        async with sp.AsyncClient(service.url, service.token) as client:
            study = await client.create_study("errors", PROBLEM)
            (pull,) = await study.ask(1, "ann")
            with pytest.raises(InvalidInputError):
                await study.tell(pull.id, float("nan"))
            assert await study.fail(pull.id, "power cut")
            (pull,) = await study.ask(1, "ann")
            await study.tell(pull.id, 1.0)
            with pytest.raises(TellConflictError):
                await study.tell(pull.id, 2.0, "ann")
            assert await study.pause()
            assert await study.ask(1, "bob") == []
            assert await study.resume()
            assert (await study.stop()).guarantee.kind == "none"
        async with sp.AsyncClient(service.url, "sp_wrong") as stranger:
            with pytest.raises(AccessError):
                await stranger.list_studies()

    completed(main())
