"""Programmatic tool calling: tools and a sandbox, seen by a model as one tool."""
