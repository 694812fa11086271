"""Where programs run in WebAssembly without being asked to, and where not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.platforms.systems import NOT_IN_MACOS, NOT_IN_WINDOWS
from tests.sandbox.scripts import run_script
from tests.sandbox.worker.lifecycle.parent_filter import around

WITHOUT_SECCOMP = ("seccomp=EPERM", "prctl:22=EPERM")
BACKEND = """
from ez_ptc import Toolkit
with Toolkit([]) as toolkit:
    try:
        print(toolkit.isolation.backend, toolkit.execute("1 + 1").return_value)
    except Exception as error:
        print(type(error).__name__)
"""
# The standard library and other packages are loaded as they are here; this library never sees what is missing.
ELSEWHERE = """
import asyncio, concurrent.futures.thread, ctypes, importlib.metadata, json, logging, os, platform, select
import fcntl, resource, signal, socket, sys, tempfile, zoneinfo, wasmtime.component, anyio._backends._asyncio, pydantic
platform.machine()
logging.disable()  # it is compiled for each system
system, missing = json.loads(sys.argv[1])
for name in missing.split():
    module, _, attribute = name.partition(".")
    if attribute:
        vars(sys.modules[module]).pop(attribute, None)
    else:
        sys.modules[module] = None
sys.platform = system
from ez_ptc import Toolkit, WasmSandbox, ez_tool

@ez_tool
def double(x: int) -> int:
    "Double."
    return 2 * x

@ez_tool
async def later(x: int) -> int:
    "Double later."
    return 2 * x

with WasmSandbox() as sandbox:
    toolkit = Toolkit([double], sandbox=sandbox)
    with toolkit.session() as session:
        session.execute("x = double(2)")
        values = [toolkit.execute("double(1)").return_value, session.execute("x").return_value]
    values.append(asyncio.run(Toolkit([later], sandbox=sandbox).aexecute("later(3)")).return_value)
    values.append(toolkit.execute("while True: pass", timeout=0.3).error)
with Toolkit([]) as toolkit:
    values.append(toolkit.isolation.backend)
print(json.dumps(values))
"""


@pytest.mark.parametrize(
    ("choice", "rules", "expected"),
    [
        ("", (), "process 2"),
        ("wasm", (), "wasm 2"),
        ("", WITHOUT_SECCOMP, "wasm 2"),
        ("process", WITHOUT_SECCOMP, "IsolationUnavailableError"),
    ],
)
def test_kernel_is_preferred_unless_it_refuses(choice: str, rules: tuple[str, ...], expected: str) -> None:
    before = around(*rules) if rules else ()
    assert run_script(BACKEND, before=before, env={"EZ_PTC_SANDBOX": choice}).strip() == expected


def test_first_example_runs_without_seccomp(repository: Path, tmp_path: Path) -> None:
    example = re.findall(r"```python\n(.*?)```", (repository / "README.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    example = f"import os; os.chdir({str(tmp_path)!r})\n{example}"
    said = run_script(example, before=around(*WITHOUT_SECCOMP), env={"EZ_PTC_SANDBOX": ""})
    assert said.startswith("paused [{'order': 7, 'amount': 240.0}]")


def test_packages_are_refused_where_the_kernel_is() -> None:
    code = "from ez_ptc import Toolkit\ntry: Toolkit([], allow_imports=['pydantic']).execute('1')\n"
    code += "except Exception as error: print(type(error).__name__, error)"
    said = run_script(code, before=around(*WITHOUT_SECCOMP), env={"EZ_PTC_SANDBOX": ""})
    assert said.startswith("IsolationUnavailableError programs in WebAssembly can import the standard library only")


@pytest.mark.parametrize(("system", "missing"), [("darwin", NOT_IN_MACOS), ("win32", NOT_IN_WINDOWS)])
def test_programs_run_on_other_systems(system: str, missing: str, tmp_path: Path) -> None:
    arguments = json.dumps([system, missing])
    environment = {"EZ_PTC_SANDBOX": "", "LOCALAPPDATA": str(tmp_path), "HOME": str(tmp_path)}
    values = json.loads(run_script(ELSEWHERE, arguments, env=environment))
    assert values == [2, 4, 6, "TimeoutError: the program timed out after 0.3 s", "wasm"]
