"""Whole results between this package's own client and server, whose reader is a program, not a model."""

from typing import Final

__all__ = ["WHOLE"]

WHOLE: Final = "ez-ptc/whole"
"""The key in `_meta` by which a server offers whole results of a tool, and a client asks for them in a call."""
