"""A caller's request to an actor, and the facts they compare."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from ez_ptc import _distribution
from ez_ptc.errors import ClusterError
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.tools.tool import Tool

__all__ = ["LocalTool", "NodeFacts", "ProgramRequest", "ProgramToken", "own_facts", "require_equal"]


class LocalTool(NamedTuple):
    """An actor's description of a tool of its caller."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    options: Mapping[str, Any]
    is_async: bool

    @classmethod
    def of(cls, tool: Tool[..., Any]) -> Self:
        """Return the description of a tool. Its predicate stays here, so every call needs approval there."""
        options = {
            "return_schema": tool.return_schema,
            "category": tool.category,
            "requires_approval": bool(tool.requires_approval),
            "idempotent": tool.idempotent,
            "read_only": tool.read_only,
            "timeout": tool.timeout,
        }
        return cls(tool.name, tool.description, tool.parameters, options, tool.is_async)


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """A program to be run.

    Attributes:
        call: Whether a program is executed or a run resumed.
        arguments: The plain arguments of `Toolkit.aexecute` or `aresume`.
        objects: The user's own objects among them, pickled, by name.
        callbacks: The names of the caller's functions: "approve", "on_tool_call" or "repair".
        session: The key of its session on the actor, or None.
        streams: Whether the caller reads events.
        after: The token of the failed program to continue.
        after_run: The same by the journal: the id of its run, and its error.
        is_first: Whether it continues no program of its session.
        is_repeated: Whether an earlier actor got it, and was lost.
    """

    call: Literal["execute", "resume"]
    arguments: Mapping[str, Any]
    objects: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    callbacks: frozenset[str] = frozenset()
    session: str | None = None
    streams: bool = False
    after: str | None = None
    after_run: tuple[str, str] | None = None
    is_first: bool = False
    is_repeated: bool = False

    def fields(self) -> tuple[object, ...]:
        """Return the values in order: they take a third of the time of this object to be pickled and read again."""
        return tuple(getattr(self, name) for name in self.__slots__)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProgramToken:
    """The progress of a failed program in an actor's memory, for `execute(after=...)`; for no other use."""

    actor: object
    token: str

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Leave it out of pickles: another process has no use for it."""
        return type(None), ()

    def __deepcopy__(self, memo: object) -> Self:
        return self


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """The facts of a place of programs, equal in all places.

    `node` is the place, and not compared.
    """

    version: str
    interpreter: str
    allow_imports: tuple[str, ...] | None
    tools: tuple[str, ...] | None
    node: str = field(compare=False)
    has_journal: bool = field(default=False, compare=False)


def own_facts(
    allow_imports: tuple[str, ...] | None = None, tools: tuple[str, ...] | None = None, node: str = "this process"
) -> NodeFacts:
    """Return the facts of this process; None stands for unknown ones."""
    interpreter = f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}"
    return NodeFacts(_distribution.VERSION, interpreter, allow_imports, tools, node)


def require_equal(facts: NodeFacts, expected: NodeFacts) -> None:
    """Raise ClusterError, with both sides of the first difference, unless the facts of two places are equal."""
    pairs = (
        ("version", f"ez-ptc {facts.version}", f"ez-ptc {expected.version}", "install the same version on both"),
        ("interpreter", facts.interpreter, expected.interpreter, "use the same version of Python for both"),
        (
            "allow_imports",
            _listed(facts.allow_imports),
            _listed(expected.allow_imports),
            "make the toolkit with the same allow_imports",
        ),
        ("tools", _listed(facts.tools), _listed(expected.tools), "deploy the same module to all nodes"),
    )
    for name, there, here, advice in pairs:
        if there != here and getattr(expected, name) is not None:
            message = (
                f"the {name} of {safe_repr(facts.node)} and of {safe_repr(expected.node)} differ: {there} and {here}; "
                f"{advice}; nothing was run"
            )
            raise ClusterError(message)


def _listed(names: tuple[str, ...] | None) -> str:
    return ", ".join(names or ()) or "none"
