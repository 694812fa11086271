"""Tools of MCP servers: connections on a background loop, and what servers send as schemas, values and errors."""
