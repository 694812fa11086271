"""Event loops that sessions live on."""
