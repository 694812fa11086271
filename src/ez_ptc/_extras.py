"""Imports an optional dependency, or says how to install it."""

from importlib import import_module
from typing import TYPE_CHECKING

from ez_ptc.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["import_extra"]


def import_extra(module: str, *, extra: str) -> "ModuleType":
    """Import `module`, which comes with the extra `extra` of ez-ptc.

    Raises `MissingExtraError` with the install command when the module, or the package it lies in, is not installed.
    A module that is installed and fails to import one of its own dependencies raises what it raises.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        message = f'{module} is not installed; install it with: pip install "ez-ptc[{extra}]"'
        raise MissingExtraError(message) from error
