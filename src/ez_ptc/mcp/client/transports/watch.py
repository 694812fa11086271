"""What is known of a connection while it lasts, and listings without what is no tool."""

from __future__ import annotations

import json
import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final, cast

import mcp_types as types
from mcp_types.methods import validate_server_result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ez_ptc.mcp.client.texts import error_line
from ez_ptc.schema.arguments.json_text import MAX_DEPTH, is_too_deep, parse_value, read_json
from ez_ptc.schema.safe_repr import safe_name, safe_repr

if TYPE_CHECKING:
    from ez_ptc.mcp.client.dropped_tools import DroppedTools
    from ez_ptc.redaction.redactor import Redactor

__all__ = ["MAX_LEVELS", "MAX_STDERR_LINE", "ConnectionWatch", "invalid_text"]

MAX_STDERR_LINE: Final = 400

# Of a whole listing, which keeps its other tools beside one that is nested too deeply.
MAX_LEVELS: Final = 1_000

_LISTINGS: Final = {
    "tools": "tools/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "prompts": "prompts/list",
}
# Each item is a tool; prompts and resources are listed when a caller asks for them.
_TOOL_LISTINGS: Final = frozenset({"tools", "resourceTemplates"})
_BLOCK_TYPES: Final = frozenset({"audio", "image", "resource", "resource_link", "text"})
# PHP writes each of these as a list if it is empty.
_OBJECTS: Final = frozenset({"_meta", "annotations", "execution", "inputSchema", "outputSchema"})
# Of a server that ends, the last lines say why.
_STDERR_LINES: Final = 5
_log = logging.getLogger("ez_ptc.mcp")
_log.addHandler(logging.NullHandler())


class ConnectionWatch:
    """What is known of a connection: whether the server has ended, its last words, and lines that are no messages."""

    def __init__(self, dropped: DroppedTools, redactor: Redactor) -> None:
        self.server = dropped.server
        self._dropped = dropped
        self.redactor = redactor
        self.is_ended = False
        self.garbage: str | None = None
        self.unfinished_line = ""
        """What the server wrote on standard error after its last newline, which may be the reason of its end."""
        self._last_words: deque[str] = deque(maxlen=_STDERR_LINES)

    def take_stderr(self, line: str) -> None:
        """Keep a line that the server wrote on standard error."""
        if line := self._clean_line(line):
            self._last_words.append(line)
            _log.debug("%s: %s", self.server, line)

    def _clean_line(self, line: str) -> str:
        return error_line(self.redactor.text(line.strip())[:MAX_STDERR_LINE])

    def take_garbage(self, error: Exception) -> None:
        """Keep the first line that is not a message of the protocol."""
        if self.garbage is None:
            sample: object = None
            if isinstance(error, ValidationError):
                sample = error.errors(include_url=False)[0].get("input")
            self.garbage = error_line(type(error).__name__)
            if isinstance(sample, str):
                self.garbage = safe_repr(self.redactor.text(sample))
            _log.warning("%s wrote a line that is not a message of the protocol: %s", self.server, self.garbage)

    def clean_message(self, text: str) -> str:
        """Return the JSON of a message without the server's credentials: nothing that it repeats is passed on."""
        if not self.redactor or not self.redactor.is_in(text):
            return text
        try:
            return json.dumps(self.redactor.value(read_json(text, levels=MAX_LEVELS)))
        except (ValueError, RecursionError):
            return self.redactor.text(text)

    def take_note(self, note: str) -> None:
        """Keep why we have ended the connection."""
        self._last_words.append(note)
        _log.warning("%s: %s", self.server, note)

    def check_listing(self, message: object) -> None:
        """Remove malformed tools, resources and prompts from a listing: the SDK would refuse all of it.

        A call's result is repaired for the same reason.
        """
        result: object = getattr(message, "result", None)
        if not isinstance(result, dict) or "contents" in result:
            return
        listing = cast("dict[str, object]", result)
        capabilities = listing.get("capabilities")
        if isinstance(capabilities, dict):
            offers = cast("dict[str, object]", capabilities)
            offers.update({key: {} for key, value in offers.items() if value == []})
        if "content" in listing or "structuredContent" in listing:
            _repair_result(listing)
            return
        for key, method in _LISTINGS.items():
            items = listing.get(key)
            if isinstance(items, list):
                listing[key] = [item for item in cast("list[object]", items) if self._is_valid(item, key, method)]

    def _is_valid(self, item: object, key: str, method: str) -> bool:
        problem = _problem_of(item, key, method)
        if problem is None:
            return True
        name: object = cast("dict[str, object]", item).get("name") if isinstance(item, dict) else None
        if key in _TOOL_LISTINGS:
            self._dropped.add(name, problem)
        else:
            _log.warning("%s of the MCP server %s is left out: %s", safe_name(name), self.server, problem)
        return False

    def explain(self) -> str:
        """Return what the server wrote, as an addition to an error message, or ""."""
        text = ""
        if self.garbage is not None:
            text += f"; it wrote {self.garbage}, which is not a message of the protocol"
        last_words = [*self._last_words]
        # The end of the process may have cut a credential, which is not found then.
        if not self.redactor.has_part(self.unfinished_line) and (line := self._clean_line(self.unfinished_line)):
            last_words.append(line)
        if last_words:
            text += f"; its last words: {' | '.join(last_words[-_STDERR_LINES:])}"
        return text


def _repair_result(result: dict[str, object]) -> None:
    """Rewrite what is evident in a call's result: null for what is not there, text or one block without its list.

    A block of an unknown type becomes its JSON as text, as does structured content that is no object, unless the
    content repeats it.
    """
    content: object = result.get("content") or []
    blocks = cast("list[object]", content) if isinstance(content, list) else [content]
    structured = result.get("structuredContent")
    if structured is not None and not isinstance(structured, dict) and not is_too_deep(structured):
        del result["structuredContent"]
        texts = [cast("dict[str, object]", block).get("text") for block in blocks if isinstance(block, dict)]
        if not any(isinstance(text, str) and structured in (text, parse_value(text)) for text in texts):
            blocks = [*blocks, json.dumps(structured, ensure_ascii=False)]
    result["content"] = [_block(item) for item in blocks if item is not None]
    for key in [key for key, value in result.items() if value is None or (key, value) == ("_meta", [])]:
        del result[key]


def _block(item: object) -> object:
    if isinstance(item, str):
        return {"type": "text", "text": item}
    if not isinstance(item, dict):
        return item
    items = cast("dict[str, object]", item).items()
    fields = {key: value for key, value in items if value is not None and (value != [] or key not in _OBJECTS)}
    block_type = fields.get("type")
    if block_type == "text":
        return {"text": "", **fields}
    if isinstance(block_type, str) and block_type not in _BLOCK_TYPES and not is_too_deep(fields):
        return {"type": "text", "text": json.dumps(fields, ensure_ascii=False)}
    return fields


def _problem_of(item: object, key: str, method: str) -> str | None:
    if not isinstance(item, dict):
        return f"expected an object, got {safe_repr(item)}"
    if is_too_deep(cast("object", item)):
        return f"it is nested more than {MAX_DEPTH} levels deep"
    fields = cast("dict[str, Any]", item)
    problem = _repair_schemas(fields) if key == "tools" else None
    if problem is not None:
        return problem
    try:
        # As strict as the SDK will be.
        validate_server_result(method, HANDSHAKE_PROTOCOL_VERSIONS[-1], {key: [fields]})
        if key == "tools":
            types.Tool.model_validate(fields, by_name=False)
    except ValueError as error:  # pydantic's
        return invalid_text(error).removeprefix(f"{key}.0.")
    return None


def _repair_schemas(fields: dict[str, Any]) -> str | None:
    """Add what is evident to a tool's input schema, and remove an unusable output schema; or say what is wrong."""
    for key in _OBJECTS & fields.keys():
        if fields[key] == []:
            del fields[key]
    if fields.get("inputSchema") is None:
        fields["inputSchema"] = {"type": "object"}
    schema: object = fields["inputSchema"]
    if isinstance(schema, dict):
        keywords = cast("dict[str, object]", schema)
        type_ = keywords.setdefault("type", "object")
        if keywords.get("properties") == []:
            del keywords["properties"]
        if type_ != "object":
            return f"expected an input schema of the type 'object', got {safe_repr(type_)}"
    output: object = fields.get("outputSchema")
    if output is not None and not (
        isinstance(output, dict) and cast("dict[str, object]", output).get("type") == "object"
    ):
        # The tool works without it; results arrive as they are.
        del fields["outputSchema"]
    return None


def invalid_text(error: ValueError) -> str:
    """Return the first of the problems that pydantic has found, in one line."""
    if not isinstance(error, ValidationError):
        return error_line(str(error))
    first = error.errors(include_url=False, include_input=False)[0]
    path = ".".join(map(str, first["loc"]))
    return error_line(f"{path}: {first['msg']}" if path else first["msg"])
