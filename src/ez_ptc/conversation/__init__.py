"""Conversations with a model: a builder that never changes, and the loop over its turns."""
