"""The installed version of ez-ptc."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["installed_version"]


def installed_version() -> str:
    """Return the installed version, or "(not installed)"."""
    try:
        return version("ez-ptc")
    except PackageNotFoundError:
        return "(not installed)"
