"""Resolving the references of a JSON Schema of any draft, and naming their targets in `$defs`.

A reference is relative to the nearest schema around it with an address of its own (`$id`, or `id` in draft 4), in which
its JSON pointer or anchor is looked up. A `$dynamicRef` leads to the outermost schema with its anchor, among those that
were entered on the way to it. As each way is known in advance, a definition that was reached by several ways becomes
several definitions, one for each set of outermost schemas; after that, every reference is a plain one.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import SchemaError
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.standard.dialects import ANY_DRAFT, Dialect, dialect_named
from ez_ptc.schema.standard.keywords import LISTED, NAMED, SINGLE

__all__ = ["PREFIX", "REFERENCES", "DynamicReferenceError", "References", "SchemaLocation", "join_address", "refuse"]

# RFC 3986, appendix B, without the fragment.
_PARTS: Final = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(\?[^#]*)?", re.DOTALL)


def join_address(base: str, reference: str) -> str:
    """Return the address that a reference without a fragment means below a base, which may be relative as well."""
    scheme, authority, path, query = _split(reference)
    base_scheme, base_authority, base_path, base_query = _split(base)
    if scheme is None:
        scheme = base_scheme
        if authority is None:
            authority = base_authority
            if path:
                path = (
                    path if path.startswith("/") else _merge_paths(base_path, path, has_authority=authority is not None)
                )
            else:
                path, query = base_path, query or base_query
    start = f"{scheme}:" if scheme is not None else ""
    if authority is not None:
        start += f"//{authority}"
    return f"{start}{_without_dots(path)}{query or ''}"


def _split(address: str) -> tuple[str | None, str | None, str, str | None]:
    match = _PARTS.match(address)
    if match is None:  # the pattern matches any text
        return None, None, address, None
    return match[1], match[2], match[3], match[4]


def _merge_paths(base: str, path: str, *, has_authority: bool) -> str:
    if has_authority and not base:
        return f"/{path}"
    return base.rpartition("/")[0] + "/" + path if "/" in base else path


def _without_dots(path: str) -> str:
    if "/." not in path and not path.startswith("."):
        return path
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == ".." and segments[-1:] not in ([], [""], [".."]):
            segments.pop()
        elif segment not in (".", ".."):
            segments.append(segment)
    if path.rpartition("/")[2] in (".", ".."):
        segments.append("")
    return "/".join(segments)


PREFIX: Final = "#/$defs/"
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")

_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_PERCENT: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_PART_OF_META_SCHEMA: Final = re.compile(r"/meta/[\w-]+$")
_MAX_NAME_LENGTH: Final = 60
_NOTHING: Final = object()
_BY_NAME: Final = NAMED | {"definitions", "dependencies"}
_IN_LISTS: Final = LISTED | {"items"}
_ALONE: Final = SINGLE | {"additionalItems"}
# The name of the anchor that `$recursiveAnchor` makes.
_RECURSIVE: Final = ""


class DynamicReferenceError(Exception):
    """A document has dynamic references, and was read without their anchors, which takes less time."""


@dataclass(frozen=True, slots=True)
class SchemaLocation:
    """Where a schema stands: the address around it, its dialect, and the outermost address with each dynamic anchor."""

    base: str
    dialect: Dialect
    scope: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Target:
    """A schema, and the place within it."""

    schema: object
    place: SchemaLocation


class References:
    """The references of one document.

    Attributes:
        start: Where the document's root stands.
        waiting: The names, schemas and places of the definitions that are not read yet.
    """

    def __init__(self, tool: str, root: object, *, is_dynamic: bool) -> None:
        self._tool = tool
        self._root = root
        self._schemas: dict[str, _Target] | None = None  # by address
        self._anchors: dict[tuple[str, str], _Target] = {}
        self._dynamic: dict[str, set[str]] = {}  # the dynamic anchors at each address
        self._names: dict[tuple[int, SchemaLocation], str] = {}  # by the target: references in two spellings share it
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}  # of the names made from each text
        self._is_dynamic = is_dynamic
        self.waiting: deque[tuple[str, object, SchemaLocation]] = deque()
        self.start = self.enter(root, SchemaLocation("", ANY_DRAFT), "")

    def enter(self, schema: object, place: SchemaLocation, path: str) -> SchemaLocation:
        """Return the place within a schema. Raises `SchemaError` for an unknown `$schema`."""
        fields = _fields(schema)
        if "$schema" in fields:
            dialect = dialect_named(fields["$schema"])
            if isinstance(dialect, str):
                refuse(self._tool, path, dialect)
            place = replace(place, dialect=dialect)
        base = _own_address(fields, place)
        is_root = schema is self._root
        if base == place.base and not is_root:
            return place
        return self._in_scope(replace(place, base=base))

    def renamed(self, keyword: str, ref: object, place: SchemaLocation, path: str) -> str:
        """Return a reference into `$defs`. Raises `SchemaError` if it has no target."""
        target, text = self._resolve(keyword, ref, place, path), str(ref)
        visited = {(id(target.schema), target.place)}
        while (further := _only_reference(target)) is not None:
            target, text = self._resolve(*further, target.place, path), further[1]
            if (id(target.schema), target.place) in visited:
                refuse(self._tool, path, f"{safe_repr(ref)} leads back to itself: write what it stands for")
            visited.add((id(target.schema), target.place))
        key = (id(target.schema), target.place)
        name = self._names.get(key)
        if name is None:
            last = _UNUSUAL.sub("_", _decode_percent(text).rpartition("/")[2].lstrip("#"))[:_MAX_NAME_LENGTH] or "root"
            name, count = last, self._counts.get(last, 1)
            while name in self._taken:
                count += 1
                name = f"{last}_{count}"
            self._counts[last] = count
            self._taken.add(name)
            self._names[key] = name
            self.waiting.append((name, target.schema, target.place))
        return PREFIX + name

    def _resolve(self, keyword: str, ref: object, place: SchemaLocation, path: str) -> _Target:
        """Return the target of a reference, in the place around it."""
        if not isinstance(ref, str):
            refuse(self._tool, path, f"a {keyword} is text, got {safe_repr(ref)}")
        document, _, fragment = ref.partition("#")
        target = self._document(document, ref, place, path)
        is_pointer = not fragment or fragment.startswith("/")
        if is_pointer:
            target = self._at_pointer(target, fragment, ref, path)
        else:
            base = target.place.base
            self._index()
            anchored = self._anchors.get((base, fragment)) or self._anchors.get((base, _decode_percent(fragment)))
            if anchored is None:
                self._refuse_foreign(ref, path)
            target = anchored
        anchor = None
        fields = _fields(target.schema)
        if keyword == "$dynamicRef" and not is_pointer and fields.get("$dynamicAnchor") == fragment:
            anchor = fragment
        elif keyword == "$recursiveRef" and fields.get("$recursiveAnchor") is True:
            anchor = _RECURSIVE
        if anchor is not None and not self._is_dynamic:
            raise DynamicReferenceError
        if anchor is not None and (outermost := dict(place.scope).get(anchor)) is not None:
            target = self._anchors[outermost, anchor]
        return replace(target, place=self._in_scope(replace(target.place, scope=place.scope)))

    def _document(self, document: str, ref: str, place: SchemaLocation, path: str) -> _Target:
        """Return the schema at an address."""
        if not document and place.base == self.start.base:
            return _Target(self._root, self.start)
        address = join_address(place.base, document) if document else place.base
        schemas = self._index()
        for spelling in (address, _decode_percent(address), document):
            if spelling in schemas:
                return schemas[spelling]
        if not self._add_meta_schema(address):
            self._refuse_foreign(ref, path)
        return schemas[address]

    def _at_pointer(self, target: _Target, fragment: str, ref: str, path: str) -> _Target:
        schema, place = target.schema, target.place
        for segment in fragment.split("/")[1:]:
            # Some generators escape the names in a reference, others do not.
            spellings = (segment, _decode_percent(segment))
            keys = [spelling.replace("~1", "/").replace("~0", "~") for spelling in spellings]
            children = [child for key in keys if (child := _child(schema, key)) is not _NOTHING]
            if not children:
                refuse(
                    self._tool, path, f"{safe_repr(ref)} leads nowhere: put what it refers to into the schema's $defs"
                )
            schema = children[0]
            place = _inside(schema, place)
        return _Target(schema, place)

    def _refuse_foreign(self, ref: str, path: str) -> NoReturn:
        problem = (
            f"{safe_repr(ref)} leads out of the schema, and nothing is fetched: put what it refers to into its $defs"
        )
        refuse(self._tool, path, problem)

    def _in_scope(self, place: SchemaLocation) -> SchemaLocation:
        """Return a place with the dynamic anchors of its address, unless outer ones have them."""
        if not self._is_dynamic:
            return place
        self._index()
        known = dict(place.scope)
        added = {name: place.base for name in sorted(self._dynamic.get(place.base, ())) if name not in known}
        # In one order, since the way to a place does not matter.
        return replace(place, scope=tuple(sorted({**known, **added}.items()))) if added else place

    def _index(self) -> dict[str, _Target]:
        if self._schemas is None:
            self._schemas = {}
            place = SchemaLocation("", ANY_DRAFT)
            self._schemas[""] = _Target(self._root, _inside(self._root, place))
            self._add(self._root, place)
        return self._schemas

    def _add(self, root: object, place: SchemaLocation) -> None:
        """Add the addresses and anchors of a document."""
        schemas = self._index()
        for fields, inner in _schemas_within(root, place):
            target = _Target(fields, inner)
            identifier = fields.get(inner.dialect.identifier)
            if isinstance(identifier, str) and not _is_hidden(fields, inner.dialect):
                schemas.setdefault(inner.base, target)
                if not identifier.startswith("#"):
                    schemas.setdefault(identifier.rstrip("#"), target)
                elif inner.dialect.has_lone_references or inner.dialect.is_any:
                    self._anchors.setdefault((inner.base, identifier[1:]), target)
            if inner.dialect.is_any and isinstance(name := fields.get("id"), str):
                schemas.setdefault(name.rstrip("#"), target)
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(name := fields.get(keyword), str) and inner.dialect.has(keyword):
                    self._anchors.setdefault((inner.base, name), target)
                    if keyword == "$dynamicAnchor":
                        self._anchors[inner.base, name] = target
                        self._dynamic.setdefault(inner.base, set()).add(name)
            if fields.get("$recursiveAnchor") is True and inner.dialect.has("$recursiveAnchor"):
                self._anchors.setdefault((inner.base, _RECURSIVE), target)
                self._dynamic.setdefault(inner.base, set()).add(_RECURSIVE)

    def _add_meta_schema(self, address: str) -> bool:
        """Add the meta-schema of a draft, if the address is one; return whether it is."""
        if not address.rsplit("//", maxsplit=1)[-1].startswith("json-schema.org/draft"):
            return False
        import jsonschema_rs

        dialect = dialect_named(_PART_OF_META_SCHEMA.sub("/schema", address))
        if isinstance(dialect, str) or dialect.is_any:
            return False
        bundle = cast("Mapping[str, Any]", jsonschema_rs.bundle({"$schema": dialect.uri, "$ref": dialect.uri}))
        documents: Mapping[str, object] = bundle.get("$defs") or bundle.get("definitions") or {}
        schemas = self._index()
        for uri, document in documents.items():
            place = SchemaLocation(uri, dialect)
            schemas.setdefault(uri, _Target(document, place))
            self._add(document, place)
        if "/meta/" not in address:
            schemas.setdefault(address, schemas[dialect.uri.rstrip("#")])
        return address in schemas


def refuse(tool: str, path: str, problem: str) -> NoReturn:
    """Raise SchemaError for a problem of a tool's schema at a path, which is empty at the root."""
    position = f" at {safe_repr(path)}" if path else ""
    message = f"{tool}: its schema{position}: {problem}"
    raise SchemaError(message)


def _fields(schema: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", schema) if isinstance(schema, Mapping) else {}


def _only_reference(target: _Target) -> tuple[str, str] | None:
    fields = _fields(target.schema)
    for keyword in REFERENCES:
        if len(fields) == 1 and isinstance(ref := fields.get(keyword), str):
            return keyword, ref
    return None


def _is_hidden(fields: Mapping[str, object], dialect: Dialect) -> bool:
    """Return whether a schema's address does not count, as beside a `$ref` in older drafts."""
    return dialect.has_lone_references and "$ref" in fields


def _own_address(fields: Mapping[str, object], place: SchemaLocation) -> str:
    """Return the address within a schema."""
    identifier = fields.get(place.dialect.identifier)
    if not isinstance(identifier, str) or _is_hidden(fields, place.dialect):
        return place.base
    document = identifier.partition("#")[0]
    return join_address(place.base, document) if document else place.base


def _inside(schema: object, place: SchemaLocation) -> SchemaLocation:
    """Return the place within a schema that stands at another, without its scope."""
    fields = _fields(schema)
    if "$schema" in fields and not isinstance(dialect := dialect_named(fields["$schema"]), str):
        place = replace(place, dialect=dialect)
    return replace(place, base=_own_address(fields, place))


def _schemas_within(root: object, place: SchemaLocation) -> Iterator[tuple[Mapping[str, object], SchemaLocation]]:
    """Yield a schema and those in it, each with the place within it."""
    waiting: deque[tuple[object, SchemaLocation]] = deque([(root, place)])
    visited: set[tuple[int, str]] = set()
    while waiting:
        schema, around = waiting.popleft()
        fields = _fields(schema)
        if not fields or (id(fields), around.base) in visited:
            continue
        visited.add((id(fields), around.base))
        inner = _inside(fields, around)
        yield fields, inner
        for key, value in fields.items():
            items: Iterable[object] = ()
            if key in _BY_NAME and isinstance(value, Mapping):
                items = cast("Mapping[str, object]", value).values()
            elif key in _IN_LISTS and isinstance(value, list):
                items = cast("list[object]", value)
            elif key in _ALONE:
                items = (value,)
            waiting.extend((item, inner) for item in items)


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
