"""Toolkits on the nodes of a Ray cluster: programs run there, with their tools, in the sandbox of the node.

Theory of operation. An actor of Ray's has one `ProgramHost`, which imports the toolkit. A caller leases an actor from
its pool for each program, or for a session, and talks to it in questions and answers: `begin` starts a program and
returns its first messages, `proceed` returns the next ones, `end` ends it. Each question is one call of an actor's
method. So nothing travels that no one has asked for: a program whose caller reads no events waits, and a caller that is
gone asks no more. The messages are bounded JSON; what the caller sends is pickled, as everything that Ray sends.

A program without events and callbacks runs in the thread of `begin`, whose answer is its result: one message there, and
one back. Its caller asks `ping` meanwhile, for the life of the actor.

A tool that stays with the caller is a message, too: the program waits for `answer`. A lost actor is told by Ray's own
exceptions, or by its silence. Then the program is lost, which is no failure of the program; with a journal it is begun
again under the same run id, which repeats no recorded call. Only `cluster.py` knows Ray.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ez_ptc.ray.toolkit import RayToolkit

__all__ = ["RayToolkit"]


def __getattr__(name: str) -> object:
    """Import the toolkit on first use: the nodes need the rest alone."""
    if name == "RayToolkit":
        from ez_ptc.ray.toolkit import RayToolkit

        return RayToolkit
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
