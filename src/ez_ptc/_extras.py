"""Importing optional dependencies, and finding what other packages add."""

import operator
import re
from importlib import import_module
from typing import TYPE_CHECKING, Final

from ez_ptc._distribution import DISTRIBUTION
from ez_ptc.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["import_extra", "install_command", "load_entry_point", "require_package"]

_SEPARATORS: Final = re.compile(r"[-_.]+")
_NUMBER: Final = re.compile(r"\d+")
_NAME: Final = re.compile(r"[\w.-]*\w")
_CONSTRAINT: Final = re.compile(r"(>=|<|==)([^,]+)")
_IS_MET: Final = {">=": operator.ge, "<": operator.lt, "==": operator.eq}


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
        missing = package or error.name
        message = f"{missing} is not installed; {_advice(extra, missing.partition('.')[0])}"
        raise MissingExtraError(message) from error


def require_package(package: str, *, version: str, extra: str | None = None) -> None:
    """Check, without importing it, that a package is installed in `version`, such as "2.0", or later.

    `extra` is the extra with the package, if there is one. Raises MissingExtraError with the install command.
    """
    from importlib import metadata

    advice = f'install it with: pip install "{package}>={version}"' if extra is None else _advice(extra, package)
    try:
        installed = metadata.version(package)
    except metadata.PackageNotFoundError:
        message = f"{package} is not installed; {advice}"
        raise MissingExtraError(message) from None
    if _numbers(installed) < _numbers(version):
        message = f"expected {package} >= {version}, got {installed}; {advice}"
        raise MissingExtraError(message)


def load_entry_point(group: str, name: str, *, role: str, error: type[Exception]) -> object:
    """Return what the entry point with a name stands for, or None without one.

    Raises `error`, which calls it by its role, if distributions compete for the name, or it cannot be imported.
    """
    from importlib import metadata

    points = list(metadata.entry_points(group=group, name=name))
    # One distribution may be found twice, as after an interrupted update.
    owners = {_SEPARATORS.sub("-", str(point.dist.name)).lower(): point.dist.name for point in points if point.dist}
    if len(owners) > 1:
        message = (
            f"the entry point {name!r} of {group} is in several installed packages, {' and '.join(owners.values())}, "
            "so it is unclear which one is meant: uninstall all but one of them, or pass the object instead of its name"
        )
        raise error(message)
    point = next(iter(points), None)
    if point is None:
        return None
    try:
        return point.load()
    except (ImportError, AttributeError) as failure:
        owner = f"its package, {point.dist.name}" if point.dist else "its package"
        message = f"the {role} {name!r} cannot be imported from {point.value}: {failure}; repair {owner}"
        raise error(message) from failure


def install_command(extra: str, *, missing: str | None = None) -> str | None:
    """Return a command that installs the unmet requirements of an extra, or all of them if they are met.

    The command names the packages, not our own with the extra: an index may have another package of our name. The
    package `missing` counts as unmet whatever its metadata say. Returns None if the metadata of our distribution are
    not installed, as in a copied source tree, or lack the extra.
    """
    from importlib import metadata

    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return None
    markers = (f"extra == '{extra}'", f'extra == "{extra}"')
    pairs = [line.partition(";") for line in lines]
    requirements = [requirement.strip() for requirement, _, marker in pairs if marker.strip() in markers]
    if not requirements:
        return None
    unmet = [text for text in requirements if not _is_met(text, missing)]
    return "pip install " + " ".join(f'"{requirement}"' for requirement in unmet or requirements)


def _advice(extra: str, missing: str) -> str:
    command = install_command(extra, missing=missing)
    if command is not None:
        return f"install it with: {command}"
    return (
        f'install what pyproject.toml lists for the extra "{extra}": the metadata of {DISTRIBUTION}, which name it, '
        f"are not installed"
    )


def _is_met(requirement: str, missing: str | None) -> bool:
    """Return whether a requirement such as `mcp<4,>=2.3` is met by what is installed."""
    from importlib import metadata

    name = _NAME.findall(requirement)[0]
    if name == missing:
        return False
    try:
        installed = _numbers(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False
    return all(_IS_MET[sign](installed, _numbers(number)) for sign, number in _CONSTRAINT.findall(requirement))


def _numbers(version: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(version)[:3]]
