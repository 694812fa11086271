"""The names of tools and parameters as a provider accepts them, and back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from ez_ptc.errors import DuplicateToolError, SchemaError
from ez_ptc.formats.describable import Describable
from ez_ptc.formats.lowering.slow import make_once
from ez_ptc.formats.naming.keys import KeyRules, Keys, keys_of
from ez_ptc.formats.naming.resolution import Spellings
from ez_ptc.formats.naming.spelling import NameRules, fit_name
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.standard.roots import with_object_root

__all__ = ["Names", "names_of"]

_NAMELESS: Final = "unknown_tool"


@dataclass(frozen=True, slots=True)
class Names:
    """The names of tools and their parameters at a provider, if they differ.

    Attributes:
        sent: The provider's name of each tool, by its own.
        received: The tools' own names, by the provider's.
        keys: The keys of each tool with a different one.
        rules: The provider's rules for names, or None if unknown.
    """

    sent: Mapping[str, str] = field(default_factory=dict[str, str])
    received: Mapping[str, str] = field(default_factory=dict[str, str])
    keys: Mapping[str, Keys] = field(default_factory=dict[str, Keys])
    rules: NameRules | None = None
    spellings: Spellings = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {**{name: name for name in self.sent}, **self.received}
        object.__setattr__(self, "spellings", Spellings(names, self.rules))

    def to_provider(self, name: str) -> str:
        """Return the provider's name of a tool that exists, or of a call's tool, which may not exist (any more)."""
        own_name = self.to_tool(name)
        if own_name in self.sent or self.rules is None:
            return self.sent.get(own_name, own_name)
        return fit_name(own_name, self.rules) or _NAMELESS

    def to_tool(self, name: str) -> str:
        """Return the own name of a tool in a model's spelling; an unknown name stays unchanged."""
        known = self.spellings.find(name)
        if known is None:
            return name
        return known

    def to_parameters(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments with the parameters' own names, given the provider's."""
        if tool in self.keys:
            return self.keys[tool].to_own(arguments)
        return dict(arguments)

    def to_sent(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments with the provider's names, given the parameters' own."""
        if tool in self.keys:
            return self.keys[tool].to_sent(arguments)
        return dict(arguments)


def names_of(tools: Iterable[Describable], rules: NameRules, *, keys: KeyRules | None = None) -> Names:
    """Return the provider's names of tools, and of their parameters if it restricts those (`keys`).

    Raises:
        DuplicateToolError: Two tools get the same name.
        SchemaError: A name becomes empty, or a tool's parameters are not the schema of an object.
    """
    sent: dict[str, str] = {}
    received: dict[str, str] = {}
    known: dict[str, Keys] = {}
    for tool in tools:
        near = fit_name(tool.name, rules)
        if not near:
            message = (
                f"{safe_repr(tool.name)}: the provider takes no such name for a tool: give it one with letters of the "
                "English alphabet, @ez_tool(name=...)"
            )
            raise SchemaError(message)
        if near in received:
            first, second = safe_repr(received[near]), safe_repr(tool.name)
            message = (
                f"the tools {first} and {second} are both called {safe_repr(near)} at this provider, which takes few "
                "characters: give one another name, @ez_tool(name=...)"
            )
            if first == second:
                message = f"two tools are called {first}: give one another name, @ez_tool(name=...)"
            raise DuplicateToolError(message)
        received[near] = tool.name
        sent[tool.name] = near
        if keys is not None:
            root = partial(with_object_root, tool.name, tool.parameters)
            tool_keys = make_once(tool, keys, lambda root=root: keys_of(root(), keys))
            if tool_keys.sent:
                known[tool.name] = tool_keys
    return Names(sent, received, known, rules)
