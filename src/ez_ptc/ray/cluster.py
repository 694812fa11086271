"""Ray itself: the connection of this process, and actors on its nodes. No other module knows Ray."""

from __future__ import annotations

import contextlib
import socket
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._extras import import_extra
from ez_ptc.errors import ClusterError
from ez_ptc.ray.links import ActorLostError
from ez_ptc.ray.node.host import ProgramHost
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ez_ptc.ray.programs import LocalTool

__all__ = ["RayCluster", "connect"]

_CONNECT_SECONDS: Final = 2.0
# A caller waits in one thread of the actor for each program; the others answer, end and describe.
_FURTHER_THREADS: Final = 8
_MAX_REASON: Final = 500


@dataclass(frozen=True, slots=True)
class _RayActor:
    """An actor of Ray's."""

    ray: Any
    handle: Any

    def ask(self, method: str, *arguments: object) -> Future[Any]:
        """Call a method of the host."""
        outcome: Future[Any] = Future()
        try:
            answer = getattr(self.handle, method).remote(*arguments).future()
        except Exception as error:  # noqa: BLE001 - Ray raises exceptions of many classes where its connection is lost
            outcome.set_exception(_lost(error))
            return outcome

        def pass_on(ended: Future[Any]) -> None:
            error = ended.exception()
            if error is None:
                outcome.set_result(ended.result())
            else:
                outcome.set_exception(_lost(error))

        answer.add_done_callback(pass_on)
        return outcome

    def kill(self) -> None:
        """End the actor's process, in another thread: on one of Ray's own, it would wait for itself."""
        threading.Thread(target=self._kill, name="ez-ptc-kill", daemon=True).start()

    def _kill(self) -> None:
        with contextlib.suppress(Exception):  # it may be dead already, and the connection closed
            self.ray.kill(self.handle, no_restart=True)


def _lost(error: BaseException) -> ActorLostError:
    lines = str(error).strip().splitlines() or [""]
    return ActorLostError(f"{type(error).__name__}: {' '.join(lines[-3:])[:_MAX_REASON]}")


@dataclass(frozen=True, slots=True)
class RayCluster:
    """The cluster of this process, and the options of actors there."""

    ray: Any
    address: str
    make_actor: Any
    arguments: tuple[str, Sequence[LocalTool]]

    def start_actor(self) -> _RayActor:
        """Ask for an actor, unless the head is gone: Ray would wait for it, and end this process after a minute."""
        trouble = self.describe_trouble()
        if trouble is not None:
            message = f"{trouble}; nothing was run"
            raise ClusterError(message)
        try:
            return _RayActor(self.ray, self.make_actor.remote(*self.arguments))
        except Exception as error:
            message = f"no actor can be started: {type(error).__name__}: {error}; nothing was run"
            raise ClusterError(message) from error

    def dumps(self, value: object) -> bytes:
        """Pickle an object; classes of the main module by their code."""
        data: bytes = self.ray.cloudpickle.dumps(value)
        return data

    def describe_trouble(self) -> str | None:
        """Return why no actor may ever start, or None."""
        if not self.ray.is_initialized():
            return "this process is not connected to Ray any more: ray.shutdown() was called"
        host, _, port = self.address.rpartition(":")
        if not port.isdigit():
            return None
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
        except OSError as error:
            return (
                f"the head of the Ray cluster at {self.address} is gone ({error.strerror or error}): start it again, "
                f"call ray.shutdown(), and make a new RayToolkit"
            )
        return None


def connect(
    arguments: tuple[str, Sequence[LocalTool]], *, address: str | None, programs: int, options: Mapping[str, Any]
) -> RayCluster:
    """Connect this process to a cluster, unless it is connected, and return it.

    Raises:
        MissingExtraError: Ray is not installed.
        ClusterError: There is no cluster at the address, or this process is connected to another one.
        ValueError: Ray does not know one of the options, or refuses its value.
    """
    ray: Any = import_extra("ray", extra="ray")
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, include_dashboard=None if address else False)
        except Exception as error:
            where = "start one" if address is None else f"connect to the one at {safe_repr(address)}"
            message = (
                f"no Ray cluster: cannot {where} ({type(error).__name__}: {str(error)[:_MAX_REASON]}); start its head "
                f"with `ray start --head`, or check address=; nothing was run"
            )
            raise ClusterError(message) from error
    present = str(ray.get_runtime_context().gcs_address)
    if address not in {None, "auto", "local", present} and "://" not in str(address):
        message = (
            f"this process is connected to the Ray cluster at {present}, not to {safe_repr(address)}: Ray has one "
            f"connection a process; call ray.shutdown() first; nothing was run"
        )
        raise ClusterError(message)
    # Restarts: none of the same actor, whose programs are lost in any case; a new one takes its place.
    further = {"max_restarts": 0, "max_task_retries": 0, "max_concurrency": 2 * programs + _FURTHER_THREADS}
    try:
        make_actor = ray.remote(**{**options, **further})(ProgramHost)
    except (TypeError, ValueError) as error:
        message = f"RayToolkit: Ray refuses an option of its actors: {str(error)[:_MAX_REASON]}; nothing was run"
        raise ValueError(message) from error
    return RayCluster(ray, present, make_actor, arguments)
