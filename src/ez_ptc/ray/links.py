"""How a caller reaches the actors of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["ActorLink", "ActorLostError", "Cluster"]


class ActorLostError(Exception):
    """An actor's process or node has died, or does not answer any more."""


class ActorLink(Protocol):
    """One actor, with a `ProgramHost`."""

    def ask(self, method: str, *arguments: object) -> Future[Any]:
        """Call a method of the host. The future raises ActorLostError if the actor is lost before it answers."""
        ...

    def kill(self) -> None:
        """End the actor's process, or forget it before its start."""
        ...


class Cluster(Protocol):
    """A cluster for actors."""

    def start_actor(self) -> ActorLink:
        """Ask for an actor. It starts once a node has room for it. Raises ClusterError if there is no cluster."""
        ...

    def dumps(self, value: object) -> bytes:
        """Return an object as bytes for `pickle.loads` on an actor. Raises the errors of pickling."""
        ...

    def describe_trouble(self) -> str | None:
        """Return why no actor may ever start, or None if there is no reason to fear so."""
        ...
