"""Benchmarks of MCP clients."""
