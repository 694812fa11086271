"""Keeping credentials out of texts and values: where they are found, and how they are removed."""
