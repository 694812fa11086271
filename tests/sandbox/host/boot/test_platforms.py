"""Systems without the Linux kernel: all that needs no sandbox works there, and a sandbox says what is missing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.platforms.systems import NOT_IN_MACOS, NOT_IN_WINDOWS
from tests.sandbox.scripts import run_script

# What a host does: first as it is, so that the standard library and other packages are loaded as they are here; then
# on each other platform, with this library loaded anew, where the platform has another name and less in it.
ELSEWHERE = """
import asyncio, importlib, json, os, select, signal, socket, sys

def everything(*, ways):
    from ez_ptc import IsolationUnavailableError, Limits, ProcessSandbox, Toolkit, ez_tool
    from ez_ptc import ScriptedProvider, ToolCall, llm

    @ez_tool(timeout=20)
    def add(a: int, b: int) -> int:
        "Add."
        return a + b

    @ez_tool
    async def later(a: int) -> int:
        "Say it later."
        return a

    said = [add.execute(a=1, b=2).output, asyncio.run(later.aexecute(a=4)).output]
    for tools in ([add], [add, later]):
        model = ScriptedProvider(ToolCall("1", "add", {"a": 1, "b": 2}), "three")
        said.append(llm().tools(*tools).provider(model).prompt("1 + 2?"))
    toolkit = Toolkit([add])
    said.append("add(a: int, b: int)" in toolkit.prompt())
    sandbox = ProcessSandbox()

    def in_session():
        with toolkit.session() as session:
            session.execute("1")

    every = {
        "execute": lambda: toolkit.execute("add(1, 2)"),
        "aexecute": lambda: asyncio.run(toolkit.aexecute("add(1, 2)")),
        "seed": lambda: Toolkit([], limits=Limits(seed=1)).execute("1"),
        "async tools": lambda: Toolkit([later]).execute("1"),
        "session": in_session,
        "isolation": lambda: sandbox.isolation,
        "warm_up": sandbox.warm_up,
    }
    refused = {}
    for name in ways or every:
        try:
            every[name]()
        except IsolationUnavailableError as error:
            refused[name] = str(error)
    sandbox.cool_down()
    sandbox.close()
    toolkit.close()
    from ez_ptc.sandbox.host.isolation import check
    report = check()
    return said, refused, report.sufficient, [layer.name for layer in report.missing if layer.required]

def on(platform, missing):
    for name in [name for name in sys.modules if name.partition(".")[0] == "ez_ptc"]:
        del sys.modules[name]
    taken = []
    for name in missing:
        module, _, attribute = name.partition(".")
        names = vars(sys.modules[module]) if attribute else sys.modules
        taken.append((names, attribute or module, names.get(attribute or module)))
        if attribute:
            names.pop(attribute, None)
        else:
            names[module] = None
    here, sys.platform = sys.platform, platform
    try:
        return everything(ways=[])
    finally:
        sys.platform = here
        for names, name, value in taken:
            names[name] = value

everything(ways=["execute", "session"])
print(json.dumps([on(platform, missing.split()) for platform, missing in json.loads(sys.argv[1])]))
"""
WAYS = ["execute", "aexecute", "seed", "async tools", "session", "isolation", "warm_up"]
PLATFORMS = {
    "macOS": ("darwin", NOT_IN_MACOS),
    "Windows": ("win32", NOT_IN_WINDOWS),
    "freebsd14": ("freebsd14", NOT_IN_MACOS),
    "WASI": ("wasi", NOT_IN_WINDOWS),
}
PARTS = (
    "resource",
    "fcntl",
    "select.poll",
    "signal.pidfd_send_signal",
    "os.pidfd_open",
    "os.sched_getaffinity",
    "os.fork",
)
Found = tuple[list[object], dict[str, str], bool, list[str]]


@pytest.fixture(scope="module")
def found() -> dict[str, Found]:
    """What a host found on each platform, and without each part of Linux."""
    cases = PLATFORMS | {part: ("linux", part) for part in PARTS}
    results: list[Any] = json.loads(run_script(ELSEWHERE, json.dumps(list(cases.values())), timeout=180))
    return dict(zip(cases, results, strict=True))


@pytest.mark.security
@pytest.mark.parametrize("name", [*PLATFORMS, *PARTS])
def test_tools_and_conversations_need_no_linux(found: dict[str, Found], name: str) -> None:
    assert found[name][0] == [3, 4, "three", "three", True]


@pytest.mark.security
@pytest.mark.parametrize("name", PLATFORMS)
def test_sandbox_error_says_linux_is_needed(found: dict[str, Found], name: str) -> None:
    refused = found[name][1]
    assert list(refused) == WAYS
    for message in refused.values():
        assert f"expected Linux, whose kernel isolates programs, got {name}. What to do: run this in Linux" in message


@pytest.mark.security
@pytest.mark.parametrize("part", PARTS)
def test_sandbox_error_names_what_python_lacks(found: dict[str, Found], part: str) -> None:
    refused = found[part][1]
    assert list(refused) == WAYS
    for message in refused.values():
        assert f"this Python has no {part}. What to do: use a CPython that was built for Linux 5.3 or later" in message


@pytest.mark.security
@pytest.mark.parametrize("name", [*PLATFORMS, *PARTS])
def test_doctor_reports_missing_parts(found: dict[str, Found], name: str) -> None:
    assert found[name][2:] == [False, ["operating system"]]
