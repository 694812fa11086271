"""Streams of messages from and to a server."""
