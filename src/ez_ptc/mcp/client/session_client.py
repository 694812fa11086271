"""A session of the SDK, or of a library on it, with the methods of the SDK's client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import mcp_types as types

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.shared.dispatcher import ProgressFnT

__all__ = ["SessionClient"]


class SessionClient:
    """The methods of `Client` that we use, on a `ClientSession`."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    @property
    def server_capabilities(self) -> types.ServerCapabilities:
        """What the server offers."""
        return cast("types.ServerCapabilities", self.session.server_capabilities)

    async def list_tools(self, *, cursor: str | None = None) -> types.ListToolsResult:
        """Same as `Client.list_tools`."""
        return await self.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))

    async def list_resources(self, *, cursor: str | None = None) -> types.ListResourcesResult:
        """Same as `Client.list_resources`."""
        return await self.session.list_resources(params=types.PaginatedRequestParams(cursor=cursor))

    async def list_resource_templates(self, *, cursor: str | None = None) -> types.ListResourceTemplatesResult:
        """Same as `Client.list_resource_templates`."""
        return await self.session.list_resource_templates(params=types.PaginatedRequestParams(cursor=cursor))

    async def list_prompts(self, *, cursor: str | None = None) -> types.ListPromptsResult:
        """Same as `Client.list_prompts`."""
        return await self.session.list_prompts(params=types.PaginatedRequestParams(cursor=cursor))

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        read_timeout_seconds: float | None,
        progress_callback: ProgressFnT | None,
        *,
        meta: types.RequestParamsMeta | None,
    ) -> types.CallToolResult:
        """Same as `Client.call_tool`."""
        return await self.session.call_tool(name, arguments, read_timeout_seconds, progress_callback, meta=meta)

    async def read_resource(self, uri: str) -> types.ReadResourceResult:
        """Same as `Client.read_resource`."""
        return await self.session.read_resource(uri)

    async def get_prompt(self, name: str, arguments: dict[str, str]) -> types.GetPromptResult:
        """Same as `Client.get_prompt`."""
        return await self.session.get_prompt(name, arguments)
