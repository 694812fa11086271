"""Reading OpenAPI documents, and following their references."""

import copy
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import unquote

from ez_ptc._extras import import_extra
from ez_ptc._lazy import lazy
from ez_ptc.errors import SchemaError
from ez_ptc.schema.arguments.json_text import read_json
from ez_ptc.schema.safe_repr import safe_line, safe_repr

__all__ = [
    "SCHEMAS",
    "Document",
    "UnsupportedError",
    "check_nesting",
    "clean_text",
    "list_in",
    "object_in",
    "read_document",
    "with_text_keys",
]

SCHEMAS: Final = "#/components/schemas/"
_MAX_TEXT_LENGTH: Final = 64 << 20
_MAX_REFERENCES: Final = 32
# The largest documents that are known have a tenth of it.
_MAX_NODES: Final = 10_000_000
_TEXT_UNIT: Final = 64
_MAX_NESTING: Final = 400
# Beside one for each character of the document.
_MAX_MERGED: Final = 10_000
_TAG: Final = "tag:yaml.org,2002:"
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_VERSIONS: Final = ("3.0", "3.1", "3.2")


class UnsupportedError(Exception):
    """An operation cannot become a tool; the message says why."""


class Document:
    """An OpenAPI document."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root: Final = root
        self.is_3_0: Final = str(root["openapi"]).startswith("3.0")
        self._sizes: Final[dict[int, int]] = {}

    @lazy
    def extensions(self) -> Mapping[str, list[str]]:
        """The schemas with another one in their `allOf`, by the reference of that one, as references."""
        extensions: dict[str, list[str]] = {}
        schemas = object_in(self.root.get("components"), "schemas")
        for name in schemas:
            for extended in list_in(object_in(schemas, name), "allOf"):
                reference = str(object_in({"": extended}, "").get("$ref"))
                extensions.setdefault(reference, []).append(f"{SCHEMAS}{name}")
        return extensions

    @property
    def key_names(self) -> frozenset[str]:
        """Where API keys are, which are the client's, in headers, queries and cookies."""
        schemes = object_in(self.root.get("components"), "securitySchemes")
        keys = [key for key in (object_in(schemes, name) for name in schemes) if key.get("type") == "apiKey"]
        return frozenset(f"{key.get('in')}:{key.get('name')}".lower() for key in keys)

    def size_of(self, value: object) -> int:
        """Return the number of values in an object or a list of the document; 1 for any other value."""
        _count_values(value, self._sizes)
        return self._sizes.get(id(value), 1)

    def resolve(self, value: object) -> dict[str, Any]:
        """Return an object of the document, or what its `$ref` leads to.

        Raises UnsupportedError if that is outside the document, missing, or no object.
        """
        for _ in range(_MAX_REFERENCES):
            if not isinstance(value, dict):
                message = f"expected an object, got {type(value).__name__}"
                raise UnsupportedError(message)
            fields = cast("dict[str, Any]", value)
            if "$ref" not in fields:
                return fields
            value = self.target(fields["$ref"])
        message = "its references form a circle"
        raise UnsupportedError(message)

    def target(self, reference: object) -> object:
        """Return what a reference leads to. Raises UnsupportedError."""
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            message = f"the reference {safe_repr(reference)} leads out of the document, and nothing is fetched"
            raise UnsupportedError(message)
        value: Any = self.root
        for step in reference.split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            try:
                value = value[int(key) if type(value) is list else key]
            except (KeyError, IndexError, TypeError, ValueError):
                message = f"the reference {safe_repr(reference)} leads to nothing"
                raise UnsupportedError(message) from None
        return value


def clean_text(text: object, max_length: int) -> str:
    """Return a description of the document without control characters, and of a bounded length."""
    # Anything else is no description; its text could be far longer than the document.
    words = _CONTROLS.sub("", text if isinstance(text, str) else safe_repr(text)).strip()
    if len(words) > max_length:
        return f"{words[: max_length - 1]}…"
    return words


def object_in(fields: object, key: str) -> Mapping[str, Any]:
    """Return the object that a document has at `key`, or an empty one."""
    if not isinstance(fields, Mapping):
        return {}
    value = cast("Mapping[str, object]", fields).get(key)
    if not isinstance(value, Mapping):
        return {}
    return cast("Mapping[str, Any]", value)


def list_in(fields: Mapping[str, Any], key: str) -> list[Any]:
    """Return the list that a document has at `key`, or an empty one."""
    value: object = fields.get(key)
    if not isinstance(value, list):
        return []
    return cast("list[Any]", value)


def read_document(spec: Mapping[str, Any] | str | os.PathLike[str]) -> Document:
    """Read a document: a dict, the path of a file, or JSON or YAML text.

    Raises:
        SchemaError: It is no OpenAPI 3 document.
        MissingExtraError: It is YAML, and pyyaml is not installed.
        OSError: The file cannot be read.
    """
    root = with_text_keys(spec if isinstance(spec, Mapping) else _parse(spec))
    if not isinstance(root, Mapping):
        message = f"expected an OpenAPI document, an object, got {type(root).__name__}"
        raise SchemaError(message)
    root = cast("Mapping[str, Any]", root)
    if "swagger" in root:
        message = (
            f"expected an OpenAPI 3 document, got Swagger {safe_line(str(root['swagger']))}: convert it first, for "
            "example with the npm package swagger2openapi"
        )
        raise SchemaError(message)
    version = str(root.get("openapi", ""))
    if not version.startswith(_VERSIONS):
        message = f"expected an OpenAPI document of version {', '.join(_VERSIONS)}, got {safe_repr(version)}"
        raise SchemaError(message)
    if not isinstance(root.get("paths", {}), Mapping):
        message = "expected `paths` of the OpenAPI document to be an object"
        raise SchemaError(message)
    return Document(root)


def check_nesting(yaml: Any, text: str, loader: Any) -> None:  # noqa: ANN401 - an untyped package
    """Raise ValueError for a document of many levels: the parser recurses in C, and some 30,000 end the process."""
    depth = 0
    for event in yaml.parse(text, loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_NESTING:
            message = f"it is nested more than {_MAX_NESTING} levels deep"
            raise ValueError(message)


def with_text_keys(root: object) -> object:
    """Return a document whose keys are text, as in JSON: in YAML, `200`, `on` and `null` are none."""
    if all(isinstance(key, str) for fields in _objects_in(root) for key in fields):
        return root
    try:
        root = copy.deepcopy(root)  # it may be the user's
    except RecursionError:
        message = "expected an OpenAPI document, got one that is nested too deeply"
        raise SchemaError(message) from None
    for fields in _objects_in(root):
        items = [(_key_text(key), item) for key, item in fields.items()]
        fields.clear()
        fields.update(items)
    return root


def _objects_in(root: object) -> list[dict[object, object]]:
    """Return each object of a document once, whatever it is nested in."""
    objects: list[dict[object, object]] = []
    seen, waiting = {id(root)}, [root]
    while waiting:
        value = waiting.pop()
        for item in _inner(value):
            if id(item) not in seen and _inner(item):
                seen.add(id(item))
                waiting.append(item)
        if isinstance(value, dict):
            objects.append(cast("dict[object, object]", value))
    return objects


def _key_text(key: object) -> str:
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    return safe_repr(key)


def _check_aliases(root: object) -> None:
    """Raise ValueError if a YAML document is too large with its aliases written out, or without end."""
    sizes: dict[int, int] = {}
    _count_values(root, sizes)
    if sizes.get(id(root), 0) > _MAX_NODES:
        message = f"with its aliases written out, it has more than {_MAX_NODES:,} values"
        raise ValueError(message)


def _count_values(root: object, sizes: dict[int, int]) -> None:
    """Add the number of values in each object and list to `sizes`, by its id, with aliases written out.

    More than `_MAX_NODES` are one more than these.
    """
    waiting = [root] if _inner(root) else []
    while waiting:
        value = waiting[-1]
        inner = _inner(value)
        if id(value) not in sizes:
            sizes[id(value)] = 0  # being counted
            waiting += [item for item in inner if id(item) not in sizes and _inner(item)]
            continue
        waiting.pop()
        if sizes[id(value)]:  # several lists have it
            continue
        # A text counts once for each of its uses, by its length.
        size = 1 + sum(
            len(item) // _TEXT_UNIT + 1 if isinstance(item, str) else sizes.get(id(item), 1) for item in inner
        )
        sizes[id(value)] = min(size, _MAX_NODES + 1)


def _inner(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(cast("dict[object, object]", value).values())
    if isinstance(value, list):
        return cast("list[object]", value)
    return []


def _parse(spec: str | os.PathLike[str]) -> object:
    text = spec if isinstance(spec, str) else None
    if text is None or not ("\n" in text or text.lstrip().startswith("{")):
        if text is not None and text.startswith(("http://", "https://")):
            message = "expected an OpenAPI document, its text or its path, got a URL: download it and pass the text"
            raise SchemaError(message)
        text = Path(spec).read_text(encoding="utf-8-sig")
    if len(text) > _MAX_TEXT_LENGTH:
        message = f"the OpenAPI document has {len(text):,} characters; expected at most {_MAX_TEXT_LENGTH:,}"
        raise SchemaError(message)
    try:
        if text.lstrip().startswith("{"):
            return read_json(text, levels=_MAX_NESTING)
        yaml = import_extra("yaml", extra="openapi", package="pyyaml")
        loader = _loader(yaml, _MAX_MERGED + len(text))
        try:
            check_nesting(yaml, text, loader)
            root: object = yaml.load(text, loader)
        # The other ones are of values that do not fit their tags, such as !!bool maybe.
        except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError) as error:
            raise ValueError(str(error)) from error
        _check_aliases(root)
        return root
    except (ValueError, RecursionError) as error:
        message = f"the OpenAPI document is neither JSON nor YAML: {safe_line(str(error))}"
        raise SchemaError(message) from error


def _loader(yaml: Any, max_merged: int) -> Any:  # noqa: ANN401 - an untyped package
    """Return the safe loader of a document without dates, and with a bound for merged keys."""
    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    merged = 0

    def flatten_mapping(loader: Any, node: Any) -> None:  # noqa: ANN401 - as above
        nonlocal merged
        before = len(node.value)
        safe.flatten_mapping(loader, node)
        merged += max(len(node.value) - before, 0)
        if merged > max_merged:
            message = f"its merge keys (<<) add more than {max_merged:,} keys: write it without them"
            raise ValueError(message)

    def make_number(loader: Any, node: Any) -> object:  # noqa: ANN401 - as above
        # To old YAML, 12:30 is a number to the base 60.
        return node.value if ":" in str(node.value) else safe.yaml_constructors[node.tag](loader, node)

    class_: Any = type("Loader", (safe,), {"flatten_mapping": flatten_mapping})
    resolvers: Mapping[str, Sequence[tuple[str, object]]] = class_.yaml_implicit_resolvers
    # A date is no type of JSON, and stays the text it is.
    class_.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in patterns if tag != f"{_TAG}timestamp"]
        for first, patterns in resolvers.items()
    }
    for name in ("int", "float"):
        class_.add_constructor(f"{_TAG}{name}", make_number)
    return class_
