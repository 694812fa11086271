"""The demo: questions about a small shop, answered by programs of a model on this machine or a server."""
