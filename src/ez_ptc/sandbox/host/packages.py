"""Finding the installed packages programs may import."""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ez_ptc.errors import MissingExtraError
from ez_ptc.schema.safe_repr import safe_name, safe_repr, safe_repr_with_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["NO_PACKAGES", "Packages", "dependencies_of", "find_packages"]

_NAME: Final = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class Packages:
    """The names of packages, and the folders they are in."""

    names: tuple[str, ...]
    places: tuple[str, ...]


NO_PACKAGES = Packages((), ())


def _check_name(name: object) -> str:
    if isinstance(name, str):
        return name
    message = f"allow_imports: expected names of packages, such as ['numpy'], got {safe_repr_with_type(name)}"
    raise TypeError(message)


def find_packages(names: Iterable[str]) -> Packages:
    """Return the folders of installed packages.

    Raises:
        TypeError: `names` is one str instead of several.
        ValueError: A name is not the name of a package.
        MissingExtraError: A package is not installed.
    """
    if isinstance(names, str):
        message = f"allow_imports: expected a list of packages, got a str; write [{safe_repr(names)}]"
        raise TypeError(message)
    package_names = tuple(sorted({*map(_check_name, names)}))
    if not package_names:
        return NO_PACKAGES
    places: dict[str, None] = {}
    for name in package_names:
        if name in sys.stdlib_module_names:
            continue
        if not name.isidentifier():
            message = (
                f"{safe_repr(name)} is not the name of a package to import: give it as in `import numpy`, "
                "without dots or versions"
            )
            raise ValueError(message)
        spec = importlib.util.find_spec(name)
        if spec is None:
            shown = safe_name(name)
            message = f"the package {shown}, which programs are to import, is not installed: pip install {shown}"
            raise MissingExtraError(message)
        # Its own folder: that of an editable installation may be missing in sys.path.
        inside = next(iter(spec.submodule_search_locations or ()), None)
        places[str(Path(inside or spec.origin or "").resolve().parent)] = None
    standard = str(Path(importlib.util.__file__).parent.parent)
    for entry in sys.path:
        if Path(entry).is_dir() and not (entry.startswith(standard) and "-packages" not in entry):
            places[str(Path(entry).resolve())] = None
    return Packages(package_names, tuple(places))


@functools.cache
def dependencies_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the modules of the packages' installed dependencies, without those of the packages themselves."""
    from importlib import metadata

    # A distribution left by an interrupted installation has no name.
    owned = cast("Mapping[str, list[str | None]]", metadata.packages_distributions())
    owners = {module: [name for name in named if name] for module, named in owned.items()}
    pending = [distribution for name in names for distribution in owners.get(name, ())]
    distributions: set[str] = set()
    while pending:
        name = _normal(pending.pop())
        if name in distributions:
            continue
        try:
            requirements = metadata.requires(name) or ()
        except metadata.PackageNotFoundError:  # such as one for another platform
            continue
        distributions.add(name)
        pending += [
            match[0]
            for requirement in requirements
            if "extra ==" not in requirement and (match := _NAME.match(requirement))
        ]
    modules = (module for module, of in owners.items() if not distributions.isdisjoint(map(_normal, of)))
    return tuple(sorted(name for name in modules if name.isidentifier() and name not in names))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
