"""Importing optional dependencies."""

from importlib import import_module
from typing import TYPE_CHECKING

from ez_ptc.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["import_extra"]


def import_extra(module: str, *, extra: str) -> "ModuleType":
    """Import `module`, a dependency of the extra `extra`.

    Raises `MissingExtraError` with the install command if the module or its package is not installed. Errors of an
    installed module pass through, such as a missing dependency of its own.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        message = f'{module} is not installed; install it with: pip install "ez-ptc[{extra}]"'
        raise MissingExtraError(message) from error
