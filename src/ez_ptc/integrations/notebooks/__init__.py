"""Notebooks: cells as programs of a toolkit."""
