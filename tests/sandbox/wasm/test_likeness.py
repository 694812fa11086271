"""What programs see in WebAssembly: the same as in a process, where they would notice."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from ez_ptc import ProcessSandbox, Toolkit, ez_tool
from ez_ptc.sandbox.wasm.backend import WasmSandbox
from tests.sandbox.protocol.values.test_attachments import EXPECTED, echo, run_fresh, run_twice_in_session


@ez_tool
async def later(x: int) -> int:
    """Answer later."""
    await asyncio.sleep(0.05)
    return x


@pytest.fixture(scope="module")
def toolkits() -> Generator[tuple[Toolkit, Toolkit]]:
    with ProcessSandbox() as process, WasmSandbox() as wasm:
        yield Toolkit([later], sandbox=process), Toolkit([later], sandbox=wasm)


def test_thread_knows_itself(toolkits: tuple[Toolkit, Toolkit]) -> None:
    code = """
import threading
seen = []
def look():
    thread = threading.current_thread()
    seen.append([thread.name, thread.daemon, thread.ident == threading.get_ident(), thread.native_id is not None])
    seen.append([threading.get_ident() == main, thread is threading.main_thread(), threading.active_count()])
main = threading.get_ident()
for thread in threading.Thread(target=look, name="mine"), threading.Thread(target=look, daemon=True):
    thread.start()
    thread.join()
look()
seen
"""
    process, wasm = (toolkit.execute(code).return_value for toolkit in toolkits)
    assert wasm == process
    assert wasm[0][0] == "mine"


def test_threads_share_no_local_values(toolkits: tuple[Toolkit, Toolkit]) -> None:
    code = """
import threading
from concurrent.futures import ThreadPoolExecutor
local = threading.local()
local.x = 1
seen = []
def change():
    seen.append(hasattr(local, "x"))
    local.x = 2
thread = threading.Thread(target=change)
thread.start()
thread.join()
with ThreadPoolExecutor(1) as pool:
    pool.submit(change).result()
    pool.submit(change).result()
[seen, local.x]
"""
    process, wasm = (toolkit.execute(code).return_value for toolkit in toolkits)
    assert wasm == process == [[False, False, True], 1]


def test_pool_initializes_its_thread_and_names_it(toolkits: tuple[Toolkit, Toolkit]) -> None:
    code = """
import threading
from concurrent.futures import ThreadPoolExecutor
def name(): return threading.current_thread().name
with ThreadPoolExecutor(1, "mine", print, ("ready",)) as pool:
    names = [pool.submit(name).result(), pool.submit(name).result(), name()]
def fail(): raise OSError("not ready")
with ThreadPoolExecutor(1, initializer=fail) as pool:
    try:
        pool.submit(name).result()
    except RuntimeError as error:
        names.append(type(error).__name__)
names
"""
    process, wasm = (toolkit.execute(code) for toolkit in toolkits)
    assert wasm.return_value == process.return_value == ["mine_0", "mine_0", "MainThread", "BrokenThreadPool"]
    assert wasm.output == process.output == "ready\n"


DENIED = [
    "os.listdir()",
    "os.scandir('/')",
    "os.mkdir('a')",
    "os.makedirs('a/b')",
    "os.remove('a')",
    "os.rename('a', 'b')",
    "os.stat('a')",
    "os.chmod('a', 0o600)",
    "os.readlink('a')",
    "os.open('a', os.O_RDONLY)",
    "pathlib.Path('a').touch()",
    "pathlib.Path('a').unlink()",
    "os.path.getsize('a')",
    "shutil.rmtree('a')",
    "shutil.copy('a', 'b')",
    "os.mkfifo('a')",
    "os.execv('/bin/ls', ['ls'])",
    "os.wait()",
    "socket.socket()",
    "socket.create_connection(('127.0.0.1', 80))",
    "socket.create_connection(('a.example', 80))",
    "socket.getaddrinfo('a.example', 80)",
    "urllib.request.urlopen('http://a.example')",
    "urllib.request.urlopen('http://127.0.0.1')",
    "urllib.request.urlopen('file:///etc/passwd')",
]


def test_what_is_denied_is_denied_alike(toolkits: tuple[Toolkit, Toolkit]) -> None:
    code = f"""
import errno, os, pathlib, shutil, socket, urllib.request
told = {{}}
for call in {DENIED}:
    try:
        eval(call)
    except OSError as error:
        told[call] = [type(error).__name__, str(error), error.errno in (errno.EACCES, errno.EPERM)]
told
"""
    process, wasm = (toolkit.execute(code).return_value for toolkit in toolkits)
    assert list(wasm) == DENIED
    assert wasm == process


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    await asyncio.wait_for(later(1), 0.001)\nexcept TimeoutError:\n    pass",
        "async def leave():\n    asyncio.create_task(later(1))\n    await asyncio.sleep(0)\nasyncio.run(leave())",
    ],
)
def test_calls_that_no_one_awaits_end_before_their_program(toolkits: tuple[Toolkit, Toolkit], code: str) -> None:
    for toolkit in toolkits:
        result = toolkit.execute(f"import asyncio\n{code}")
        assert result.error is None
        assert [(call["result"], call["error"]) for call in result.tool_calls] == [(1, None)]


def test_warnings_are_shown(toolkits: tuple[Toolkit, Toolkit]) -> None:
    code = "import warnings\nwarnings.warn('careful', DeprecationWarning)"
    process, wasm = (toolkit.execute(code).error_output for toolkit in toolkits)
    assert wasm == process
    assert "DeprecationWarning: careful" in wasm


def test_tracebacks_name_no_path_of_the_component(toolkits: tuple[Toolkit, Toolkit]) -> None:
    code = """
import json, traceback
try:
    json.loads("[", parse_int=lambda text: later(int(text)), cls=json.JSONDecoder)
except ValueError:
    print(traceback.format_exc())
try:
    later("x")
except TypeError:
    print(traceback.format_exc())
print(json.__file__)
"""
    for toolkit in toolkits:
        output = toolkit.execute(code).output
        assert '"<sandbox>/' in output
        assert '"<stdlib>/json/' in output
        assert '"/' not in output


@pytest.mark.parametrize("name", ["doctest", "pdb", "pydoc"])
def test_modules_that_talk_to_people_are_importable(toolkits: tuple[Toolkit, Toolkit], name: str) -> None:
    assert toolkits[1].execute(f"import {name}").error is None


def test_tools_can_be_asked_for_their_help(toolkits: tuple[Toolkit, Toolkit]) -> None:
    assert "Answer later." in toolkits[1].execute("help(later)").output


def test_long_texts_and_bytes_cross_as_from_processes(toolkits: tuple[Toolkit, Toolkit]) -> None:
    with Toolkit([echo], sandbox=toolkits[1].sandbox) as toolkit:
        assert run_fresh(toolkit) == run_twice_in_session(toolkit) == EXPECTED
