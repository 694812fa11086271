"""The programs of one toolkit on one node: the class of its actors."""

from __future__ import annotations

import pickle
import platform
import threading
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._sync import Threads
from ez_ptc.errors import ClusterError, SandboxError, ToolkitImportError
from ez_ptc.ray import wire
from ez_ptc.ray.node.hosted import HostedProgram, stub_of
from ez_ptc.ray.node.requests import RequestRunner
from ez_ptc.ray.programs import ProgramRequest, own_facts
from ez_ptc.toolkit.loading import load_toolkit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ez_ptc.ray.programs import LocalTool
    from ez_ptc.toolkit.toolkit import Toolkit

__all__ = ["ProgramHost"]

# The seconds that a question waits for a message of a program: a caller learns at least so often that the actor lives.
_PATIENCE: Final = 5.0
# The seconds that a program has for its end, beyond those that it has anyway.
_END_SECONDS: Final = 5.0
_MAX_ENDED: Final = 1_000
_MAX_FAILURES: Final = 64


class ProgramHost:
    """Imports a toolkit, and runs its programs. Each method is one question of a caller, and returns bytes.

    None may be a coroutine function: Ray would then run all of them in one thread.
    """

    def __init__(self, reference: str, local: Sequence[LocalTool] = ()) -> None:
        """Import the toolkit. This never fails: `describe` reports the problem."""
        self._lock = threading.Lock()
        self._threads = Threads()
        self._programs: dict[str, HostedProgram] = {}
        self._ended: dict[str, None] = {}
        self._toolkit: Toolkit | None = None
        self._runner: RequestRunner | None = None
        self._has_local_tools = bool(local)
        self._problem = b""
        try:
            toolkit = load_toolkit(reference, Path())
            if local:
                toolkit = replace(toolkit, tools=(*toolkit.tools, *map(stub_of, local)))
            toolkit.isolation  # noqa: B018 - boots the sandbox, so that the first program does not wait for it
            self._toolkit, self._runner = toolkit, RequestRunner(toolkit)
        except ToolkitImportError as error:
            message = f"{error} (on the node {platform.node()})"
            self._problem = wire.pack_error(ToolkitImportError(message))
        except Exception as error:  # noqa: BLE001 - the module is the user's code, and may raise anything
            self._problem = wire.pack_error(_import_problem(reference, error))

    def describe(self) -> bytes:
        """Return the facts to compare with other nodes, or the reason against programs here."""
        if self._toolkit is None:
            return self._problem
        toolkit = self._toolkit
        names = tuple(sorted(tool.name for tool in toolkit))
        facts = own_facts(tuple(toolkit.allow_imports), names, platform.node())
        fields = asdict(replace(facts, has_journal=toolkit.journal is not None))
        # JSON has lists.
        return wire.pack("facts", **{**fields, "allow_imports": [*toolkit.allow_imports], "tools": [*names]})

    def ping(self) -> bytes:
        """Return at once."""
        return b""

    def consult(self, name: str, arguments: Mapping[str, Any]) -> bytes:
        """Return the value of a method of the toolkit without a program, such as `prompt`."""
        if self._toolkit is None:
            return self._problem
        try:
            value = getattr(self._toolkit, name)(**arguments)
            if name == "check":
                return wire.pack_mistakes(value)
            return wire.pack("value", value=value)
        except Exception as error:  # noqa: BLE001 - it is raised again where the caller is
            return wire.pack_error(error)

    # Programs ---------------------------------------------------------------------------------------------------------

    def begin(self, key: str, data: bytes) -> bytes | list[bytes]:
        """Start the program of a request, whose fields come pickled, and return its first messages.

        Its last message alone comes as bytes: Ray would pack and unpack a list.
        """
        if self._runner is None:
            return self._problem
        request = ProgramRequest(*pickle.loads(data))  # noqa: S301 - of the caller, whose code this actor runs in any case
        with self._lock:
            if key in self._ended:  # its caller has left before this question came
                return wire.pack_error(SandboxError("the program was ended before it began"))
            program = self._programs[key] = HostedProgram(partial(self._runner.run, request))
        if request.streams or request.callbacks or self._has_local_tools:
            program.start(self._threads)
            return self._take(key, program)
        # Without a second thread: the two would wait for each other, and for the interpreter.
        program.run()
        (last,) = self._take(key, program)
        return last

    def proceed(self, key: str) -> list[bytes]:
        """Return the next messages of a program."""
        program = self._programs.get(key)
        if program is None:
            return [wire.pack_error(ClusterError("this actor has no such program: it was started again"))]
        return self._take(key, program)

    def _take(self, key: str, program: HostedProgram) -> list[bytes]:
        messages = program.outbox.take(_PATIENCE)
        if program.outbox.is_over:
            self._programs.pop(key, None)
        return messages

    def answer(self, key: str, number: int, value: object) -> bytes:
        """Take the caller's answer to a question of a program."""
        program = self._programs.get(key)
        if program is not None:
            program.answer(number, value)
        return b""

    def progress(self, key: str, number: int, position: int, report: tuple[object, ...]) -> bytes:
        """Take a report of the caller's tool about its progress."""
        program = self._programs.get(key)
        if program is not None:
            program.progress(number, position, report)
        return b""

    def end(self, key: str) -> bytes:
        """End a program whose caller has left, and return whether nothing of it runs any more."""
        with self._lock:
            program = self._programs.pop(key, None)
            if program is None:
                self._ended[key] = None
                while len(self._ended) > _MAX_ENDED:
                    del self._ended[next(iter(self._ended))]
        return b"ended" if program is None or program.end(_END_SECONDS) else b"running"

    # Sessions ---------------------------------------------------------------------------------------------------------

    def open_session(self, key: str, session_id: str | None, upgrade: bool) -> bytes:  # noqa: FBT001 - asked by position
        """Open a session, and return its id in the journal."""
        if self._runner is None or self._toolkit is None:
            return self._problem
        try:
            session = self._toolkit.session(session_id, upgrade=upgrade)
        except Exception as error:  # noqa: BLE001 - it is raised again where the caller is
            return wire.pack_error(error)
        self._runner.sessions[key] = session
        return wire.pack("value", value=session.id)

    def close_session(self, key: str) -> bytes:
        """Close a session."""
        session = None if self._runner is None else self._runner.sessions.pop(key, None)
        if session is not None:
            session.close()
        return b""


def _import_problem(reference: str, error: Exception) -> Exception:
    if isinstance(error, SandboxError):
        return error
    message = f"importing {reference} on the node {platform.node()} raised {type(error).__name__}: {error}"
    return ToolkitImportError(message)
