"""Importing optional dependencies."""

import re
from importlib import import_module
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["import_extra", "require_package"]

_NUMBER: Final = re.compile(r"\d+")


def import_extra(module: str, *, extra: str, package: str | None = None) -> "ModuleType":
    """Import `module`, a dependency of the extra `extra`.

    `package` is its name in error messages, if its top-level module says too little. Raises `MissingExtraError` with
    the install command if the module or its package is not installed. Errors of an installed module pass through, such
    as a missing dependency of its own.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        message = f'{package or error.name} is not installed; install it with: pip install "ez-ptc[{extra}]"'
        raise MissingExtraError(message) from error


def require_package(package: str, *, version: str, install: str) -> None:
    """Check, without importing it, that a package is installed in `version`, such as "2.0", or later.

    `install` is what the user passes to pip. Raises MissingExtraError.
    """
    from importlib import metadata

    advice = f'install it with: pip install "{install}"'
    try:
        installed = metadata.version(package)
    except metadata.PackageNotFoundError:
        message = f"{package} is not installed; {advice}"
        raise MissingExtraError(message) from None
    if _numbers(installed) < _numbers(version):
        message = f"expected {package} >= {version}, got {installed}; {advice}"
        raise MissingExtraError(message)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(version)[:3]]
