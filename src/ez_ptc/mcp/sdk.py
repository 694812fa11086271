"""The official SDK, which the client and the server are built on."""

from ez_ptc._extras import require_package

__all__ = ["require_mcp"]


def require_mcp() -> None:
    """Check that the SDK is installed, without importing it. Raises MissingExtraError if it is not, or too old."""
    require_package("mcp", version="2.3", install="ez-ptc[mcp]")
