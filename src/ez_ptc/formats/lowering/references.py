"""Resolving the `$ref`s of a JSON Schema, and naming their targets in `$defs`."""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import SchemaError
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["PREFIX", "References", "refuse"]

PREFIX: Final = "#/$defs/"

_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_PERCENT: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_MAX_NAME_LENGTH: Final = 60
_NOTHING: Final = object()


class References:
    """The references of one document, each into `$defs`.

    Attributes:
        waiting: The names and schemas of the definitions that are not upgraded yet.
    """

    def __init__(self, tool: str, root: Mapping[str, Any]) -> None:
        self._tool = tool
        self._root = root
        self._schemas_with_id: dict[str, object] | None = None
        self._names: dict[int, str] = {}  # by the target's identity: references in two spellings share it
        self._taken: set[str] = set()
        self.waiting: deque[tuple[str, object]] = deque()

    def renamed(self, ref: object, path: str) -> str:
        """Return a reference into `$defs`. Raises `SchemaError` if it has no target."""
        if not isinstance(ref, str):
            refuse(self._tool, path, f"a $ref is text, got {safe_repr(ref)}")
        target, visited = self._resolve(ref, path), {ref}
        while (further := _only_reference(target)) is not None:
            if further in visited:
                refuse(self._tool, path, f"{safe_repr(ref)} leads back to itself: write what it stands for")
            visited.add(further)
            target = self._resolve(further, path)
        name = self._names.get(id(target))
        if name is None:
            last = _UNUSUAL.sub("_", _decode_percent(ref).rpartition("/")[2].lstrip("#"))[:_MAX_NAME_LENGTH] or "root"
            name, count = last, 1
            while name in self._taken:
                count += 1
                name = f"{last}_{count}"
            self._taken.add(name)
            self._names[id(target)] = name
            self.waiting.append((name, target))
        return PREFIX + name

    def _resolve(self, ref: str, path: str) -> object:
        document, _, fragment = ref.partition("#")
        start: object = self._root
        if document:
            start = self._identifier(document, ref, path)
        if fragment and not fragment.startswith("/"):
            return self._identifier(f"#{fragment}", ref, path)
        for segment in fragment.split("/")[1:]:
            # Some generators escape the names in a reference, others do not.
            spellings = (segment, _decode_percent(segment))
            keys = [spelling.replace("~1", "/").replace("~0", "~") for spelling in spellings]
            children = [child for key in keys if (child := _child(start, key)) is not _NOTHING]
            if not children:
                refuse(
                    self._tool, path, f"{safe_repr(ref)} leads nowhere: put what it refers to into the schema's $defs"
                )
            start = children[0]
        return start

    def _identifier(self, name: str, ref: str, path: str) -> object:
        if self._schemas_with_id is None:
            self._schemas_with_id = dict(_schemas_with_id(self._root))
        if name not in self._schemas_with_id:
            refuse(self._tool, path, f"{safe_repr(ref)} leads out of the schema: put what it refers to into its $defs")
        return self._schemas_with_id[name]


def refuse(tool: str, path: str, problem: str) -> NoReturn:
    """Raise SchemaError for a problem of a tool's schema at a path, which is empty at the root."""
    position = f" at {safe_repr(path)}" if path else ""
    message = f"{tool}: its schema{position}: {problem}"
    raise SchemaError(message)


def _only_reference(schema: object) -> str | None:
    if not isinstance(schema, Mapping):
        return None
    fields = cast("Mapping[str, object]", schema)
    ref = fields.get("$ref")
    if len(fields) == 1 and isinstance(ref, str):
        return ref
    return None


def _child(schema: object, key: str) -> object:
    if isinstance(schema, Mapping):
        return cast("Mapping[str, object]", schema).get(key, _NOTHING)
    if isinstance(schema, list) and key.isascii() and key.isdecimal():
        items = cast("list[object]", schema)
        return items[int(key)] if int(key) < len(items) else _NOTHING
    return _NOTHING


def _decode_percent(text: str) -> str:
    decoded = _PERCENT.sub(lambda match: bytes([int(match[1], 16)]), text.encode(errors="replace"))
    return decoded.decode(errors="replace")


def _schemas_with_id(root: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    waiting: list[object] = [root]
    visited: set[int] = set()
    while waiting:
        subschema = waiting.pop()
        if id(subschema) in visited:
            continue
        visited.add(id(subschema))
        if isinstance(subschema, Mapping):
            fields = cast("Mapping[str, object]", subschema)
            for keyword, prefix in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", ""), ("id", "")):
                if isinstance(name := fields.get(keyword), str):
                    yield prefix + name.removesuffix("#"), fields
            waiting.extend(fields.values())
        elif isinstance(subschema, list):
            waiting.extend(cast("list[object]", subschema))
