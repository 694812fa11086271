"""The programs of a toolkit on its node, as their callers ask for them."""

from __future__ import annotations

import pickle
import platform
import secrets
import threading
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._sync import run_coroutine
from ez_ptc.errors import ClusterError, ContinuationError, DecisionError, SandboxError, WorkerDiedError
from ez_ptc.ray import wire
from ez_ptc.sandbox.protocol.events import ProgramEnded
from ez_ptc.sandbox.protocol.execution import ExecutionResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.ray.node.hosted import HostedProgram
    from ez_ptc.ray.programs import ProgramRequest
    from ez_ptc.toolkit.execution.session import Session
    from ez_ptc.toolkit.toolkit import Toolkit

__all__ = ["RequestRunner"]

_MAX_FAILURES: Final = 64


class RequestRunner:
    """Runs the programs of one toolkit, each in its thread.

    It is not a part of the actor: Ray would run all methods of a class with coroutine functions in one thread. Few
    programs need an event loop, which costs more than Ray's message: those with asynchronous tools, and streams.
    """

    def __init__(self, toolkit: Toolkit) -> None:
        self._toolkit = toolkit
        self._lock = threading.Lock()
        self._failures: dict[str, ExecutionResult] = {}
        self.sessions: dict[str, Session] = {}

    def run(self, request: ProgramRequest, program: HostedProgram) -> bytes:
        """Run a program in its thread, and return its last message."""
        toolkit = self._toolkit
        settings = {**request.arguments, **_read_objects(request.objects), **program.functions(request.callbacks)}
        if request.after is not None or request.after_run is not None:
            failed = self._failures.get(request.after or "")
            if failed is None and request.after_run is not None:
                run_id, error = request.after_run
                failed = ExecutionResult(success=False, status="failed", run_id=run_id, error=error, error_output=error)
            if failed is None:
                message = "the failed program is forgotten: its actor keeps the last 64; run this one without after="
                raise ContinuationError(message)
            settings["after"] = failed
        if request.session is not None:
            return self._run_in_session(request, program, settings)
        if request.call == "execute":
            if request.is_repeated:
                _require_run(toolkit, settings["run_id"])
            if request.streams:
                result = run_coroutine(partial(toolkit.aexecute, observe=program.observe, **settings))
            else:
                result = toolkit.execute(**settings)
        elif request.is_repeated:
            result = _resume_again(toolkit, settings)
        else:
            result = toolkit.resume(**settings)
        return self._last_message(result)

    def _run_in_session(self, request: ProgramRequest, program: HostedProgram, settings: dict[str, Any]) -> bytes:
        session = self.sessions.get(request.session or "")
        if session is None:
            message = "this session is closed: open another one"
            raise SandboxError(message)
        if request.is_first:
            settings["after"] = None
        if request.call == "resume":
            return self._last_message(session.resume(**settings))
        if not request.streams:
            return self._last_message(session.execute(**settings))
        return self._last_message(run_coroutine(_stream, session, settings, program))

    def _last_message(self, result: ExecutionResult) -> bytes:
        """Return a result as a message, and keep a failed one for its correction."""
        token: str | None = None
        if result.status == "failed":
            token = secrets.token_hex(16)
            with self._lock:
                self._failures[token] = result
                while len(self._failures) > _MAX_FAILURES:
                    del self._failures[next(iter(self._failures))]
        return wire.pack_result(result, token)


async def _stream(session: Session, settings: Mapping[str, Any], program: HostedProgram) -> ExecutionResult:
    """Run a program of a session, report its events, and return its result."""
    async with aclosing(session.astream(settings["code"], settings.get("timeout"))) as events:
        async for event in events:
            if isinstance(event, ProgramEnded):
                return event.result
            program.report(event)
            await program.outbox.room()
    raise AssertionError


def _require_run(toolkit: Toolkit, run_id: str) -> None:
    """Raise WorkerDiedError if the journal has no run of a program that another actor may have begun."""
    if toolkit.open_journal().known_run(run_id) is None:
        message = (
            f"the actor of this program is lost, and the journal on the node {platform.node()} has no run {run_id}: "
            f"either the program had not begun, or the nodes do not share the journal; it was not run again"
        )
        raise WorkerDiedError(message)


def _resume_again(toolkit: Toolkit, settings: dict[str, Any]) -> ExecutionResult:
    """Resume a run whose actor was lost while it was resumed: it may have ended, or have its decisions."""
    who = {name: settings[name] for name in ("context", "principal") if name in settings}
    result = toolkit.find_result(settings["run_id"], **who)
    if result is not None:
        return result
    try:
        return toolkit.resume(**settings)
    except DecisionError:
        settings["decisions"] = None
        return toolkit.resume(**settings)


def _read_objects(objects: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the caller's pickled objects. Raises ClusterError for one without its class here."""
    values: dict[str, Any] = {}
    for name, data in objects.items():
        try:
            values[name] = pickle.loads(data)  # noqa: S301 - of the caller, whose code this actor runs in any case
        except Exception as error:
            message = (
                f"{name} cannot be read on the node {platform.node()} ({type(error).__name__}: {error}): its class "
                f"must be importable there; nothing was run"
            )
            raise ClusterError(message) from error
    return values
