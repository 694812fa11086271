"""Which version of ez-ptc this is."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["installed_version"]


def installed_version() -> str:
    """Return the installed version, or a word that says that none is."""
    try:
        return version("ez-ptc")
    except PackageNotFoundError:
        return "(not installed)"
