"""What the client and the server share: the official SDK, and a key of their own in its messages."""

from typing import Final

from ez_ptc._extras import require_package

__all__ = ["MCP_VERSION", "WHOLE", "require_mcp"]

MCP_VERSION: Final = "2.3"
"""The first version of the SDK that has what we use."""

WHOLE: Final = "ez-ptc/whole"
"""The key in `_meta` by which a server offers a tool's whole results, for programs, and a client asks for them."""


def require_mcp() -> None:
    """Check that the SDK is installed, without importing it. Raises MissingExtraError if it is not, or too old."""
    require_package("mcp", version=MCP_VERSION, extra="mcp")
