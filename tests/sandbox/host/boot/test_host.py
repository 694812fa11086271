"""Hosts whose standard library somebody has patched: refused at once, by name, and nothing hangs."""

from __future__ import annotations

import importlib.util
import json

import pytest

from tests.sandbox.scripts import run_script

HOST = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
module, call = sys.argv[1:3]
patcher = importlib.import_module(module)
exec(call, {"patcher": patcher})
warnings.simplefilter("error")

from ez_ptc import ProcessSandbox, SandboxError, ScriptedProvider, ToolCall, Toolkit, ez_tool, llm

@ez_tool(timeout=20)
def add(a: int, b: int) -> int:
    "Add."
    return a + b

model = ScriptedProvider(ToolCall("1", "add", {"a": 1, "b": 2}), "three")
said = [add.execute(a=1, b=2).output, llm().tools(add).provider(model).prompt("1 + 2?")]
sandbox = ProcessSandbox()
toolkit = Toolkit([add], sandbox=sandbox)
session = toolkit.session()
ways = (lambda: toolkit.execute("add(1, 2)"), lambda: session.execute("1"), sandbox.warm_up, lambda: sandbox.isolation)
for way in ways:
    try:
        way()
        said.append("")
    except SandboxError as error:
        said.append(str(error))
session.close()
sandbox.close()
print(json.dumps(said))
"""
PATCHED = {
    "gevent": [
        ("patcher.patch_all()", "threading"),
        ("patcher.patch_thread()", "threading"),
        ("patcher.patch_socket()", "socket"),
        ("patcher.patch_select()", "select"),
        ("patcher.patch_subprocess()", "subprocess"),
    ],
    "eventlet": [
        ("patcher.monkey_patch()", "thread"),
        ("patcher.monkey_patch(thread=True)", "thread"),
        ("patcher.monkey_patch(socket=True)", "socket"),
        ("patcher.monkey_patch(select=True)", "select"),
    ],
}
MODULES = {"gevent": "gevent.monkey", "eventlet": "eventlet"}


def found_by(library: str, call: str) -> list[object]:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    return json.loads(run_script(HOST, MODULES[library], call, timeout=40))


@pytest.mark.parametrize(
    ("library", "call", "part"), [(library, call, part) for library, calls in PATCHED.items() for call, part in calls]
)
def test_patched_host_is_refused_but_its_tools_work(library: str, call: str, part: str) -> None:
    called, answered, *refused = found_by(library, call)
    assert (called, answered) == (3, "three")
    assert len(refused) == 4
    for message in refused:
        assert f"but {library} has patched " in str(message)
        assert part in str(message)
        assert f"run programs in another process, one that {library} does not patch" in str(message)


@pytest.mark.parametrize("library", PATCHED)
def test_unpatched_host_with_library_imported_runs_programs(library: str) -> None:
    assert found_by(library, "pass") == [3, "three", "", "", "", ""]
