"""The official SDK, which the client and the server are built on."""

from typing import Final

from ez_ptc._extras import require_package

__all__ = ["MCP_VERSION", "require_mcp"]

MCP_VERSION: Final = "2.3"
"""The first version of the SDK that has what we use."""


def require_mcp() -> None:
    """Check that the SDK is installed, without importing it. Raises MissingExtraError if it is not, or too old."""
    require_package("mcp", version=MCP_VERSION, extra="mcp")
