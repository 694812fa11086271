"""A program's conversation between its caller and an actor: one engine, and the ways to wait for its answers."""

from __future__ import annotations

import contextlib
import uuid
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from ez_ptc._sync import from_other_threads
from ez_ptc.errors import ClusterError, Overloaded, ProtocolError, RunInProgressError, WorkerDiedError
from ez_ptc.ray import wire
from ez_ptc.ray.links import ActorLostError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from ez_ptc.ray.callbacks import Callbacks
    from ez_ptc.ray.links import Cluster
    from ez_ptc.ray.pool import ActorPool, LeasedActor
    from ez_ptc.ray.programs import ProgramRequest
    from ez_ptc.sandbox.protocol.events import ProgramEvent
    from ez_ptc.sandbox.protocol.execution import ExecutionResult

__all__ = ["ProgramEngine", "Steps", "Wait", "aanswer_to", "adrive", "answer_to", "drive", "finish", "lease_actor"]

R = TypeVar("R")

# Seconds without any answer after which an actor counts as lost: a tool that never lets go of its interpreter, or a
# stopped process, keeps it from answering.
MAX_SILENCE: Final = 60.0
# Seconds without an answer after which it is asked whether it lives: a program without messages answers at its end.
# More than the seconds after which an actor answers without any messages.
QUIET_SECONDS: Final = 10.0
# Seconds after which a free actor is asked whether it lives, before it gets a program.
FRESH_SECONDS: Final = 1.0
_MAX_MOVES: Final = 3
# Seconds between two looks at the cluster while no actor is free.
_LOOK_SECONDS: Final = 5.0
_LOCK_SECONDS: Final = 30


class Wait(NamedTuple):
    """A step of the engine: wait for an answer, for so many seconds; TimeoutError is thrown into it then."""

    answer: Future[Any]
    seconds: float | None = None


Steps: TypeAlias = "Generator[Wait | ProgramEvent, Any, R]"
"""The engine's steps: it yields waits, and gets their answers, and yields events."""


def lease_actor(pool: ActorPool, cluster: Cluster, start_timeout: float) -> Generator[Wait, Any, LeasedActor]:
    """Wait for a live actor. Raises Overloaded, or ClusterError, if none comes in time."""
    deadline = monotonic() + start_timeout
    while True:
        lease = pool.lease()
        try:
            while not lease.done():
                # Ray waits for a lost cluster without an end, and for one without enough resources.
                yield from _wait_or_time_out(lease, min(_LOOK_SECONDS, max(deadline - monotonic(), 0)))
                if not lease.done():
                    _check_cluster(cluster, deadline)
            actor = lease.result()
        except BaseException:
            pool.forget(lease)
            raise
        if monotonic() - actor.heard < FRESH_SECONDS:
            return actor
        try:
            yield Wait(actor.link.ask("ping"), MAX_SILENCE)
        except (ActorLostError, TimeoutError):
            pool.discard(actor)
        except BaseException:
            pool.release(actor)
            raise
        else:
            return actor


def _wait_or_time_out(answer: Future[Any], seconds: float) -> Generator[Wait, Any, None]:
    with contextlib.suppress(TimeoutError):
        yield Wait(answer, seconds)


def _check_cluster(cluster: Cluster, deadline: float) -> None:
    trouble = cluster.describe_trouble()
    if trouble is not None:
        message = f"{trouble}; nothing was run"
        raise ClusterError(message)
    if monotonic() >= deadline:
        message = (
            "no actor was free, and no node had room for another one, within start_timeout: add nodes, ask for less "
            "with num_cpus= and resources=, or wait longer with start_timeout=; nothing was run"
        )
        raise Overloaded(message)


@dataclass
class ProgramEngine:
    """The engine of one program.

    `actor` is the session's, or the failed program's; without it, the pool has one. `ending` is the answer to the
    request to end a program after its caller has left. `keeps` is the session, which must not be dropped meanwhile.
    `may_move`: a recorded run may go on with another actor.
    """

    pool: ActorPool
    cluster: Cluster
    request: ProgramRequest
    callbacks: Callbacks
    start_timeout: float
    actor: LeasedActor | None = None
    ending: Future[Any] | None = None
    keeps: object = None
    _: KW_ONLY
    may_move: bool = False

    def steps(self) -> Steps[ExecutionResult]:
        """Run the program. After the loss of its actor, a recorded run goes on with another one."""
        moves, locked = 0, 0
        while True:
            actor = self.actor
            if actor is None:
                actor = yield from lease_actor(self.pool, self.cluster, self.start_timeout)
            # Give the run of a program an id, to find it again after the loss of its actor.
            if self._has_journal and self.may_move and "run_id" not in self.request.arguments:
                arguments = {**self.request.arguments, "run_id": uuid.uuid4().hex}
                self.request = replace(self.request, arguments=arguments)
            try:
                return (yield from self._converse(actor))
            except ActorLostError as error:
                if self.run_id is None or not self.may_move or self.actor is not None or moves >= _MAX_MOVES:
                    raise self._loss(actor, error) from error
                moves += 1
                self.request = replace(self.request, is_repeated=True)
            except RunInProgressError:
                # The journal learns of the lost owner's end a little later than its caller.
                if not moves or locked >= _LOCK_SECONDS:
                    raise
                locked += 1
                yield from _wait_or_time_out(Future(), 1.0)

    @property
    def run_id(self) -> str | None:
        """The id of the program's run, if this caller knows it and it is recorded."""
        return self.request.arguments.get("run_id") if self._has_journal else None

    @property
    def _has_journal(self) -> bool:
        return self.pool.facts is not None and self.pool.facts.has_journal

    def _loss(self, actor: LeasedActor, error: ActorLostError) -> WorkerDiedError:
        text = f"the program's actor on the node {actor.node} is lost: {error}; "
        if self.run_id is not None:
            text += f"the journal has its run: resume({self.run_id!r}) goes on with it, on another node"
        elif self._has_journal:
            text += "the journal has its run, which resume(run_id) continues on another node"
        else:
            text += (
                "its calls may have taken effect, and there is no record of them: give the toolkit a journal that all "
                "nodes share, and programs go on elsewhere"
            )
        return WorkerDiedError(text)

    def _converse(self, actor: LeasedActor) -> Steps[ExecutionResult]:
        """Run the program on an actor, and give that back. Raises ActorLostError if it is lost."""
        key = uuid.uuid4().hex
        has_ended = False
        answer = actor.link.ask("begin", key, self.cluster.dumps(self.request.fields()))
        try:
            while True:
                messages = yield from _hear(actor, answer)
                last = messages[-1] if messages and messages[-1]["is"] in {"result", "error"} else None
                has_ended = last is not None
                if not has_ended:
                    answer = actor.link.ask("proceed", key)
                for message in messages:
                    event = self._handle(message, key, actor)
                    if event is not None:
                        yield event
                if last is not None:
                    if last["is"] == "error":
                        raise wire.error_from(last, actor.node)
                    result = wire.result_from(last, actor)
                    if result.progress is not None and result.run_id is None:
                        actor.keep()
                    return result
        except ActorLostError:
            actor.is_lost = True
            raise
        finally:
            self._give_back(actor, key, has_ended=has_ended)

    def _handle(self, message: wire.Message, key: str, actor: LeasedActor) -> ProgramEvent | None:
        """Take a message; return the event in it, if there is one."""
        message_type = message["is"]
        if message_type == "record":
            self.callbacks.listen(message)
        elif message_type == "ask":

            def ask(method: str, *arguments: object) -> Future[Any]:
                return actor.link.ask(method, key, *arguments)

            self.callbacks.start(message, ask)
        elif message_type not in {"result", "error"}:
            return wire.event_from(message)
        return None

    def _give_back(self, actor: LeasedActor, key: str, *, has_ended: bool) -> None:
        if actor.is_lost:
            self.pool.discard(actor)
        elif has_ended:
            if self.actor is None:
                self.pool.release(actor)
        else:
            self.ending = actor.link.ask("end", key)
            is_leased = self.actor is None
            self.ending.add_done_callback(lambda answer: self._after_end(actor, answer, is_leased=is_leased))

    def _after_end(self, actor: LeasedActor, answer: Future[Any], *, is_leased: bool) -> None:
        if answer.exception() is not None or answer.result() != b"ended":
            self.pool.discard(actor)  # something of the program may still run there: end it with its process
        elif is_leased:
            self.pool.release(actor)


def _hear(actor: LeasedActor, answer: Future[Any]) -> Generator[Wait, Any, list[wire.Message]]:
    """Wait for the next messages of an actor. Raises ActorLostError, or ProtocolError for anything else."""
    try:
        while not answer.done():
            yield from _wait_or_time_out(answer, QUIET_SECONDS)
            if not answer.done():
                yield Wait(actor.link.ask("ping"), MAX_SILENCE - QUIET_SECONDS)
    except TimeoutError as error:
        message = f"it has not answered for {MAX_SILENCE:.0f} s, perhaps because a tool holds its interpreter"
        raise ActorLostError(message) from error
    messages = answer.result()
    if isinstance(messages, bytes):
        messages = [messages]
    if not isinstance(messages, list):
        problem = "an actor sent something else than a list of messages"
        raise ProtocolError(problem)
    actor.heard = monotonic()
    return [wire.unpack(message) for message in cast("list[object]", messages)]


# Waiting --------------------------------------------------------------------------------------------------------------


def answer_to(wait: Wait) -> Any:
    """Wait for an answer in this thread. Raises TimeoutError if none comes in time."""
    return wait.answer.result(wait.seconds)


async def aanswer_to(wait: Wait) -> Any:
    """Same as `answer_to`, but awaits."""
    from anyio import Event, move_on_after

    if not wait.answer.done():
        answered = Event()
        wake = from_other_threads(answered.set)
        wait.answer.add_done_callback(partial(_wake, wake))
        with move_on_after(wait.seconds):
            await answered.wait()
    return wait.answer.result(0)


def _wake(wake: Callable[[], object], answer: object) -> None:
    del answer
    with contextlib.suppress(RuntimeError):  # the event loop is closed, so no one waits
        wake()


def drive(steps: Steps[R]) -> Generator[ProgramEvent, None, R]:
    """Take the engine's steps, waiting in this thread, and yield its events. Return its result."""
    try:
        step = next(steps)
        while True:
            answer = None
            try:
                if isinstance(step, Wait):
                    answer = answer_to(step)
                else:
                    yield step
            except BaseException as error:  # noqa: BLE001 - the engine decides what it means
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        return end.value


def finish(events: Generator[object, None, R]) -> R:
    """Pass over the events of a generator, and return its result."""
    while True:
        try:
            next(events)
        except StopIteration as end:
            return end.value


async def adrive(steps: Steps[R], put: Callable[[ProgramEvent], Awaitable[object]] | None = None) -> R:
    """Same as `drive`, but await the answers, and pass the events on, if anyone reads them."""
    try:
        step = next(steps)
        while True:
            answer = None
            try:
                if isinstance(step, Wait):
                    answer = await aanswer_to(step)
                elif put is not None:
                    await put(step)
            except BaseException as error:  # noqa: BLE001 - the engine decides what it means
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        return end.value
