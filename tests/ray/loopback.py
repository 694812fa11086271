"""A cluster in this process: hosts in threads, to which everything goes as bytes, as with Ray."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ez_ptc.ray.links import ActorLostError
from ez_ptc.ray.node.host import ProgramHost
from ez_ptc.ray.toolkit import RayToolkit

if TYPE_CHECKING:
    from ez_ptc.ray.links import Cluster
    from ez_ptc.ray.programs import LocalTool

__all__ = ["Loopback", "LoopbackActor", "LoopbackToolkit"]


class LoopbackActor:
    """An actor: each question is answered in a thread of its own."""

    def __init__(self, reference: str, local: list[LocalTool]) -> None:
        self.host = ProgramHost(reference, pickle.loads(pickle.dumps(local)))
        self.asked: list[str] = []
        self._unanswered: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._keys: list[str] = []
        self._session_keys: list[str] = []
        self.is_dead = False

    def ask(self, method: str, *arguments: object) -> Future[Any]:
        answer: Future[Any] = Future()
        if method == "begin":
            self._keys.append(str(arguments[0]))
        elif method == "open_session":
            self._session_keys.append(str(arguments[0]))
        with self._lock:
            self.asked.append(method)
            self._unanswered.add(answer)
            is_dead = self.is_dead
        if is_dead:
            self.kill()
        else:
            sent = pickle.dumps(arguments)
            threading.Thread(target=self._answer, args=(answer, method, sent), daemon=True).start()
        return answer

    def _answer(self, answer: Future[Any], method: str, sent: bytes) -> None:
        value: object = self.change(method, getattr(self.host, method)(*pickle.loads(sent)))
        with self._lock, suppress(InvalidStateError):
            self._unanswered.discard(answer)
            if self.is_dead:
                return
        with suppress(InvalidStateError):
            answer.set_result(pickle.loads(pickle.dumps(value)))

    def change(self, method: str, value: Any) -> object:
        """Return what is sent instead of an answer."""
        del method
        return value

    def kill(self) -> None:
        """Die: no question is answered any more, and the programs and sessions end with their host."""
        with self._lock:
            self.is_dead = True
            unanswered, self._unanswered = self._unanswered, set()
        for key in self._keys:
            threading.Thread(target=self.host.end, args=(key,), daemon=True).start()
        for answer in unanswered:
            with suppress(InvalidStateError):
                answer.set_exception(ActorLostError("the actor died"))
        for key in self._session_keys:
            self.host.close_session(key)


class Loopback:
    """A cluster with room for as many actors as are asked for."""

    actor_class = LoopbackActor

    def __init__(self, reference: str, local: list[LocalTool]) -> None:
        self._arguments = reference, local
        self.actors: list[LoopbackActor] = []
        self.trouble: str | None = None

    def start_actor(self) -> LoopbackActor:
        actor = self.actor_class(*self._arguments)
        self.actors.append(actor)
        return actor

    def dumps(self, value: object) -> bytes:
        return pickle.dumps(value)

    def describe_trouble(self) -> str | None:
        return self.trouble


class LoopbackToolkit(RayToolkit):
    """A RayToolkit on a cluster in this process."""

    cluster_class = Loopback

    def _connect(self, local: list[LocalTool]) -> Cluster:
        cluster = self.cluster_class(self.reference, local)
        vars(self)["cluster"] = cluster
        return cluster

    @property
    def actors(self) -> list[LoopbackActor]:
        """The actors, in the order in which they were started."""
        return vars(self)["cluster"].actors
