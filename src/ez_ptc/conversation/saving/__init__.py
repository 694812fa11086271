"""Saving conversations: as JSON, and in a history file."""
