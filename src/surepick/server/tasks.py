"""What helpers do: everything that reads or reckons much."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from surepick.errors import CertificateError, FormatError, SurepickError, UnknownStudyError
from surepick.run import verify
from surepick.run.verify import verdict
from surepick.server import acts, creation, messages, models, told
from surepick.server.bodies import parsed, valid
from surepick.server.settings import Settings
from surepick.server.webhooks import Webhooks
from surepick.storage import open_storage
from surepick.study import Study, export, load_study
from surepick.study.acts import registry
from surepick.study.acts.base import who_of
from surepick.study.acts.write import OnDesk, perform
from surepick.study.desk.crowd import Crowd

_KEPT = 16  # studies kept open: looking again at one is much cheaper


class Tasks:
    """The tasks, by name."""

    def __init__(self, settings: Settings) -> None:
        self._storage = open_storage(settings.storage, later=True)
        self._open: OrderedDict[str, Study] = OrderedDict()
        self._webhooks = Webhooks(self._storage)
        self._look = {
            "status": Study.status,
            "definition": lambda study: (study.algorithm, study.definition())[1],
            "answer": _answer,
            "certificate": lambda study: study.answer.certificate(),
            "verify": _verify,
            "history": lambda study: {"batches": study.history()},
            "rewards": _rewards,
            "judgements": Study.judgements,
        }

    def do(self, task: str, given: dict[str, Any], body: bytes = b"") -> Iterator[bytes]:
        """The parts of what comes of it."""
        if task in self._look:
            return iter([self._with(given["study"], lambda s: _json(self._look[task](s)))])
        if body:
            given = given | {"body": parsed(body)}
        return getattr(self, f"_{task}")(**given)

    def _with(self, name: str, work: Callable[[Study], Any]) -> Any:
        """Do something with a study; again, where another one has taken its name since."""
        kept = self._open.pop(name, None)
        if kept is not None:
            try:
                kept.progress()
            except UnknownStudyError:
                kept = None
        study = kept or load_study(name, self._storage)
        self._open[name] = study
        while len(self._open) > _KEPT:
            self._open.popitem(last=False)
        return work(study)

    def _nothing(self) -> Iterator[bytes]:
        yield b"{}"

    def _notices(self) -> Iterator[bytes]:
        yield _json({"new": self._webhooks.look()})

    def _export(self, study: str, what: str, form: str) -> Iterator[bytes]:
        # The first part is there before anything is sent: what is refused is refused properly.
        return self._with(study, lambda one: export.stream(one, what, form))

    def _forecast(self, study: str, seconds: float, epsilon: float | None) -> Iterator[bytes]:
        yield self._with(study, lambda one: _json(one.forecast(seconds, epsilon=epsilon).to_dict()))

    def _picture(self, study: str, form: str) -> Iterator[bytes]:
        from surepick.report.picture import draw, view

        yield self._with(study, lambda one: draw(view(one), [form])[form])

    def _report(self, study: str) -> Iterator[bytes]:
        from surepick.report.colleague import study_page

        yield self._with(study, study_page).encode()

    def _events(self, study: str, after: int, kinds: list[str]) -> Iterator[bytes]:
        found = self._with(study, lambda one: one.events(*kinds))
        rows = [vars(event) for event in found[after:]]
        yield _json({"events": rows, "next": max(after, len(found))})

    def _tell(self, study: str, caller: str, body: dict[str, Any]) -> Iterator[bytes]:
        asked = valid(messages.TellBody, body)
        rewards, said = told.given(asked, caller)

        def tell(one: Study) -> told.Outcome:
            one.desk.refuse_others(said)
            if asked.strict:
                one.desk.look.refuse(rewards)
            found = Crowd(one.desk).tell([rewards])[0]
            if isinstance(found, SurepickError):
                raise found
            return told.Outcome(found)

        found = self._with(study, tell)
        yield _json(found.head()) + b"\n"
        yield found.content()

    def _act(
        self,
        study: str,
        kind: str,
        caller: str,
        worker: bool,
        body: dict[str, Any],
    ) -> Iterator[bytes]:
        own = registry.get(kind)
        given, reason, by = acts.given_of(own, valid(acts.model_of(own), body))
        who = who_of(own, reason, by, caller)

        def act(one: Study) -> Any:
            if worker:
                own.of_worker(OnDesk(one.desk), given, who)
            return perform(one.desk, own, given, who)

        made = self._with(study, act)
        yield _json({"act": None if made is None else made.to_dict()})

    def _acts(self, study: str, kinds: list[str]) -> Iterator[bytes]:
        found = self._with(study, lambda one: one.acts(*kinds))
        yield _json({"acts": [one.to_dict() for one in found]})

    def _create(self, body: dict[str, Any]) -> Iterator[bytes]:
        asked = valid(models.NewStudy, body)
        spec = creation.create(asked, self._storage)
        notes, status = list(spec.prepared.notes), self._with(spec.name, Study.status)
        yield _json({"name": spec.name, "notes": notes, "study": status})

    def _table(self, body: dict[str, Any]) -> Iterator[bytes]:
        yield _json(creation.content_of(valid(models.TableBody, body)))

    def _plan(self, body: dict[str, Any]) -> Iterator[bytes]:
        yield _json(creation.forecast_for(valid(models.PlanRequest, body)))


def _json(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


def _answer(study: Study) -> dict[str, Any]:
    content = study.answer.to_dict()
    return {"finished": True, "study": study.name, **content, "checks": study.checks().to_dict()}


def _verify(study: Study) -> dict[str, Any]:
    try:
        found = verify(study.answer.certificate(), study.problem)
    except (CertificateError, FormatError) as error:
        return {"valid": False, "message": str(error)}
    said = {"message": " ".join(verdict(found))}
    return {"valid": found.complete, **said, **dataclasses.asdict(found)}


def _rewards(study: Study) -> dict[str, Any]:
    columns = vars(study.rewards()).items()
    found = {name: column for name, column in columns if column is not None}
    return {k: v if isinstance(v, list) else v.tolist() for k, v in found.items()}
