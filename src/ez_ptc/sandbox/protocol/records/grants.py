"""The tools that programs may call, and how much of them a worker gets."""

from __future__ import annotations

import builtins
import keyword
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ez_ptc._lazy import LazyTable, lazy
from ez_ptc.sandbox.protocol.both_ends.predefined import PROVIDED, RESULT_READERS
from ez_ptc.sandbox.protocol.values import codec as values
from ez_ptc.tools.definitions.names import NearNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ez_ptc.sandbox.protocol.frames import CallFrame

__all__ = ["MAX_SENT", "Grant", "Grants"]

L = TypeVar("L")

# Each tool takes 20 us of a worker's time, whether its program calls it or not.
MAX_SENT = 256
"""The maximum tools that a worker gets whatever its program; of more, it gets those that the program names."""
_MAX_NEAR = 3
# The maximum unknown names of a program that are compared with those of many tools.
_MAX_UNKNOWN = 8
_WORD = re.compile(r"\w+")
_CALL = re.compile(r"(?<![\w.])([^\W\d]\w*)[ \t]*\(")
# Names that a program may bind, by their place in its text.
_BINDING = re.compile(r"\b(?:def|class|import|as|lambda|for)\s+(\w+)|(\w+)\s*=(?!=)")
_BUILT_IN = frozenset({*dir(builtins), *keyword.kwlist, *PROVIDED, *RESULT_READERS, "exit", "help", "quit"})


@dataclass(frozen=True, slots=True)
class Grant:
    """A tool that programs may call, as the sandbox knows it.

    `return_type` is the return type as a model reads it, if it says more than the signature; programs are checked
    against it before they run. `takes_any_name` says that the signature does not show all names of arguments. Programs
    suggested by the sandbox call only tools declared `read_only`. `mask` returns a call's arguments as they are shown.
    """

    name: str
    signature: str = ""
    docstring: str = ""
    is_async: bool = False
    return_type: str = ""
    read_only: bool = False
    takes_any_name: bool = False
    mask: Callable[[tuple[object, ...], dict[str, object]], tuple[tuple[object, ...], dict[str, object]]] | None = None


class Grants:
    """The tools one program may call, and their encoding for a worker.

    A worker gets all tools of a moderate number; of more, those that its program names, and of similar names.
    """

    def __init__(
        self, grants: Iterable[Grant] = (), *, table: Mapping[str, Grant] | None = None, is_async: bool = False
    ) -> None:
        """Grant these tools, or those of a table; `is_async` says whether the table has asynchronous ones."""
        if table is None:
            table = {grant.name: grant for grant in grants}
            is_async = any(grant.is_async for grant in table.values())
        self.by_name: Mapping[str, Grant] = table
        self.has_async_tools = is_async
        self._run_head: tuple[object, bytes] | None = None

    @property
    def is_large(self) -> bool:
        """Whether there are more tools than a worker gets at once."""
        return len(self.by_name) > MAX_SENT

    @lazy
    def encoded(self) -> bytes:
        """The tools' part of a run frame, the same for every program that may call them."""
        return values.dumps([] if self.is_large else self.rows(self.by_name))

    def rows(self, names: Iterable[str]) -> list[tuple[str, str, str, bool, str, bool]]:
        """Return the tools with these names as a worker reads them."""
        return [
            (name, grant.signature, grant.docstring, grant.is_async, self.types[name], grant.read_only)
            for name, grant in ((name, self.by_name[name]) for name in names)
        ]

    def mask_secrets(self, call: CallFrame) -> CallFrame:
        """Return a call as it is shown: with masks in place of secret arguments."""
        grant = self.by_name.get(call.name)
        if grant is None or grant.mask is None:
            return call
        args, kwargs = grant.mask(call.args, call.kwargs)
        return call if kwargs is call.kwargs else call._replace(args=args, kwargs=kwargs)

    def names_in(self, code: str) -> list[str]:
        """Return the tools that a program names, and those with names like what it calls and nothing defines."""
        words = dict.fromkeys(_WORD.findall(code))
        named = {word: None for word in words if word in self.by_name}
        called = dict.fromkeys(match[1] for match in _CALL.finditer(code))
        defined = {*map("".join, _BINDING.findall(code)), *named, *_BUILT_IN}
        for word in [word for word in called if word not in defined][:_MAX_UNKNOWN]:
            near = self._near_names
            named |= dict.fromkeys([*near.find(word, _MAX_NEAR), *near.related(word, _MAX_NEAR)])
        return list(named)

    @lazy
    def _near_names(self) -> NearNames:
        return NearNames(self.by_name)

    @lazy
    def types(self) -> Mapping[str, str]:
        """What each tool takes and returns, by its name, as `tool_types.py` writes it."""
        return LazyTable(self.by_name, self._describe_types)

    def _describe_types(self, name: str) -> str:
        from ez_ptc.sandbox.protocol.tool_types import describe_types

        grant = self.by_name[name]
        return describe_types(name, grant.signature, grant.return_type, takes_any_name=grant.takes_any_name)

    def cached_run_head(self, limits: L, encode: Callable[[L, bytes], bytes]) -> bytes:
        """Return `encode(limits, encoded)`, computed again only when the limits change."""
        cached = self._run_head
        if cached is None or cached[0] is not limits:
            self._run_head = cached = (limits, encode(limits, self.encoded))
        return cached[1]
