"""A server's resources and resource templates as tools."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

from ez_ptc.mcp.client.definitions import ListedTool
from ez_ptc.mcp.client.results import describe_resource, resource_value
from ez_ptc.mcp.client.texts import clean_text, error_line

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator

    import mcp_types as types

    from ez_ptc.mcp.client.dropped_tools import DroppedTools

    ResourceFunction = Callable[[dict[str, object]], Coroutine[Any, Any, object]]

__all__ = ["ResourceServer", "resource_tools"]

_TEXT: Final = {"type": "string"}


class ResourceServer(Protocol):
    """A server whose resources can be listed and read; both functions raise ToolError."""

    name: str
    dropped: DroppedTools

    async def list_resources(self) -> list[types.Resource]:
        """Return the server's resources."""
        ...

    async def read_resource(self, uri: str) -> types.ReadResourceResult:
        """Read a resource."""
        ...


def resource_tools(
    server: ResourceServer, templates: Iterable[types.ResourceTemplate]
) -> Iterator[tuple[ListedTool, ResourceFunction]]:
    """Yield tools that list and read a server's resources, and one for each template."""

    async def list_resources(arguments: dict[str, object]) -> object:
        del arguments
        return [describe_resource(resource) for resource in await server.list_resources()]

    async def read_resource(arguments: dict[str, object]) -> object:
        return _contents(await server.read_resource(str(arguments["uri"])))

    listing = f"List the resources of the server {server.name}: uri, name, description and mime_type of each."
    yield _reader("list_resources", listing, []), list_resources
    reading = f"Read a resource of the server {server.name}: text, data if it is JSON, or bytes."
    yield _reader("read_resource", reading, ["uri"]), read_resource
    for template in templates:
        tool = _template_tool(server, template)
        if tool is not None:
            yield tool


def _template_tool(
    server: ResourceServer, template: types.ResourceTemplate
) -> tuple[ListedTool, ResourceFunction] | None:
    try:
        address = UriTemplate.parse(template.uri_template)
    except InvalidUriTemplate as error:
        server.dropped.add(template.name, f"its template is invalid: {error_line(str(error))}")
        return None

    async def read_template(arguments: dict[str, object]) -> object:
        uri = address.expand({name: str(value) for name, value in arguments.items()})
        return _contents(await server.read_resource(uri))

    names = list(dict.fromkeys(address.variable_names))
    description = clean_text(template.description or template.title) or "Read a resource."
    text = f"{description}\n\nReads {clean_text(template.uri_template)}"
    return _reader(template.name, text, names), read_template


def _reader(name: str, description: str, parameters: list[str]) -> ListedTool:
    """Return a tool that reads, with text parameters."""
    schema = {"type": "object", "properties": dict.fromkeys(parameters, _TEXT), "required": parameters}
    content = f"{name}\0{description}\0{parameters}"
    return ListedTool(
        name=name,
        description=description,
        input_schema=schema,
        output_schema=None,
        find_problem=None,
        is_wrapped=False,
        options={"read_only": True, "idempotent": True},
        fingerprint=hashlib.sha256(content.encode(errors="replace")).hexdigest(),
    )


def _contents(result: types.ReadResourceResult) -> object:
    if len(result.contents) == 1:
        return resource_value(result.contents[0])
    return [
        {"uri": content.uri, "mime_type": content.mime_type, "content": resource_value(content)}
        for content in result.contents
    ]
