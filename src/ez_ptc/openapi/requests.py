"""The request of a call: where each argument stands in it.

Arguments are hostile. Whatever they are, the request has the operation's method and path, and only that operation's
query names and headers.
"""

import base64
import binascii
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast
from urllib.parse import quote

from ez_ptc.errors import ToolError
from ez_ptc.openapi.http import ApiRequest
from ez_ptc.openapi.operations import ApiOperation, Body, OperationParameter, place_of
from ez_ptc.openapi.paths import find_path_problem
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["build_request"]

_DELIMITERS: Final = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}
_NOT_IN_HEADERS: Final = re.compile(r"[^\t\x20-\x7e\x80-\xff]")


def build_request(operation: ApiOperation, arguments: Mapping[str, Any]) -> ApiRequest:
    """Return the request of a call with checked arguments.

    Raises ToolError if a value cannot stand where its parameter does.
    """
    try:
        return _build(operation, arguments)
    except UnicodeEncodeError:
        message = f"{operation.name}: an argument has half of a surrogate pair: pass text that can be encoded"
        raise ToolError(message) from None


def _build(operation: ApiOperation, arguments: Mapping[str, Any]) -> ApiRequest:
    headers, cookies = list[tuple[str, str]](), list[str]()
    query = [*filter(None, [operation.query])]
    in_path: dict[str, str] = {}
    for parameter in operation.parameters:
        if parameter.argument not in arguments:
            continue
        value = arguments[parameter.argument]
        if parameter.is_json:
            value = json.dumps(value, separators=(",", ":"))
        if parameter.location == "path":
            in_path[parameter.name] = _in_path(operation, parameter, value)
        elif value is None:
            continue  # JSON's null has no form there
        elif parameter.location == "query":
            _require_free_places(operation, parameter, value)
            query += _in_query(parameter.name, value, parameter.style, explode=parameter.explode)
        elif parameter.location == "header":
            headers.append((parameter.name, _in_header(operation, parameter, value)))
        else:
            _require_free_places(operation, parameter, value)
            cookies += _in_query(parameter.name, value, "form", explode=parameter.explode)
    path = _fill_path(operation, in_path)
    if cookies:
        headers.append(("cookie", "; ".join(cookies)))
    media_type, content = _content(operation, arguments)
    if media_type is not None:
        headers.append(("content-type", media_type))
    return ApiRequest(operation.method, path, "&".join(query), tuple(headers), content)


def _fill_path(operation: ApiOperation, values: Mapping[str, str]) -> str:
    steps = re.split(r"\{([^{}]*)\}", operation.path)
    steps[::2] = [quote(text, safe="/:@!$&'()*+,;=~") for text in steps[::2]]
    steps[1::2] = [values[name] for name in steps[1::2]]
    path = "".join(steps)
    problem = find_path_problem(path, operation.path, operation.all_paths)
    if problem is not None:
        message = f"{operation.name}: {problem}"
        raise ToolError(message)
    return path


def _in_path(operation: ApiOperation, parameter: OperationParameter, value: object) -> str:
    style, name, explode = parameter.style, _quote(parameter.name), parameter.explode
    between, prefix = {"simple": (",", ""), "label": (".", "."), "matrix": (";", ";")}[style]
    if isinstance(value, dict):
        pairs = [(_quote(key), _quote(_plain(item))) for key, item in cast("dict[str, object]", value).items()]
        if explode:
            text = between.join(f"{key}={item}" for key, item in pairs)
        else:
            text = ",".join(f"{key},{item}" for key, item in pairs)
    elif isinstance(value, list):
        items = [_quote(_plain(item)) for item in cast("list[object]", value)]
        if style == "matrix" and explode:
            return "".join(f";{name}={item}" for item in items)
        text = (between if explode else ",").join(items)
    else:
        text = _quote(_plain(value))
    if not text:
        message = f"{operation.name}: {parameter.argument} is empty, and stands in the path: pass a value"
        raise ToolError(message)
    if style == "matrix" and not (explode and isinstance(value, dict)):
        return f";{name}={text}"
    return prefix + text


def _require_free_places(operation: ApiOperation, parameter: OperationParameter, value: object) -> None:
    """Raise ToolError if a key of an object would stand in the place of another parameter or a credential."""
    if not isinstance(value, dict) or not parameter.explode or parameter.style == "deepObject":
        return  # keys are no names there
    places = operation.places - {place_of(parameter.location, parameter.name)}
    for key in cast("dict[str, object]", value):
        place = place_of(parameter.location, key)
        if place in places or place in operation.client_places:
            message = (
                f"{operation.name}: {parameter.argument} has the key {safe_repr(key)}, the name of something else in "
                f"the request: leave it out"
            )
            raise ToolError(message)


def _in_query(name: str, value: object, style: str, *, explode: bool) -> list[str]:
    # `allowReserved` is ignored: an unencoded & or # would end the value.
    key = _quote(name)
    if style == "deepObject":
        return [f"{_quote(path)}={_quote(_plain(item))}" for path, item in _deep(name, value)]
    if isinstance(value, dict):
        pairs = [(_quote(inner), _quote(_plain(item))) for inner, item in cast("dict[str, object]", value).items()]
        if explode:
            return [f"{inner}={item}" for inner, item in pairs]
        return [f"{key}={','.join(f'{inner},{item}' for inner, item in pairs)}"]
    if isinstance(value, list):
        items = [_quote(_plain(item)) for item in cast("list[object]", value)]
        if explode:
            return [f"{key}={item}" for item in items]
        return [f"{key}={_DELIMITERS.get(style, ',').join(items)}"]
    return [f"{key}={_quote(_plain(value))}"]


def _deep(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            yield from _deep(f"{path}[{key}]", item)
    elif isinstance(value, list):
        for position, item in enumerate(cast("list[object]", value)):
            yield from _deep(f"{path}[{position}]", item)
    else:
        yield path, value


def _in_header(operation: ApiOperation, parameter: OperationParameter, value: object) -> str:
    if isinstance(value, dict):
        between = {True: "=", False: ","}[parameter.explode]
        text = ",".join(f"{key}{between}{_plain(item)}" for key, item in cast("dict[str, object]", value).items())
    elif isinstance(value, list):
        text = ",".join(_plain(item) for item in cast("list[object]", value))
    else:
        text = _plain(value)
    if _NOT_IN_HEADERS.search(text):
        message = (
            f"{operation.name}: {parameter.argument} has characters that a header cannot have, such as line breaks"
        )
        raise ToolError(message)
    return text


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _quote(text: str) -> str:
    return quote(text, safe="")


# Bodies ---------------------------------------------------------------------------------------------------------------


def _content(operation: ApiOperation, arguments: Mapping[str, Any]) -> tuple[str | None, bytes | None]:
    """Return the media type and the bytes of the body, or twice None."""
    body = operation.body
    if body is None:
        return None, None
    value: Any = arguments.get("body")
    if body.arguments:
        value = {name: arguments[argument] for argument, name in body.arguments.items() if argument in arguments}
    if not body.required and (value == {} if body.arguments else "body" not in arguments):
        return None, None
    media_type = body.media_type.partition(";")[0].strip().lower()
    if media_type == "application/x-www-form-urlencoded":
        return media_type, "&".join(_form(body, value)).encode("ascii")
    if media_type == "multipart/form-data":
        # Random, so that no argument can have it.
        boundary = secrets.token_hex(16)
        return f"{media_type}; boundary={boundary}", _multipart(body, value, boundary)
    is_json = media_type == "*/*" or media_type.endswith("json")
    if is_json:
        content = json.dumps(value, ensure_ascii=False).encode()
    elif body.schema.get("contentEncoding") == "base64":
        content = _decode("body", value)
    else:
        content = _plain(value).encode()
    return "application/json" if media_type == "*/*" else body.media_type, content


def _form(body: Body, value: object) -> Iterator[str]:
    if not isinstance(value, dict):
        message = f"expected the body of a form to be an object, got {type(value).__name__}"
        raise ToolError(message)
    for name, item in cast("dict[str, object]", value).items():
        encoding: Mapping[str, Any] = body.encoding.get(name) or {}
        style = encoding.get("style")
        if style is None and isinstance(item, dict):
            item = json.dumps(item, ensure_ascii=False)  # noqa: PLW2901 - as OpenAPI says
        style = style or "form"
        if item is not None:
            yield from _in_query(name, item, style, explode=encoding.get("explode", style == "form") is True)


def _multipart(body: Body, value: object, boundary: str) -> bytes:
    if not isinstance(value, dict):
        message = f"expected the body of a form to be an object, got {type(value).__name__}"
        raise ToolError(message)
    properties: Mapping[str, Any] = body.schema.get("properties", {})
    written: list[bytes] = []
    for name, items in cast("dict[str, object]", value).items():
        schema = properties.get(name)
        for item in cast("list[object]", items) if isinstance(items, list) else [items]:
            # As browsers write the names of fields.
            quoted = name.replace("\\", "\\\\").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
            head = f'--{boundary}\r\ncontent-disposition: form-data; name="{quoted}"'
            if isinstance(item, str) and _is_file(schema):
                head += '; filename="file"\r\ncontent-type: application/octet-stream'
                content = _decode(name, item)
            elif isinstance(item, dict | list):
                head += "\r\ncontent-type: application/json"
                content = json.dumps(item, ensure_ascii=False).encode()
            else:
                content = _plain(item).encode()
            written += [head.encode(), b"\r\n\r\n", content, b"\r\n"]
    return b"".join([*written, f"--{boundary}--\r\n".encode()])


def _is_file(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    fields = cast("Mapping[str, Any]", schema)
    return fields.get("contentEncoding") == "base64" or _is_file(fields.get("items"))


def _decode(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        message = f"expected {name} as base64 text: base64.b64encode(data).decode()"
        raise ToolError(message) from None
