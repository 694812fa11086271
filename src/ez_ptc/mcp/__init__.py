"""The Model Context Protocol, in both directions; needs the extra `mcp`.

`client` makes tools of MCP servers, and `server` serves tools and toolkits. Neither knows toolkits: `Toolkit.from_mcp`
and `Toolkit.as_mcp_server` lead here.
"""
