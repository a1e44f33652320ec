"""The MCP server as a process of its own, spoken to by the client of the official SDK."""

import json
import os
import sys

import anyio
import pytest

import surepick as sp
from surepick.agents import Tools, mcp_server
from surepick.client import Here
from surepick.errors import FormatError, InvalidInputError

OPTIONS = "label,strength\nweak,1\nmiddle,2\nstrong,5\n"


def spoken(storage, *options, talk):
    """What a client hears in a conversation with ``surepick mcp``."""
    words = ["-m", "surepick", "mcp", "--storage", storage, *options]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    from mcp import ClientSession, StdioServerParameters, stdio_client  # it takes a while

    server = StdioServerParameters(command=sys.executable, args=words, env=env)

    async def conversation():
        with anyio.fail_after(60):
            async with stdio_client(server) as streams, ClientSession(*streams) as session:
                begun = await session.initialize()
                return await talk(session, begun)

    return anyio.run(conversation)


def content(result):
    assert not result.is_error, result.content[0].text
    return result.structured_content or json.loads(result.content[0].text)


@pytest.fixture
def storage(tmp_path):
    return f"sqlite:///{tmp_path}/studies.db"


def test_an_agent_takes_a_study_from_beginning_to_end(storage):
    strength = {"weak": 1.0, "middle": 2.0, "strong": 5.0}

    async def talk(session, begun):
        assert begun.server_info.name == "surepick"
        assert "never make one up" in begun.instructions
        call = session.call_tool
        made = {"name": "glue", "options_csv": OPTIONS, "rewards": "symmetric", "delta": 0.1}
        made["settings"] = {"seed": 1}
        assert content(await call("create_study", made))["options"] == [*strength]
        assert content(await call("read_answer", {"study": "glue"})) == {"finished": False}
        turns = 0
        while True:
            asked = content(await call("ask", {"study": "glue", "count": 20}))
            if asked["finished"]:
                break
            turns += 1
            rewards = [
                {**pull, "reward": strength[pull["option"]] + 0.1 * ((turns + i) % 5 - 2)}
                for i, pull in enumerate(asked["pulls"])
            ]
            told = content(await call("tell", {"study": "glue", "rewards": rewards}))
            assert {one["status"] for one in told["told"]} <= {"accepted", "late"}
        status = content(await call("read_status", {"study": "glue"}))
        answer = content(await call("read_answer", {"study": "glue", "certificate": True}))
        proof = json.dumps(answer["certificate"])
        return (
            status,
            answer,
            content(await call("verify", {"study": "glue"})),
            content(await call("verify", {"certificate": proof})),
            content(await call("list_studies", {})),
        )

    status, answer, verified, again, listed = spoken(storage, "--allow-writes", talk=talk)
    assert status["finished"]
    assert answer["proven"]
    assert answer["answer"]["label"] == "strong"
    assert verified["verified"]
    assert again["verified"]
    assert listed == {"studies": ["glue"]}
    with sp.load_study("glue", storage) as study:
        assert study.answer.label == "strong"


@pytest.mark.validation
def test_by_default_agents_only_look(storage):
    sp.create_study("glue", sp.Problem.unstructured(["a", "b"]), storage=storage)

    async def talk(session, begun):
        tools = (await session.list_tools()).tools
        assert all(tool.annotations.read_only_hint for tool in tools)
        tried = await session.call_tool("ask", {"study": "glue"})
        assert tried.is_error
        missing = await session.call_tool("read_status", {"study": "gluee"})
        assert missing.is_error
        seen = content(await session.call_tool("read_status", {"study": "glue"}))
        return begun.instructions, {tool.name for tool in tools}, missing.content[0].text, seen

    instructions, names, text, seen = spoken(storage, talk=talk)
    assert "Nothing can be changed" in instructions
    assert names == {"list_studies", "read_status", "read_answer", "verify"}
    assert "gluee" in text
    assert seen["samples"] == 0


def test_tools_take_no_files_and_say_what_they_need(tmp_path, storage):
    tools = Tools(Here(storage))
    (tmp_path / "certificate.json").write_text("{}")
    for given in (str(tmp_path / "certificate.json"), "[]"):
        with pytest.raises(FormatError, match="certificate"):
            tools.verify(certificate=given)
    with pytest.raises(InvalidInputError, match="either a study"):
        tools.verify()
    with pytest.raises(InvalidInputError, match="number 0 needs a pull and a reward"):
        tools.tell("glue", [{"pull": 1}])
    assert mcp_server(Here(storage)) is not None


@pytest.mark.parametrize(
    "settings",
    [
        {"nonsense": 1},
        {"storage": "sqlite:///other.db"},
        {"table": "options.csv"},
        {"name": "other"},
        {"past": ["rewards.csv"]},
        {"noise": "any"},
    ],
)
def test_settings_of_agents_are_known_ones(settings, storage):
    (name,) = settings
    with pytest.raises(InvalidInputError, match=rf"settings: .?{name}"):
        Tools(Here(storage)).create_study("glue", OPTIONS, settings=settings)


def test_a_past_is_text_and_not_the_name_of_a_file(tmp_path, storage):
    file = tmp_path / "secret.csv"
    file.write_text("label,reward\nweak,1\nstrong,0\n")
    given = {"past_chosen": "in advance", "past": str(file)}
    with pytest.raises(InvalidInputError) as found:
        Tools(Here(storage)).create_study("glue", OPTIONS, rewards="yes-no", settings=given)
    assert "label" not in str(found.value).split("Known")[-1]
    given["past"] = file.read_text()
    Tools(Here(storage)).create_study("glue", OPTIONS, rewards="yes-no", settings=given)


def test_faults_are_told_without_a_trace(capfd):
    class Broken(Here):
        def list_studies(self):
            raise ZeroDivisionError("by nothing")

    server = mcp_server(Broken("memory://"))
    with pytest.raises(Exception, match=r"list_studies failed \(ZeroDivisionError: by nothing\)"):
        anyio.run(server.call_tool, "list_studies", {})
    assert "Traceback" not in capfd.readouterr().err


def test_rewards_of_one_call_have_a_most(storage):
    with pytest.raises(InvalidInputError, match="rewards: 200,000 at once"):
        Tools(Here(storage)).tell("glue", [{"pull": 0, "reward": 1}] * 200_000)


def test_many_calls_at_once_and_wrong_ones_leave_it_as_it_was(storage):
    wrong = [
        ("verify", {"certificate": "[" * 200_000}, "recursion"),
        ("tell", {"study": "s", "rewards": [{"pull": "x", "reward": [1]}]}, "'x' is not the num"),
        ("tell", {"study": "s", "rewards": "no"}, "list"),
        ("ask", {"study": "s", "count": -5}, "n must be at least 1"),
        ("ask", {"study": "s", "count": 10**30}, "n must be at most"),
    ]

    async def talk(session, _begun):
        made = {"name": "s", "options_csv": OPTIONS, "rewards": "yes-no"}
        content(await session.call_tool("create_study", made))
        handed = []

        async def ask(worker):
            given = {"study": "s", "count": 1, "worker": worker}
            found = content(await session.call_tool("ask", given))
            handed.append((worker, found["pulls"][0]["pull"]))

        async def go_wrong(tool, given, said):
            heard = await session.call_tool(tool, given)
            assert heard.is_error
            assert said in heard.content[0].text

        async with anyio.create_task_group() as group:
            for worker in ("one", "two", "three", "one"):
                group.start_soon(ask, worker)
            for one in wrong:
                group.start_soon(go_wrong, *one)
        assert len(handed) == 4
        assert len(set(handed)) == len({pull for _, pull in handed}) == 3  # one asked twice
        return content(await session.call_tool("list_studies"))

    assert spoken(storage, "--allow-writes", talk=talk) == {"studies": ["s"]}
