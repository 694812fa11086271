"""The shape of a number of results of one tool, and the tools whose results say more than their signature."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ez_ptc.schema.stubs import type_text
from ez_ptc.toolkit.shapes.result_shape import MAX_DEPTH, NOTHING, SCALARS, ResultShape
from ez_ptc.toolkit.shapes.witnesses import MIN_RESULTS

if TYPE_CHECKING:
    from ez_ptc.tools.tool import Tool

__all__ = ["MAX_COUNT", "LearnedShape", "ObservedShape", "ShapeKey"]

MAX_COUNT: Final = 1 << 50
"""The maximum number of results of one shape."""
_DIGITS: Final = 32
_IN_MEMORY: Final = "memory:"
_MAX_TEXT: Final = 1_000
_WORD: Final = re.compile(r"\w+(?:\[)?")
# Types that a signature says all of, where they have no other parts.
_WHOLE: Final = frozenset(
    {*SCALARS.values(), "Path"}
    | {f"{name}[" for name in ("list", "dict", "tuple", "set", "frozenset", "Sequence", "Mapping", "Iterable")}
)


class ShapeKey(NamedTuple):
    """A tool by its name and the digest of its schema and function: a tool that has changed is another one.

    Tools of servers have functions of this library, by which two servers cannot be told apart: `is_kept` is False, and
    their shapes stay in the memory of one toolkit.
    """

    tool: str
    digest: str

    @property
    def is_kept(self) -> bool:
        """Whether the shape may be in a file."""
        return not self.digest.startswith(_IN_MEMORY)

    @classmethod
    def of(cls, tool: Tool[..., Any]) -> ShapeKey | None:
        """Return the key of a tool; None if it declares what it returns, or has secret parameters."""
        returned = tool.signature.rpartition(" -> ")[2] if " -> " in tool.signature else ""
        is_whole = bool(returned) and _WHOLE.issuperset(_WORD.findall(returned))
        if tool.return_schema is not None or is_whole or tool.definition.secrets.has_any:
            return None
        function = tool.function
        source = [str(getattr(function, name, "")) for name in ("__module__", "__qualname__")]
        described = json.dumps([source, tool.signature, tool.parameters], sort_keys=True, default=str)
        digest = hashlib.sha256(described.encode(errors="replace")).hexdigest()[:_DIGITS]
        return cls(tool.name, f"{_IN_MEMORY}{digest}" if source[0].startswith("ez_ptc.") else digest)


@dataclass(frozen=True, slots=True)
class ObservedShape:
    """The merged shape of a number of results."""

    count: int = 0
    shape: ResultShape = NOTHING

    def merged(self, other: ObservedShape) -> ObservedShape:
        """Return the shape of the results of both."""
        shape = self.shape
        if other.shape:
            shape = shape.merged(other.shape)
        return ObservedShape(min(self.count + other.count, MAX_COUNT), shape)

    @property
    def type_text(self) -> str:
        """The shape as the type of a return value, of a bounded length, with the names that may be shown."""
        shape = self.shape.shown()
        texts = (type_text(shape.to_schema(depth)) for depth in range(MAX_DEPTH, -1, -1))
        return next((text for text in texts if len(text) <= _MAX_TEXT), "Any")

    @property
    def description(self) -> str:
        """The shape with the number of results, such as "(observed 14 times): {id: int}"."""
        times = "1 time" if self.count == 1 else f"{self.count:,} times"
        return f"(observed {times}): {self.type_text}"


@dataclass(frozen=True, slots=True)
class LearnedShape:
    """What a process knows of the results of a tool.

    A file has only the names of fields that may be shown, so the keys of a process's results stay with it.

    Attributes:
        filed: The results of all processes, as last read from the file.
        own: The results of this process.
        unsaved: The number of own results that the file lacks.
        known: All of them.
    """

    filed: ObservedShape = ObservedShape()
    own: ObservedShape = ObservedShape()
    unsaved: int = 0
    known: ObservedShape = ObservedShape()

    def after(self, result: ResultShape) -> LearnedShape:
        """Return it with another result. Its shape is empty if it is known."""
        own_shape = self.own.merged(ObservedShape(1, result))
        known = self.known.merged(ObservedShape(1))
        if result or own_shape.count == MIN_RESULTS:
            known = replace(known, shape=_known_shape(self.filed, own_shape))
        return replace(self, own=own_shape, unsaved=self.unsaved + 1, known=known)

    def with_file(self, filed: ObservedShape) -> LearnedShape:
        """Return it with another state of the file. If the file has forgotten the tool, so has this process."""
        own_shape = ObservedShape() if filed.count < self.filed.count else self.own
        known = filed.merged(ObservedShape(self.unsaved))
        return LearnedShape(filed, own_shape, self.unsaved, replace(known, shape=_known_shape(filed, own_shape)))


def _known_shape(filed: ObservedShape, own: ObservedShape) -> ResultShape:
    """Return the shape of the results of all processes, with the fields that this one knows.

    Enough results of one process have shown all fields, also where the file lacks some names of earlier ones.
    """
    shape = filed.shape.merged(own.shape)
    return shape if own.count < MIN_RESULTS else shape.close()
