"""Every storage passes the suite, and storages with a fault do not."""

from dataclasses import replace

import pytest

from surepick.errors import InvalidInputError, UnknownStudyError
from surepick.storage import open_storage, register, unregister
from surepick.storage.memory import MemoryStorage, _MemoryTransaction
from surepick.testing import storage_checks


@pytest.mark.parametrize("check", storage_checks(), ids=lambda check: check.__name__[6:])
def test_storage_conforms(check, storage_url):
    check(lambda: open_storage(storage_url))


# -- faults ---------------------------------------------------------------------------------
class KeepsHalf(MemoryStorage):
    """What was written before an error stays."""

    def write(self, work):
        return work(_MemoryTransaction(self))


class Faulty(MemoryStorage):
    """Works on transactions of a class with a fault."""

    transaction = _MemoryTransaction

    def write(self, work):
        with self._lock:
            transaction = self.transaction(self)
            try:
                return work(transaction)
            except BaseException:
                for undo in reversed(transaction.undo):
                    undo()
                raise


class _Overwrites(_MemoryTransaction):
    def add(self, study, *rows):
        self._rows(study, type(rows[0])).update({row.pull: row for row in rows})


class _ForgetsTokens(_MemoryTransaction):
    def add(self, study, *rows):
        super().add(study, *(replace(tell, token=None) for tell in rows))


class _SeesOthers(_MemoryTransaction):
    def events(self, study, kinds=None):
        return [e for each in self._studies for e in super(_SeesOthers, self).events(each, kinds)]


class _StandsStill(_MemoryTransaction):
    def find_progress(self, study, lock):
        at = super().find_progress(study, lock)
        return at and replace(at, now=1.0)


class _Rounds(_MemoryTransaction):
    def add(self, study, *rows):
        super().add(study, *(replace(tell, value=float(f"{tell.value:.6g}")) for tell in rows))


FAULTS = {
    "keeps half": (KeepsHalf, "check_what_raises_writes_nothing"),
    "overwrites": (_Overwrites, "check_no_pull_is_told_twice"),
    "forgets tokens": (_ForgetsTokens, "check_tells_come_back_with_their_token"),
    "sees others": (_SeesOthers, "check_studies_do_not_see_each_other"),
    "stands still": (_StandsStill, "check_the_clock_runs"),
    "rounds": (_Rounds, "check_rewards_come_back_exactly_and_in_order"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_storage_with_a_fault_does_not_pass(fault):
    broken, name = FAULTS[fault]
    if issubclass(broken, MemoryStorage):
        storage = broken()
    else:
        storage = type("Broken", (Faulty,), {"transaction": broken})()
    (check,) = [check for check in storage_checks() if check.__name__ == name]
    with pytest.raises((AssertionError, UnknownStudyError)):  # or it comes to nothing
        check(lambda: storage)


def test_a_storage_of_ones_own_is_opened_by_its_address():
    register("shelf", lambda url, create: MemoryStorage.shared(url), form="shelf://name")
    try:
        assert open_storage("shelf://a") is open_storage("shelf://a")
        with pytest.raises(InvalidInputError, match="'shelf' is taken already"):
            register("shelf", lambda url, create: MemoryStorage(url))
        with pytest.raises(InvalidInputError, match=r"known: .*, shelf://name"):
            open_storage("drawer://a")
    finally:
        unregister("shelf")
    with pytest.raises(InvalidInputError, match="'shelf' is not supported"):
        open_storage("shelf://a")
    with pytest.raises(InvalidInputError, match="expected letters before"):
        register("a://", lambda url, create: MemoryStorage(url))
