"""Shared by a RayToolkit and its sessions: the pool of actors, and conversations with them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._sync import Threads, to_thread
from ez_ptc.errors import ClusterError, ContinuationError
from ez_ptc.ray import wire
from ez_ptc.ray.callbacks import Callbacks
from ez_ptc.ray.conversing import ProgramEngine, Wait, adrive, drive, finish, lease_actor
from ez_ptc.ray.links import ActorLostError
from ez_ptc.ray.pool import ActorPool, LeasedActor
from ez_ptc.ray.programs import ProgramRequest, ProgramToken
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.schema.safe_repr import safe_repr_with_type
from ez_ptc.toolkit.execution.callers import Caller, check_principal
from ez_ptc.toolkit.execution.continuing import LAST
from ez_ptc.toolkit.validation import check_listener
from ez_ptc.tools.approvals.approval import check_approver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ez_ptc.ray.conversing import Steps
    from ez_ptc.ray.links import Cluster
    from ez_ptc.ray.pool import PoolSettings
    from ez_ptc.tools.tool import Tool

__all__ = ["ClusterCaller", "ProgramSettings"]

_ANSWER_SECONDS: Final = 120.0
_MAX_LOST: Final = 3


@dataclass(frozen=True)
class ProgramSettings:
    """The settings of one program, as a user gives them.

    `arguments` are plain data, `context` and `decisions` any objects, and `functions` stay here.
    """

    arguments: Mapping[str, Any]
    context: object = NO_CONTEXT
    decisions: object = None
    functions: Mapping[str, Any] = field(default_factory=dict[str, Any])
    after: object = None


class ClusterCaller:
    """A caller of the programs of one toolkit on a cluster."""

    def __init__(
        self,
        connect: Callable[[], Cluster],
        tools: Mapping[str, Tool[..., Any]],
        settings: PoolSettings,
        *,
        start_timeout: float,
    ) -> None:
        """Take the arguments of `ActorPool`, and the local tools."""
        self._make_cluster = connect
        self._cluster: Cluster | None = None
        self._lock = threading.Lock()
        self._tools = tools
        self.threads: Final = Threads()
        self._start_timeout = start_timeout
        self.pool: Final = ActorPool(self.connect, settings)

    def connect(self) -> Cluster:
        """Return the cluster, and connect to it first if necessary. Raises ClusterError if that fails."""
        with self._lock:
            if self._cluster is None:
                self._cluster = self._make_cluster()
            return self._cluster

    async def aconnect(self) -> Cluster:
        """Same as `connect`, but awaits."""
        return self._cluster or await to_thread(self.connect)

    # Programs ---------------------------------------------------------------------------------------------------------

    def converse(
        self,
        call: Any,
        settings: ProgramSettings,
        *,
        actor: LeasedActor | None = None,
        session: str | None = None,
        streams: bool = False,
    ) -> ProgramEngine:
        """Return a conversation with a new program; the cluster must be connected.

        Raises TypeError if the context or decisions cannot be pickled, and ContinuationError if the failed program
        cannot be continued.
        """
        cluster = self.connect()
        arguments = {name: value for name, value in settings.arguments.items() if value is not None}
        check_principal(arguments.get("principal"))
        check_listener(settings.functions.get("on_tool_call"))
        check_approver(settings.functions.get("approve"))
        objects = {"context": settings.context, "decisions": settings.decisions}
        is_left_out = {"context": settings.context is NO_CONTEXT, "decisions": settings.decisions is None}
        pickled = {name: _pickle(cluster, name, value) for name, value in objects.items() if not is_left_out[name]}
        functions = {name: function for name, function in settings.functions.items() if function is not None}
        after, after_run = None, None
        if settings.after is not None and settings.after is not LAST:
            actor, after, after_run = self._failed_program(settings.after, actor)
        request = ProgramRequest(
            call,
            arguments,
            pickled,
            frozenset(functions),
            session,
            streams,
            after,
            after_run,
            is_first=session is not None and settings.after is None and call == "execute",
        )
        # Another actor has to know the caller of a recorded run again.
        is_known = "principal" in arguments or Caller(None, settings.context).is_comparable
        may_move = is_known and session is None
        callbacks = Callbacks(self._tools, functions, settings.context, cluster.dumps, self.threads)
        return ProgramEngine(self.pool, cluster, request, callbacks, self._start_timeout, actor, may_move=may_move)

    def _failed_program(
        self, after: object, actor: LeasedActor | None
    ) -> tuple[LeasedActor | None, str | None, tuple[str, str] | None]:
        """Return the actor with the failed program in memory, its token there, and its run in the journal."""
        if not isinstance(after, ExecutionResult):
            message = f"expected after to be the ExecutionResult of a failed program, got {safe_repr_with_type(after)}"
            raise TypeError(message)
        if after.status != "failed":
            message = f"expected after to be the result of a failed program, got one that is {after.status}"
            raise ContinuationError(message)
        if after.run_id is not None:
            return actor, None, (after.run_id, after.error_output)
        progress: object = after.progress
        owner = progress.actor if isinstance(progress, ProgramToken) else None
        if not isinstance(progress, ProgramToken) or not isinstance(owner, LeasedActor) or owner.is_lost:
            message = (
                "the failed program is of another toolkit, or its actor is gone, which had it in memory: run this one "
                "without after=; nothing was run"
            )
            raise ContinuationError(message)
        return owner, progress.token, None

    # Questions --------------------------------------------------------------------------------------------------------

    def lease(self) -> Steps[LeasedActor]:
        """Wait for an actor."""
        return lease_actor(self.pool, self.connect(), self._start_timeout)

    def question(
        self, method: str, arguments: tuple[object, ...], *, keeps_actor: bool = False
    ) -> Steps[tuple[LeasedActor, wire.Message]]:
        """Ask an actor a question beside programs; any, or a free one for the caller to keep.

        No program is lost with an actor that dies meanwhile, so another is asked. Raises ClusterError after several.
        """
        for attempts in range(_MAX_LOST, 0, -1):
            actor = None if keeps_actor else self.pool.any_actor()
            is_leased = actor is None
            if actor is None:
                actor = yield from self.lease()
            is_kept = False
            actor.heard = monotonic()
            try:
                message = wire.unpack((yield Wait(actor.link.ask(method, *arguments), _ANSWER_SECONDS)))
                is_kept = keeps_actor and message["is"] != "error"
            except (ActorLostError, TimeoutError) as error:
                self.pool.discard(actor)
                if attempts == 1 or isinstance(error, TimeoutError):
                    lost = f"the actor on the node {actor.node} is lost: {error or 'it does not answer'}"
                    text = f"{lost}; call this again"
                    raise ClusterError(text) from error
            else:
                if message["is"] == "error":
                    raise wire.error_from(message, actor.node)
                return actor, message
            finally:
                if is_leased and not is_kept:
                    self.pool.release(actor)
        raise AssertionError

    def ask(self, method: str, *arguments: object) -> wire.Message:
        """Ask an actor a question beside programs, and return its answer."""
        self.connect()
        return finish(drive(self.question(method, arguments)))[1]

    async def aask(self, method: str, *arguments: object) -> wire.Message:
        """Same as `ask`, but awaits."""
        await self.aconnect()
        return (await adrive(self.question(method, arguments)))[1]


def _pickle(cluster: Cluster, name: str, value: object) -> bytes:
    try:
        return cluster.dumps(value)
    except Exception as error:
        message = (
            f"{name}: expected an object that can be pickled, since it is sent to a node, got "
            f"{safe_repr_with_type(value)} ({type(error).__name__}: {error}): pass plain data, such as a user's id, "
            f"and let the tools open what they need"
        )
        raise TypeError(message) from error
