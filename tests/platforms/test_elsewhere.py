"""A user's first day on macOS and Windows, simulated: parts of the standard library are missing from the start."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.platforms.systems import NOT_IN_MACOS, NOT_IN_WINDOWS
from tests.sandbox.scripts import run_script

SYSTEMS = {"darwin": NOT_IN_MACOS, "win32": NOT_IN_WINDOWS}
# The standard library and other packages are loaded as they are here; this library never sees what is missing.
LOAD = """
import asyncio, concurrent.futures.thread, contextlib, importlib, io, json, os, pkgutil, select, signal, socket
import fcntl, multiprocessing, pwd, readline, resource, sqlite3, subprocess, sys, tempfile, termios, traceback, zoneinfo
import anyio._backends._asyncio, cyclopts, pydantic, rich.console, rich.live, rich.table
"""
PREPARE = """
system, missing = json.loads(sys.argv[1])
for name in missing.split():
    module, _, attribute = name.partition(".")
    if attribute:
        vars(sys.modules[module]).pop(attribute, None)
    else:
        sys.modules[module] = None
sys.platform = system
"""
FIRST_DAY = (
    LOAD
    + PREPARE
    + """
from ez_ptc import Context, History, IsolationUnavailableError, Journal, ScriptedProvider, ToolCall, ToolRegistry
from ez_ptc import Toolkit, create_calculator_tool, create_datetime_tool, ez_tool, llm
from ez_ptc.cli.app import main

@ez_tool(timeout=20)
def add(a: int, b: int = 1) -> int:
    "Add."
    return a + b

@ez_tool
async def later(a: int) -> int:
    "Say it later."
    return a

def model():
    return ScriptedProvider(ToolCall("1", "add", {"a": 1, "b": 2}), "three")

def tools():
    registry = ToolRegistry()
    registry.register(create_calculator_tool())
    registry.register(create_datetime_tool())
    return [add.execute(a=1).output, add.execute(a="x").success, asyncio.run(later.aexecute(a=4)).output, len(registry)]

def conversations():
    streamed = [type(event).__name__ for event in llm().tools(add).provider(model()).stream("1 + 2?")]
    awaited = asyncio.run(llm().tools(add, later).provider(model()).aprompt("1 + 2?"))
    return [awaited, streamed[-1]]

def history():
    _, conversation = llm().tools(add).provider(model()).converse("1 + 2?")
    with History("history.sqlite") as history:
        id = history.save(conversation, title="Sums")
        again = llm().continued(*history.load(id)).provider(ScriptedProvider("again")).prompt("And?")
        return [[record.title for record in history.search("Sums")], again]

def journal():
    with Journal("journal.sqlite") as journal:
        return list(journal.runs())

def journaled():
    with Toolkit([add], journal="journal.sqlite") as toolkit:
        return toolkit.execute("1").error

def command(*arguments):
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = main(list(arguments))
    return [code, output.getvalue(), errors.getvalue()]

def attempt(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    with open("shop.py", "w") as file:
        file.write("from ez_ptc import Toolkit, ez_tool\\n@ez_tool\\n")
        file.write("def f(x: int) -> int:\\n    'Return it.'\\n    return x\\n")
        file.write("toolkit = Toolkit([f])\\n")
    with open("program.py", "w") as file:
        file.write("print(f(1))\\n")
    open("journal.sqlite", "w").close()
    found = {function.__name__: attempt(function) for function in (tools, conversations, history, journal, journaled)}
    for line in json.loads(sys.argv[2]):
        found[line] = attempt(command, *line.split())
print(json.dumps(found))
"""
)
# All packages are loaded once, and each system is tried in a fork.
IMPORTS = (
    "import anthropic, google.genai, mcp.client.stdio, mcp.server.stdio, mcp.client.streamable_http, openai"
    "\nimport httpcore2, psycopg, uvicorn"
    + LOAD
    + """
for prepared in json.loads(sys.argv[1]):
    if os.fork() == 0:
        sys.argv[1] = json.dumps(prepared)
        break
    os.wait()
else:
    sys.exit()
"""
    + PREPARE
    + """
import ez_ptc
inside = ("worker", "wasm.guest", "restored.zygote")
left_out = (*(f"ez_ptc.sandbox.{name}." for name in inside), "ez_ptc.integrations.")
failed = {}
for module in pkgutil.walk_packages(ez_ptc.__path__, "ez_ptc."):
    if not module.name.startswith(left_out):
        try:
            importlib.import_module(module.name)
        except (AttributeError, ImportError) as error:
            failed[module.name] = str(error)
print(json.dumps([system, failed]))
"""
)
IN_SANDBOX = {"program": "run program.py --tools shop:toolkit", "journal": "runs list --journal journal.sqlite"}
LINES = [
    *IN_SANDBOX.values(),
    "doctor",
    "doctor --json",
    "check program.py --tools shop:toolkit",
    "--version",
    "--help",
]
NAMES = {"darwin": "macOS", "win32": "Windows"}


@pytest.fixture(scope="module", params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def found(system: str) -> dict[str, Any]:
    arguments = json.dumps([system, SYSTEMS[system]]), json.dumps(LINES)
    return json.loads(run_script(FIRST_DAY, *arguments, env={"TERM": "dumb"}))


@pytest.mark.sampled(every=0)
def test_all_modules_import_but_the_kernel_backend() -> None:
    lines = run_script(IMPORTS, json.dumps([*SYSTEMS.items()])).splitlines()
    failed = {system: {*modules} for system, modules in map(json.loads, lines)}
    assert failed.keys() == SYSTEMS.keys()
    process = (
        "host.boot.start",
        "host.workers.handle",
        "host.zygote",
        "restored.host.extension",
        "restored.host.ready",
    )
    backend = {f"ez_ptc.sandbox.{name}" for name in process}
    assert set().union(*failed.values()) <= backend


@pytest.mark.sampled(every=2)
def test_tools_and_conversations_work_elsewhere(found: dict[str, Any]) -> None:
    assert found["tools"] == [2, False, 4, 2]
    assert found["conversations"] == ["three", "Answer"]
    assert found["history"] == [["Sums"], "again"]


def test_journals_say_what_system_they_need(found: dict[str, Any], system: str) -> None:
    for name in ("journal", "journaled"):
        assert found[name].startswith(f"JournalError: expected Linux, whose file locks a journal needs, got {system}: ")
    code, output, errors = found[IN_SANDBOX["journal"]]
    assert (code, output) == (2, "")
    assert errors.startswith("ez-ptc: expected Linux, whose file locks a journal needs")


def test_programs_are_refused_with_what_to_do(found: dict[str, Any], system: str) -> None:
    code, output, errors = found[IN_SANDBOX["program"]]
    assert (code, output) == (2, "")
    assert f"got {NAMES[system]}. What to do: run this in Linux" in errors


def test_commands_without_programs_work_elsewhere(found: dict[str, Any]) -> None:
    assert found["check program.py --tools shop:toolkit"] == [0, "", ""]
    assert found["--version"][0] == found["--help"][0] == 0


def test_doctor_says_what_is_missing_elsewhere(found: dict[str, Any], system: str) -> None:
    code, output, errors = found["doctor"]
    assert (code, errors) == (1, "")
    assert f"got {NAMES[system]}" in " ".join(output.split())
    assert json.loads(found["doctor --json"][1])["sufficient"] is False
