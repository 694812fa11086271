"""Mistral's chat API, a dialect of Chat Completions."""
