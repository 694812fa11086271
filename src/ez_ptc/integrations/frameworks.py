"""Importing an agent framework of a supported version."""

import re
from importlib import import_module, metadata
from typing import Any, Final

from ez_ptc.errors import MissingExtraError

__all__ = ["import_framework"]

_NUMBER: Final = re.compile(r"\d+")


def import_framework(module: str, *, package: str, version: str) -> Any:
    """Import a module of a framework.

    Args:
        module: The module.
        package: The name that the framework is installed by.
        version: The first supported version, such as "2.0".

    Raises:
        MissingExtraError: The framework is not installed, or has an earlier version.
    """
    advice = f'install it with: pip install "{package}>={version}"'
    # By its metadata, because an import would load seconds of code only to find that it is too old.
    try:
        installed = metadata.version(package)
    except metadata.PackageNotFoundError:
        message = f"{package} is not installed; {advice}"
        raise MissingExtraError(message) from None
    if _numbers(installed) < _numbers(version):
        message = f"expected {package} >= {version}, got {installed}; {advice}"
        raise MissingExtraError(message)
    return import_module(module)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(version)[:3]]
