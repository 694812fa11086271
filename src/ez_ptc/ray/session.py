"""Sessions on a node of a cluster: programs with shared variables."""

from __future__ import annotations

import uuid
import warnings
import weakref
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from ez_ptc._closing import Closable
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import SandboxError
from ez_ptc.ray.calling import ProgramSettings
from ez_ptc.ray.conversing import adrive, drive, finish
from ez_ptc.ray.running import ProgramEvents, aevents, arun, run
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.toolkit.execution.continuing import LAST
from ez_ptc.toolkit.validation import check_program
from ez_ptc.tools.decisions import require_decisions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from concurrent.futures import Future

    from ez_ptc.ray.calling import ClusterCaller
    from ez_ptc.ray.conversing import ProgramEngine, Steps
    from ez_ptc.ray.pool import LeasedActor
    from ez_ptc.sandbox.protocol.events import ProgramEvent
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.sandbox.protocol.records.call_record import OnToolCall
    from ez_ptc.tools.approvals.approval import Approver

__all__ = ["RaySession", "aopen_session", "open_session"]

_RESUME: Final = "session.resume({result.pending[0].id: True})"


@explain_calls(checks="after code decisions max_text on_tool_call principal timeout")
class RaySession(Closable):
    """Programs on one node of a cluster with shared variables, as in a `Session`.

        with toolkit.session() as session:
            session.execute("price = price_of('lamp')")
            print(session.execute("price * 2").return_value)

    It has an actor for itself until it is closed or, with a ResourceWarning, dropped. If that or its node dies, the
    variables are lost and each program raises WorkerDiedError; with a shared journal, `toolkit.session(session.id)`
    continues it on another node.
    """

    def __init__(self, caller: ClusterCaller, actor: LeasedActor, key: str, session_id: str | None) -> None:
        """Use `RayToolkit.session` instead."""
        self._caller = caller
        self._actor = actor
        self._key = key
        self._id = session_id
        self._dropped = weakref.finalize(self, _close_dropped, caller, actor, key)
        # Its actor ends with this process.
        self._dropped.atexit = False

    @property
    def id(self) -> str | None:
        """The id of the session in the journal, or None without one."""
        return self._id

    def _converse(self, call: str, settings: ProgramSettings, *, streams: bool = False) -> ProgramEngine:
        if not self._dropped.alive:
            message = "this session is closed: open another one"
            raise SandboxError(message)
        conversation = self._caller.converse(call, settings, actor=self._actor, session=self._key, streams=streams)
        conversation.keeps = self
        return conversation

    def execute(  # noqa: PLR0913 - users type them
        self,
        code: str,
        timeout: float | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        principal: str | None = None,
        after: ExecutionResult | None = LAST,
        reread: bool = False,
        max_text: int | None = None,
    ) -> ExecutionResult:
        """Run a program and return its result, as `Session.execute` does. Raises as `RayToolkit.execute` does."""
        check_program(code)
        arguments = {"code": code, "timeout": timeout, "principal": principal, "reread": reread, "max_text": max_text}
        functions = {"approve": approve, "on_tool_call": on_tool_call}
        return run(self._converse("execute", ProgramSettings(arguments, context, None, functions, after)))

    async def aexecute(  # noqa: PLR0913 - users type them
        self,
        code: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's time, not the task's
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        principal: str | None = None,
        after: ExecutionResult | None = LAST,
        reread: bool = False,
        max_text: int | None = None,
    ) -> ExecutionResult:
        """Same as `execute`, but awaits; cancelling it ends the program and drops the variables."""
        check_program(code)
        arguments = {"code": code, "timeout": timeout, "principal": principal, "reread": reread, "max_text": max_text}
        functions = {"approve": approve, "on_tool_call": on_tool_call}
        return await arun(self._converse("execute", ProgramSettings(arguments, context, None, functions, after)))

    def stream(self, code: str, timeout: float | None = None) -> ProgramEvents:
        """Run a program, and iterate over its events, as `RayToolkit.stream` does."""
        check_program(code)
        settings = ProgramSettings({"code": code, "timeout": timeout}, after=LAST)
        return ProgramEvents(self._converse("execute", settings, streams=True))

    async def astream(
        self,
        code: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's time, not the task's
    ) -> AsyncGenerator[ProgramEvent]:
        """Same as `stream`, but iterates asynchronously."""
        check_program(code)
        settings = ProgramSettings({"code": code, "timeout": timeout}, after=LAST)
        async with aclosing(aevents(self._converse("execute", settings, streams=True))) as events:
            async for event in events:
                yield event

    def resume(
        self,
        decisions: Mapping[str, object] | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        principal: str | None = None,
    ) -> ExecutionResult:
        """Continue the session's waiting program, as `Session.resume` does."""
        functions = {"approve": approve, "on_tool_call": on_tool_call}
        decided = require_decisions(decisions, _RESUME)
        return run(self._converse("resume", ProgramSettings({"principal": principal}, context, decided, functions)))

    async def aresume(
        self,
        decisions: Mapping[str, object] | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        principal: str | None = None,
    ) -> ExecutionResult:
        """Same as `resume`, but awaits."""
        functions = {"approve": approve, "on_tool_call": on_tool_call}
        decided = require_decisions(decisions, _RESUME)
        settings = ProgramSettings({"principal": principal}, context, decided, functions)
        return await arun(self._converse("resume", settings))

    def close(self) -> None:
        """End the session's process on its node, and give its actor back. Closing twice is harmless."""
        if self._dropped.detach() is not None:
            _close(self._caller, self._actor, self._key)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def _close(caller: ClusterCaller, actor: LeasedActor, key: str) -> None:
    def give_back(answer: Future[Any]) -> None:
        if answer.exception() is None:
            caller.pool.release(actor)
        else:
            caller.pool.discard(actor)

    actor.link.ask("close_session", key).add_done_callback(give_back)


def _close_dropped(caller: ClusterCaller, actor: LeasedActor, key: str) -> None:
    # In another thread: a finalizer may interrupt Ray, or the pool under its lock.
    caller.threads.start(partial(_close, caller, actor, key))
    message = "a RaySession was dropped before it was closed: use it as a context manager, or call close()"
    warnings.warn(message, ResourceWarning, stacklevel=1)


def open_session(caller: ClusterCaller, session_id: str | None, *, upgrade: bool) -> RaySession:
    """Open a session on a free actor, and wait for it."""
    caller.connect()
    return finish(drive(_opening(caller, session_id, upgrade=upgrade)))


async def aopen_session(caller: ClusterCaller, session_id: str | None, *, upgrade: bool) -> RaySession:
    """Same as `open_session`, but awaits."""
    await caller.aconnect()
    return await adrive(_opening(caller, session_id, upgrade=upgrade))


def _opening(caller: ClusterCaller, session_id: str | None, *, upgrade: bool) -> Steps[RaySession]:
    key = uuid.uuid4().hex
    actor, message = yield from caller.question("open_session", (key, session_id, upgrade), keeps_actor=True)
    return RaySession(caller, actor, key, message.get("value"))
