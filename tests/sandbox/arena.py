"""A host that runs hostile programs in throwaway namespaces, and says what they reached.

``unshare --mount --net --pid --fork python -m tests.sandbox.arena FOLDER CORPUS ID…`` makes a read-only root with
canaries in ``/arena`` below the empty FOLDER, runs the programs with these ids, and prints the breaches by id as JSON.
In place of a corpus, ``own`` or ``slow`` takes the programs of `escapes`, and ``breach`` does what no program can.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import json
import os
import platform
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from ez_ptc import ExecutionResult, EzPtcError, Limits, Tool, Toolkit, WasmSandbox, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.restored.host.ready import RestoredWorkers
from tests.sandbox.escapes.catalog import CLAIM, OWN, SLOW
from tests.sandbox.fresh import FRESH
from tests.sandbox.processes import descendants, parent, threads

__all__ = ["CANARIES", "PORT"]

HOST_SECRET = "canary-in-the-memory-of-the-host"
CANARIES = {
    "file": "canary-in-a-file-of-the-host",
    "environment": "canary-in-the-environment-of-the-host",
    "memory": HOST_SECRET,
    "tool": "canary-in-a-failing-tool",
}
PORT = 47999
MIB = 1 << 20
MOST_GROWTH = 400 * MIB
ARENA = Path("/arena")
MARKS = ARENA / "mark"
READY = 2

called: list[str] = []
arrived: list[object] = []
CONFIG: dict[str, Any] = {"admin": False, "users": ["ann"]}


@ez_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    arrived.append((a, b))
    return a + b


@ez_tool
def lookup(key: str) -> str:
    """Look something up; what is not there fails with a secret in the frame and in the exception."""
    arrived.append(key)
    password = CANARIES["tool"]
    if key == "tea":
        return "hot"
    error = KeyError(key)
    error.add_note(password)
    raise error from RuntimeError(password)


@ez_tool
def read_doc(path: str) -> str:
    """Read a document, and nothing outside the folder of documents."""
    arrived.append(path)
    if path.startswith("/") or ".." in path:
        raise PermissionError(path)
    return (ARENA / "docs" / path).read_text(encoding="utf-8")


@ez_tool
def get_config() -> dict[str, Any]:
    """Return the configuration itself, not a copy."""
    return CONFIG


@ez_tool
def save(value: object) -> str:
    """Save a value."""
    arrived.append(value)
    return "saved"


@ez_tool
def hang_tool() -> None:
    """Never return."""
    threading.Event().wait()


@ez_tool
def admin_delete(name: str) -> str:
    """Delete; granted to nobody."""
    called.append(name)
    return "deleted"


def stop() -> None:
    """Do what a person's Ctrl-C does: the only error of a tool that its host does not take for a failure."""
    raise KeyboardInterrupt


@ez_tool
def breach(how: str) -> object:
    """Do what no program can, to see that it would be seen; granted only to the programs that try this."""
    ways: dict[str, Callable[[], object]] = {
        "canary": (ARENA / "canary.txt").read_text,
        "marker": lambda: (MARKS / "made").write_text("x"),
        "net": lambda: socket.create_connection(("127.0.0.1", PORT)).recv(1),
        "mem": lambda: len(b"x" * (MOST_GROWTH + 50 * MIB)),
        "ungranted": lambda: admin_delete("everything"),
        "host state": lambda: CONFIG["users"].append("mallory"),
        "processes": lambda: subprocess.Popen(["sleep", "30"]).pid,
        "threads": lambda: [threading.Thread(target=hang_tool, daemon=True).start() for _ in range(100)],
        "claim": lambda: CLAIM,
        "host error": stop,
    }
    return ways[how]()


TOOLS: dict[str, Tool[..., object]] = {tool.name: tool for tool in (add, lookup, read_doc, get_config, save, hang_tool)}


# The arena ------------------------------------------------------------------------------------------------------------


def _checked(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def enter(folder: Path) -> None:
    """Make a root of this one, read-only, with the arena in it, and go there for good."""
    _mount("--make-rprivate", "/")
    _mount("-t", "tmpfs", "tmpfs", str(folder))
    for entry in Path("/").iterdir():
        if entry not in {ARENA, Path("/proc")}:
            _show(entry, folder / entry.name)
    (folder / "proc").mkdir()
    _mount("-t", "proc", "proc", str(folder / "proc"))
    _make_arena(folder / "arena")
    os.chdir(folder)
    libc = ctypes.CDLL(None, use_errno=True)
    pivot_root = {"x86_64": 155, "aarch64": 41}[platform.machine()]
    _checked(libc.syscall(pivot_root, b".", b"."))
    _checked(libc.umount2(b".", 2))
    os.chdir("/")
    _bring_up_loopback()


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _show(entry: Path, place: Path) -> None:
    """Show a folder at another place too, where nothing in it can be changed."""
    if entry.is_symlink():
        place.symlink_to(entry.readlink())
    elif entry.is_dir():
        place.mkdir()
        _mount("--rbind", str(entry), str(place))
        read_only = struct.pack("=4Q", 1, 0, 0, 0)
        libc = ctypes.CDLL(None, use_errno=True)
        _checked(libc.syscall(442, -100, os.fsencode(place), 0x8000, read_only, len(read_only)))


def _make_arena(arena: Path) -> None:
    (arena / "docs").mkdir(parents=True)
    (arena / "docs" / "tea.txt").write_text("hot", encoding="utf-8")
    (arena / "canary.txt").write_text(CANARIES["file"], encoding="utf-8")
    (arena / "mark").mkdir()
    (arena / "mark").chmod(0o777)
    # A machine may have a folder of that name, and this library or its interpreter in it.
    for entry in ARENA.iterdir() if ARENA.is_dir() else ():
        if not (arena / entry.name).exists():
            _show(entry, arena / entry.name)


def _bring_up_loopback() -> None:
    """Set the flags of `lo` to up and running, as `ip link set lo up` does (SIOCSIFFLAGS, linux/sockios.h)."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))


class Listener:
    """Waits for somebody to reach the network."""

    def __init__(self) -> None:
        self.heard = 0
        self._socket = socket.create_server(("127.0.0.1", PORT))
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            self.heard += 1
            connection.sendall(b"x")
            connection.close()


# Running one program --------------------------------------------------------------------------------------------------


def _status(name: str) -> str:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(name))


def _memory(name: str) -> int:
    return int(_status(name).split()[0]) << 10


def _state() -> list[object]:
    """Return what programs try to change in the host."""
    return [
        json.dumps([1]), json.loads("[1]"), len([1]), sys.stdout is sys.__stdout__, sys.getprofile(), Path.cwd(),
        _status("Umask"), TOOLS["add"] is add, deepcopy(CONFIG), asyncio.run, asyncio.gather, "LEAK_VAR" in globals(),
    ]  # fmt: skip


class Arena:
    """Runs programs one after the other and looks at what each has done."""

    def __init__(self, *tools: Tool[..., object]) -> None:
        limits = Limits(timeout=2, grace=0.3)
        if os.environ.get("EZ_PTC_SANDBOX") == "wasm":
            self._sandbox = WasmSandbox(ready=READY)
            # Programs allocate it in this process.
            limits = replace(limits, memory=MOST_GROWTH // 2)
        else:
            self._sandbox = ProcessSandbox(ready=READY, fresh=FRESH)
        self._toolkit = Toolkit([*TOOLS.values(), *tools], limits=limits, sandbox=self._sandbox)
        self._listener = Listener()
        self._peak = 0
        self._calm()

    def breaches(self, name: str, *programs: str) -> list[str]:
        """Run programs one after the other, of `sessions` in one process, and return what they have breached."""
        called.clear()
        arrived.clear()
        state, thread_count = _state(), threads()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = self._peak = _memory("VmRSS")
        if name.startswith("sessions:"):
            with self._toolkit.session() as session:
                runs = [self._run(session.execute, code) for code in programs]
        else:
            runs = [self._run(self._toolkit.execute, code) for code in programs]
        found, seen = [name for names, _ in runs for name in names], "".join(text for _, text in runs)
        tests: dict[str, Callable[[], bool]] = {
            "canary": lambda: any(canary in text for canary in CANARIES.values() for text in (seen, repr(arrived))),
            "claim": lambda: CLAIM in seen,
            "marker": lambda: any(MARKS.iterdir()),
            "net": lambda: self._listener.heard > 0,
            "mem": lambda: self._peak - before > MOST_GROWTH,
            "ungranted": lambda: bool(called),
            "host state": lambda: _state() != state,
            "processes": lambda: not self._calm(),
            "threads": lambda: threads() > thread_count + 80,
            "broken": self._broken,
        }
        return found + [name for name, test in tests.items() if test()]

    def _run(self, execute: Callable[[str], ExecutionResult], code: str) -> tuple[list[str], str]:
        found: list[str] = ["hang"]
        texts: list[str] = []

        def run() -> None:
            try:
                result = execute(code)
                # Before anybody makes texts of it to look for canaries in.
                self._peak = _memory("VmHWM")
                texts.append(f"{result.output}{result.error_output}{result.error}{result.tool_calls}")
                texts.append(f"{result.return_value!r}{result.to_string()}")
            except EzPtcError as error:
                found[0] = f"sandbox error {error}"
            except BaseException as error:  # noqa: BLE001 - whatever comes out is what is looked for
                found[0] = f"host error {error!r}"
            else:
                found.clear()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(20)
        return list(found), "".join(texts)

    def _calm(self) -> bool:
        """Wait until only the sandbox's own processes are there, and return whether it came to that."""
        pause = threading.Event()
        calm_for = 0
        for _ in range(400):
            # Not at one moment only: a worker has just gone and another is on its way.
            calm_for = calm_for + 1 if len(descendants(os.getpid())) <= self._most_processes() else 0
            if calm_for == 3:
                return True
            pause.wait(0.005)
        return self._all_are_used_up(pause)

    def _most_processes(self) -> int:
        """Return how many processes the sandbox may have when no program runs."""
        if isinstance(self._sandbox, WasmSandbox):
            return 2 + READY
        zygote = self._sandbox._pool.zygote()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - a program cannot tell
        if FRESH == "process":
            return 2 + READY + len(zygote.ready.checkers)
        # Workers for each limit of time, and others: it knows all, unless some are on their way.
        zygote.receive()
        ready = zygote.ready
        if not isinstance(ready, RestoredWorkers) or zygote.ordered or ready.expected:
            return 0
        return 2 + ready.blank + len(ready.kept.numbers) + len(ready.checkers)

    def _checkers(self) -> set[int | None]:
        """Return the ids of the processes that check programs and run none."""
        if isinstance(self._sandbox, WasmSandbox):
            return set()
        checkers = self._sandbox._pool.zygote().ready.checkers  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as above
        return {checker.worker.host_pid() for checker in tuple(checkers._idle)}  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as above

    def _all_are_used_up(self, pause: threading.Event) -> bool:
        """Return whether other programs use up all that is there: what a program has left behind stays."""
        there = descendants(os.getpid())
        first = {pid for pid in there if parent(pid) == os.getpid()}
        second = {pid for pid in there if parent(pid) in first}
        if max(len(first), len(second)) > 1:
            return False
        rest = there - first - second - self._checkers()
        for _ in range(100):
            self._toolkit.execute("1 + 1", 20)
            # One that was made a checker in the meantime stays, too.
            if rest.isdisjoint(descendants(os.getpid()) - self._checkers()):
                return True
            pause.wait(0.02)
        return False

    def _broken(self) -> bool:
        result = self._toolkit.execute("[1 + 1, 'LEAK_VAR' in globals(), len([1]), json.dumps([1]), add(1, 2)]", 20)
        return result.return_value != [2, False, 1, "[1]", 3]

    def close(self) -> None:
        """End the sandbox."""
        self._sandbox.close()


def _programs(what: str, ids: list[str]) -> dict[str, tuple[str, ...]]:
    if what == "breach":
        return {name: (f"breach({name!r})",) for name in ids}
    if what in {"own", "slow"}:
        found = OWN if what == "own" else SLOW
    else:
        entries = json.loads(Path(what).read_text(encoding="utf-8"))
        # A corpus has long programs as the expression that makes them.
        found = {entry["id"]: (entry["code"] or eval(entry["code_generator"], {}),) for entry in entries}
    return {name: programs for name, programs in found.items() if not ids or name in ids}


def main(arguments: list[str]) -> None:
    """Run the programs of a corpus, or one `breach` a name, and print what they have breached."""
    os.environ["CANARY_ENV"] = CANARIES["environment"]
    folder, what, *names = arguments
    programs = _programs(what, names)
    enter(Path(folder))
    arena = Arena(*((breach,) if what == "breach" else ()))
    found = {name: arena.breaches(name, *parts) for name, parts in programs.items()}
    arena.close()
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()
    # A tool that never returns is one of the programs' weapons.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
