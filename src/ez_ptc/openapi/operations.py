"""The operations of an OpenAPI document: their names, parameters, bodies and results."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import parse_qsl, quote

from ez_ptc.openapi.discriminators import Discriminators
from ez_ptc.openapi.documents import Document, UnsupportedError, clean_text, list_in, object_in
from ez_ptc.openapi.schemas import MAX_SCHEMAS, SchemaReader
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["ApiOperation", "Body", "OperationParameter", "is_text_type", "place_of", "read_operations"]

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_READING: Final = frozenset({"get", "head", "options", "query"})
_MAX_NAME: Final = 64
_MAX_DESCRIPTION: Final = 4_000
_MAX_PARAMETER_DESCRIPTION: Final = 1_000
# All operations may refer to one large schema, of which each tool has a copy: they share `MAX_SCHEMAS`, but for these
# that each may have.
_FREE_SCHEMAS: Final = 100
# Operations that are left out, or too large, have no copies, but reading them takes time.
_MAX_READ: Final = 20 * MAX_SCHEMAS
_STYLES: Final[Mapping[str, tuple[str, ...]]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
# What the names of media types with text contain, beside `text/`.
_TEXTS: Final = ("xml", "yaml", "javascript", "csv", "graphql", "html", "x-www-form-urlencoded", "ndjson", "jsonl")
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")
# The HTTP client sets them; OpenAPI says to ignore the first three.
_CLIENT_HEADERS: Final = frozenset(
    {"accept", "content-type", "authorization", "host", "content-length", "transfer-encoding", "connection", "cookie"}
    | {"upgrade", "te", "trailer", "expect", "keep-alive", "proxy-authorization", "proxy-connection"}
)
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Servers read `key[0]` as a part of `key`, and some write these characters as `_`.
_READ_AS_UNDERSCORE: Final = re.compile(r"[ .\[]")


@dataclass(frozen=True, slots=True)
class OperationParameter:
    """A parameter of an operation: `argument` is its name as a tool's argument."""

    argument: str
    name: str
    location: str
    style: str
    explode: bool
    is_json: bool
    required: bool
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request; `arguments` maps the arguments that are its properties to their names, if it has any.

    Without `arguments`, the whole body is one argument, `body`.
    """

    media_type: str
    required: bool
    schema: dict[str, Any]
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    encoding: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """An operation of an API, from which a tool is made.

    Attributes:
        name: The tool's name: the operation's id, or else its method and path.
        method: The HTTP method, in capitals.
        path: The path with its `{parameters}`.
        query: The query that every call has, percent-encoded.
        description: Its summary and description.
        tags: Its tags.
        is_reading: Whether its method only reads.
        all_paths: The paths of all operations of the document.
        places: The names in the query and in cookies that are its own, as of `place_of`.
        client_places: Those that are the client's, of all operations.
    """

    name: str
    method: str
    path: str
    query: str
    description: str
    tags: tuple[str, ...]
    is_reading: bool
    parameters: tuple[OperationParameter, ...] = field(repr=False)
    body: Body | None = field(repr=False)
    arguments: Mapping[str, Any] = field(repr=False)
    returns: dict[str, Any] | None = field(repr=False)
    all_paths: tuple[str, ...] = field(repr=False)
    places: frozenset[str] = field(repr=False)
    client_places: frozenset[str] = field(repr=False)


def place_of(location: str, name: str) -> str:
    """Return a place in a request, such as `query:page`, by all names that a lenient server takes for one."""
    plain = unicodedata.normalize("NFKC", name).partition("\0")[0].strip().casefold()
    plain = plain[:1] + plain[1:].partition("[")[0]
    return f"{location}:{_READ_AS_UNDERSCORE.sub('_', plain)}"


def read_operations(
    document: Document,
    client_names: frozenset[str],
    refuse: Callable[[str, str], None],
    include: Callable[[ApiOperation], bool] | None = None,
) -> Iterator[ApiOperation]:
    """Yield the operations to include; call `refuse` with the name of each one that cannot be a tool, and the reason.

    Parameters that have one of the `client_names` are left out: the client sends them itself.
    """
    operations: list[tuple[str, str, Mapping[str, Any]]] = []
    paths: Mapping[str, object] = document.root.get("paths", {})
    all_paths = tuple(str(path).partition("?")[0] for path in paths)
    client_names |= document.key_names
    client_places = frozenset(place_of(*name.split(":", 1)) for name in client_names)
    shared = _SharedParts(document, client_names, client_places, all_paths, Discriminators(document))
    for path, value in paths.items():
        if path.startswith("x-"):  # an extension
            continue
        try:
            item = document.resolve(value)
        except UnsupportedError as error:
            refuse(path, str(error))
            continue
        operations += [(path, method, item) for method in _METHODS if method in item]
    copies_left, reads_left = MAX_SCHEMAS, _MAX_READ
    for name, (path, method, item) in zip(_operation_names(operations), operations, strict=True):
        reader = _OperationReader(shared, max(min(copies_left, reads_left), _FREE_SCHEMAS))
        operation = None
        try:
            operation = reader.read(name, method, path, item)
        except UnsupportedError as error:
            refuse(f"{name} ({method.upper()} {path})", str(error))
        count = max(reader.schema_count - _FREE_SCHEMAS, 0)
        reads_left -= count
        if operation is not None and (include is None or include(operation)):
            copies_left -= count
            yield operation


def _operation_names(operations: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[str]:
    """Return a tool's name for each operation: of its id, or else of its method and path.

    An operation keeps an id fit to be a name, at any place in the document; other equal names are numbered.
    """
    names: list[str] = []
    first: dict[str, int] = {}
    for position, (path, method, item) in enumerate(operations):
        operation, words = item[method], f"{method} {path}"
        if isinstance(operation, Mapping):
            words = str(cast("Mapping[str, object]", operation).get("operationId") or words)
        first.setdefault(words, position)
        name = re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_") or method
        names.append(f"_{name}"[:_MAX_NAME] if name[0].isdigit() else name[:_MAX_NAME])
    unchanged = {position for words, position in first.items() if names[position] == words}
    taken: dict[str, int] = {}
    for position in sorted(range(len(names)), key=lambda position: position not in unchanged):
        names[position] = _unique(names[position], taken)
    return names


def _unique(name: str, taken: dict[str, int]) -> str:
    """Return a name that is not taken, and take it; with each name goes the last number behind it."""
    unique, number = name, taken.get(name, 1)
    while unique in taken:
        number += 1
        suffix = f"_{number}"
        unique = name[: _MAX_NAME - len(suffix)] + suffix
    taken[name] = number
    taken.setdefault(unique, 1)
    return unique


@dataclass(frozen=True, slots=True)
class _SharedParts:
    """What the operations of a document have in common."""

    document: Document
    client_names: frozenset[str]
    client_places: frozenset[str]
    all_paths: tuple[str, ...]
    discriminators: Discriminators


class _OperationReader:
    """Reads one operation, with at most `max_schemas` in its request."""

    def __init__(self, shared: _SharedParts, max_schemas: int) -> None:
        self._document = shared.document
        self._all_paths = shared.all_paths
        self._client_names = shared.client_names
        self._client_places = shared.client_places
        self._max_schemas = max_schemas
        self._schemas = SchemaReader(shared.document, "request", shared.discriminators, left=max_schemas)
        # Arguments of one name, in the path and in the query, get a number.
        self._arguments: dict[str, int] = {}

    @property
    def schema_count(self) -> int:
        """The number of schemas read."""
        return self._max_schemas - self._schemas.left

    def read(self, name: str, method: str, path: str, item: Mapping[str, Any]) -> ApiOperation:
        operation = self._document.resolve(item[method])
        if not path.startswith("/") or "#" in path:
            message = "expected a path that begins with /, and has no #"
            raise UnsupportedError(message)
        path, _, query = path.partition("?")
        parameters = self._read_parameters(item, operation, path)
        body = self._read_body(operation)
        texts = [operation.get("summary"), operation.get("description")]
        description = "\n\n".join(dict.fromkeys(clean_text(text, _MAX_DESCRIPTION) for text in texts if text))
        if operation.get("deprecated") is True:
            description = f"Deprecated. {description}"
        return ApiOperation(
            name=name,
            method=method.upper(),
            path=path,
            query=quote(query, safe="=&~"),
            description=clean_text(description or f"{method.upper()} {path}", _MAX_DESCRIPTION),
            tags=tuple(tag for tag in list_in(operation, "tags") if isinstance(tag, str)),
            is_reading=method in _READING,
            parameters=tuple(parameters),
            body=body,
            arguments=self._schemas.with_definitions(_arguments_schema(parameters, body)),
            returns=_read_returns(self._document, operation),
            all_paths=self._all_paths,
            places=frozenset(
                [place_of("query", name) for name, _ in parse_qsl(query, keep_blank_values=True)]
                + [place_of(parameter.location, parameter.name) for parameter in parameters]
            ),
            client_places=self._client_places,
        )

    def _read_parameters(
        self, item: Mapping[str, Any], operation: Mapping[str, Any], path: str
    ) -> list[OperationParameter]:
        collected: dict[tuple[str, str], dict[str, Any]] = {}
        for owner in (item, operation):
            for value in list_in(owner, "parameters"):
                fields = self._document.resolve(value)
                collected[str(fields.get("in")), str(fields.get("name"))] = fields
        in_path = set(re.findall(r"\{([^{}]*)\}", path))
        # Documents forget to declare them.
        for name in sorted(in_path - {name for location, name in collected if location == "path"}):
            collected["path", name] = {"required": True, "schema": {"type": "string"}}
        parameters: list[OperationParameter] = []
        for (location, name), fields in collected.items():
            if location == "path" and name not in in_path:
                continue
            parameter = self._read_parameter(location, name, fields)
            if parameter is not None:
                parameters.append(parameter)
        return parameters

    def _read_parameter(self, location: str, name: str, fields: Mapping[str, Any]) -> OperationParameter | None:
        required = fields.get("required") is True or location == "path"
        if location not in _STYLES:
            if not required:
                return None
            message = (
                f"its parameter {safe_repr(name)} is in {safe_repr(location)}; expected one of {', '.join(_STYLES)}"
            )
            raise UnsupportedError(message)
        # An argument must not change how the request is sent, nor by whom.
        if location == "header" and (name.lower() in _CLIENT_HEADERS or not _HEADER_NAME.fullmatch(name)):
            return None
        if location != "path" and f"{location}:{name}".lower() in self._client_names:
            return None
        style = fields.get("style", _STYLES[location][0])
        if style not in _STYLES[location]:
            styles = ", ".join(_STYLES[location])
            message = f"its parameter {safe_repr(name)} has the style {safe_repr(style)}; expected one of {styles}"
            raise UnsupportedError(message)
        content = object_in(fields, "content")
        if content:
            fields = {**fields, **object_in(content, next(iter(content)))}
        schema = object_in(fields, "schema")
        read = _as_dict(self._schemas.read(schema))
        if "description" in fields:
            read = {**read, "description": clean_text(fields["description"], _MAX_PARAMETER_DESCRIPTION)}
        argument = _unique(name, self._arguments)
        explode = fields.get("explode", style == "form") is True
        return OperationParameter(argument, name, location, style, explode, bool(content), required, read)

    def _read_body(self, operation: Mapping[str, Any]) -> Body | None:
        if "requestBody" not in operation:
            return None
        fields = self._document.resolve(operation["requestBody"])
        content = object_in(fields, "content")
        media_type = _preferred(content)
        if media_type is None:
            return None
        media = object_in(content, media_type)
        required = fields.get("required") is True
        shape = object_in(media, "schema")
        plain_type = media_type.partition(";")[0].strip().lower()
        encoding = object_in(media, "encoding")
        if plain_type not in _FORMS and not _is_json(plain_type):
            schema = _as_dict(self._schemas.read(shape))
            if not is_text_type(plain_type):
                schema = {"type": "string", "contentEncoding": "base64"}
            elif schema.get("type") != "string":  # such as an object: the program has to write it in this format
                schema = {"type": "string", "description": f"Text of the type {clean_text(plain_type, _MAX_NAME)}"}
            self._arguments["body"] = 1
            return Body(media_type, required, schema)
        if "$ref" in shape and not self._schemas.is_polymorphic(shape):
            shape = self._document.resolve(shape)
        schema = _as_dict(self._schemas.read(shape))
        if self._can_be_flat(schema, required=required):
            arguments = {_unique(name, self._arguments): name for name in schema["properties"]}
            return Body(media_type, required, schema, arguments, encoding)
        self._arguments["body"] = 1
        return Body(media_type, required, schema, {}, encoding)

    def _can_be_flat(self, schema: Mapping[str, Any], *, required: bool) -> bool:
        """Return whether a body's properties can be arguments, beside the parameters."""
        properties = schema.get("properties")
        if not properties or schema.get("type", "object") != "object" or schema.get("additionalProperties"):
            return False
        if any(key in schema for key in ("allOf", "anyOf", "oneOf", "not", "minProperties", "patternProperties")):
            return False
        return (required or not schema.get("required")) and self._arguments.keys().isdisjoint(properties)


def _preferred(content: Mapping[str, Any]) -> str | None:
    """Return the media type to send: JSON if there is a choice, or else a form."""
    plain = {name: name.partition(";")[0].strip().lower() for name in content}
    for name, media_type in plain.items():
        if _is_json(media_type):
            return name
    for name, media_type in plain.items():
        if media_type in _FORMS:
            return name
    return next(iter(content), None)


def is_text_type(media_type: str) -> bool:
    """Return whether a media type other than JSON is text."""
    return media_type.startswith("text/") or any(name in media_type for name in _TEXTS)


def _is_json(media_type: str) -> bool:
    return media_type == "application/json" or media_type.endswith("+json") or media_type == "*/*"


def _as_dict(schema: object) -> dict[str, Any]:
    if not isinstance(schema, dict):
        return {}
    return cast("dict[str, Any]", schema)


def _arguments_schema(parameters: list[OperationParameter], body: Body | None) -> dict[str, Any]:
    properties = {parameter.argument: parameter.schema for parameter in parameters}
    required = [parameter.argument for parameter in parameters if parameter.required]
    if body is not None and body.arguments:
        needed = body.schema.get("required", [])
        for argument, name in body.arguments.items():
            properties[argument] = _as_dict(body.schema["properties"][name])
            if name in needed:
                required.append(argument)
    elif body is not None:
        properties["body"] = {"description": "The body of the request.", **body.schema}
        if body.required:
            required.append("body")
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return schema


def _read_returns(document: Document, operation: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the first successful response that is JSON, or None."""
    responses = {str(status).upper(): value for status, value in object_in(operation, "responses").items()}
    successes = sorted(status for status in responses if status.startswith("2"))
    for status in successes or [status for status in responses if status == "DEFAULT"]:
        try:
            content = object_in(document.resolve(responses[status]), "content")
            for media_type in content:
                if _is_json(media_type.partition(";")[0].strip().lower()):
                    schema = SchemaReader(document, "response").read(object_in(content, media_type).get("schema", {}))
                    return _as_dict(schema) or None
        except UnsupportedError:  # a result can be read without its schema
            continue
    return None
