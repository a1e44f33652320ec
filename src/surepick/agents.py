"""Studies for agents: an MCP server, over the standard input and output of a process.

What it offers is what the command line offers: list studies, read where one stands, verify what it
answered and, where that is allowed, create one, ask and tell. Agents hand in text and numbers
only: no tool takes the name of a file.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from surepick.errors import InvalidInputError, MissingExtraError, SurepickError

if TYPE_CHECKING:
    from surepick.client import Client, Here

_TOLD = """\
surepick finds the best of several options from few noisy measurements, and proves it. A study has
a table of options. Ask it for measurements to make (pulls), measure exactly those options, tell the
rewards, and go on until it is finished; then read its answer. Never choose yourself what to
measure, never leave out a reward because of its value, and never make one up: the proof would be
void. Where a measurement cannot be made, leave it open."""
_NO_WRITES = "Nothing can be changed through this server; `surepick mcp --allow-writes` can."


class Tools:
    """What agents can do; the docstring of each method is what they are told about it."""

    def __init__(self, place: Client | Here) -> None:
        self._place = place

    # -- looking ---------------------------------------------------------------------------
    def list_studies(self) -> dict[str, Any]:
        """The names of all studies."""
        return {"studies": self._place.list_studies()}

    def read_status(self, study: str) -> dict[str, Any]:
        """Where a study stands: who is still in, estimates, measurements, warnings, the guarantee.

        `finished` says whether there is an answer; `warnings` what looks wrong.
        """
        with self._place.load_study(study) as opened:
            return opened.status()

    def read_answer(self, study: str, certificate: bool = False) -> dict[str, Any]:
        """The answer of a finished study, and what it promises; with `certificate` also the proof.

        `proven` is false where the study was stopped early or its promise was withdrawn.
        """
        with self._place.load_study(study) as opened:
            if not opened.finished:
                return {"finished": False}
            answer = opened.answer
            found = {"finished": True, "proven": bool(answer.guarantee), "plain": answer.plain}
            found |= {"answer": answer.to_dict()}
            return found | ({"certificate": answer.certificate()} if certificate else {})

    def verify(self, study: str = "", certificate: str = "") -> dict[str, Any]:
        """Check a proof again by independent code: that of a finished study, or one in JSON.

        `proven` is false where the record is in order, but promises nothing.
        """
        from surepick.promise import PROVEN
        from surepick.run.verify import verdict, verify
        from surepick.verifier.record import read_one

        if bool(study) == bool(certificate):
            raise InvalidInputError("give either a study, or a certificate as JSON text")
        if study:
            with self._place.load_study(study) as opened:
                proof = opened.answer.certificate()
        else:
            proof = read_one(certificate.encode())  # never the name of a file
        checked = verify(proof)
        proven = bool(checked) and checked.guarantee in PROVEN
        return {"verified": bool(checked), "proven": proven, "says": verdict(checked)}

    # -- taking part -----------------------------------------------------------------------
    def create_study(
        self,
        name: str,
        options_csv: str,
        features: list[str] | None = None,
        rewards: str = "any",
        delta: float = 0.05,
        epsilon: float = 0.0,
        settings: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Start a study: which of the options in a table is best?

        `options_csv` is the text of a CSV file with a row for each option and a column `label`;
        `features` are the columns that describe options (none: compared without).
        `rewards` says what a measurement gives: "yes-no", "LO..HI", "symmetric" or "any".
        `delta` is the probability of a wrong answer that is accepted, `epsilon` how close is close
        enough. `settings`: any other setting of `surepick new`, such as {"minimise": true,
        "max_samples": 1000}.
        """
        from surepick.study.sheet import Sheet

        how = {"features": features} if features else {"unstructured": True}
        fields = {"noise": rewards, "delta": delta, "epsilon": epsilon} | _settings(settings or {})
        table = Sheet(csv=options_csv)
        with self._place.create_study(name, table=table, **how, **fields) as made:
            return {"study": name, "options": list(made.problem.labels)[:1000]}

    def ask(self, study: str, count: int = 1, worker: str = "agent") -> dict[str, Any]:
        """Get measurements to make, `count` at most: each has a number (`pull`) and an option.

        Whoever asks again under the same name of a worker first gets what is still open.
        """
        with self._place.load_study(study) as opened:
            pulls = opened.ask(count, worker)
            found = [
                {"pull": pull.id, "option": pull.label}
                | ({} if pull.item is None else {"item": pull.item})
                | ({} if pull.first is None else {"first": pull.first, "second": pull.second})
                for pull in pulls
            ]
            return {"finished": not pulls and opened.finished, "pulls": found}

    def tell(
        self, study: str, rewards: list[dict[str, Any]], worker: str = "agent"
    ) -> dict[str, Any]:
        """Hand in rewards: [{"pull": 3, "reward": 4.5, "option": "red"}, …]; `option` is compared.

        Once this returns, they are kept. The first reward of a measurement counts.
        """
        if len(rewards) > _MOST_REWARDS:
            raise InvalidInputError(
                f"rewards: {len(rewards):,} at once; {_MOST_REWARDS:,} are the most of one call"
            )
        given = []
        for number, one in enumerate(rewards):
            if not isinstance(one, dict) or not {"pull", "reward"} <= one.keys():
                raise InvalidInputError(f"rewards: number {number} needs a pull and a reward")
            given.append((one["pull"], one["reward"], one.get("option")))
        with self._place.load_study(study) as opened:
            told = opened.tell_many(given, worker)
            found = [{"pull": one.pull, "status": one.status} for one in told]
            warnings = [one.warning for one in told if one.warning]
            return {"told": found, "warnings": warnings, "finished": opened.finished}


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Settings as an agent gives them: known ones, of which none is the name of a file."""
    from surepick.study.settings import known
    from surepick.study.sheet import Sheet

    for name in given:
        if name in _OWN or name not in known():
            why = "is a field of its own" if name in _OWN else "is not known"
            raise InvalidInputError(f"settings: {name!r:.80} {why}; see surepick new --help")
    if "past" not in given:
        return given
    if not isinstance(given["past"], str):
        raise InvalidInputError("settings: past must be the text of a CSV file")
    return given | {"past": Sheet(csv=given["past"])}


#: of a new study, what is no setting: asked for by itself, or nothing that an agent can give
_OWN = ("name", "table", "options", "problem", "features", "noise", "storage")
_MOST_REWARDS = 10_000  # of one call
_LOOKING = ("list_studies", "read_status", "read_answer", "verify")
_WRITING = ("create_study", "ask", "tell")


def mcp_server(place: Client | Here, allow_writes: bool = False) -> Any:
    """A server of the official SDK, with its tools; ``run()`` serves until its input ends.

    Parameters
    ----------
    place
        Where studies are.
    allow_writes
        Whether agents may create studies, ask and tell.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError:
        raise MissingExtraError("the MCP server needs the SDK; install surepick[mcp]") from None
    from surepick import __version__

    told = _TOLD if allow_writes else f"{_TOLD}\n{_NO_WRITES}"
    server = MCPServer("surepick", instructions=told, version=__version__, log_level="ERROR")
    tools = Tools(place)
    for name in (*_LOOKING, *(_WRITING if allow_writes else ())):
        looks = name in _LOOKING
        hints = ToolAnnotations(read_only_hint=looks, destructive_hint=False, open_world_hint=False)
        server.add_tool(_told(getattr(tools, name), ToolError), name=name, annotations=hints)
    return server


def _told(method: Callable[..., dict[str, Any]], error: type[Exception]) -> Callable[..., Any]:
    """The method, with errors of ours as words for the agent, and numbers that JSON has."""
    from surepick.files import without_nan

    @functools.wraps(method)
    def tool(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return without_nan(json.loads(json.dumps(method(*args, **kwargs), default=str)))
        except SurepickError as problem:
            raise error(str(problem)) from None
        except Exception as problem:  # an agent is told no more of our code than what broke
            raise error(f"{method.__name__} failed ({type(problem).__name__}: {problem})") from None

    return tool
