"""Check that every dependency in `uv.lock` has a wheel for each supported platform and Python.

    python scripts/check_wheels.py [--extra NAME ...]

Without extras, all of them are checked. Prints the missing wheels that are not known to be missing, and the known ones
that are there; the exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.markers import Marker
from packaging.utils import parse_wheel_filename

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["PLATFORMS", "find_missing", "main"]

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = (11, 12, 13)


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform: the pattern of its wheels' tags, and the values of its markers."""

    name: str
    tag: str
    sys_platform: str
    platform_system: str
    machine: str

    def markers(self, minor: int) -> dict[str, str]:
        """Return the environment of markers with CPython 3.`minor`."""
        return {
            "sys_platform": self.sys_platform,
            "platform_system": self.platform_system,
            "platform_machine": self.machine,
            "os_name": "nt" if self.sys_platform == "win32" else "posix",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "python_version": f"3.{minor}",
            "python_full_version": f"3.{minor}.0",
        }


PLATFORMS = (
    Platform("Linux x86-64", r"manylinux.*_x86_64", "linux", "Linux", "x86_64"),
    Platform("Linux aarch64", r"manylinux.*_aarch64", "linux", "Linux", "aarch64"),
    Platform("musl x86-64", r"musllinux.*_x86_64", "linux", "Linux", "x86_64"),
    Platform("musl aarch64", r"musllinux.*_aarch64", "linux", "Linux", "aarch64"),
    Platform("macOS arm64", r"macosx_.*_(arm64|universal2)", "darwin", "Darwin", "arm64"),
    Platform("macOS x86-64", r"macosx_.*_(x86_64|universal2|intel)", "darwin", "Darwin", "x86_64"),
    Platform("Windows x86-64", r"win_amd64", "win32", "Windows", "AMD64"),
)
# Packages of extras that must be built there from their sources.
KNOWN = {
    ("cryptography", "macOS x86-64"),
    ("ray", "macOS x86-64"),
    ("ray", "musl x86-64"),
    ("ray", "musl aarch64"),
    ("xllamacpp", "musl x86-64"),
    ("xllamacpp", "musl aarch64"),
}


def find_missing(lock: dict[str, Any], extras: Iterable[str] | None = None) -> set[tuple[str, str]]:
    """Return the dependencies without a wheel on a platform for one of the Pythons, as (package, platform)."""
    packages = {(package["name"], package["version"]): package for package in lock["package"] if "version" in package}
    own = next(package for package in lock["package"] if package["name"] == "ez-ptc-py")
    wanted = own.get("optional-dependencies", {}) if extras is None else extras
    return {
        (package["name"], platform.name)
        for platform in PLATFORMS
        for minor in PYTHONS
        for package in _reachable(own, wanted, packages, platform.markers(minor))
        if not _has_wheel(package, platform, minor)
    }


def _reachable(
    own: dict[str, Any], extras: Iterable[str], packages: dict[tuple[str, str], Any], environment: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield the packages that are installed in an environment."""
    queue = [*own["dependencies"], *(link for extra in extras for link in own["optional-dependencies"][extra])]
    seen: set[tuple[str, str]] = set()
    while queue:
        link = queue.pop()
        if "marker" in link and not Marker(link["marker"]).evaluate(environment):
            continue
        for key, package in packages.items():
            if key[0] != link["name"] or link.get("version", key[1]) != key[1]:
                continue
            queue += [x for extra in link.get("extra", ()) for x in package["optional-dependencies"][extra]]
            if key not in seen:
                seen.add(key)
                queue += package.get("dependencies", ())
                yield package


def _has_wheel(package: dict[str, Any], platform: Platform, minor: int) -> bool:
    if "editable" in package.get("source", {}):  # built from this repository, for all platforms
        return True
    for wheel in package.get("wheels", ()):
        for tag in parse_wheel_filename(wheel["url"].rpartition("/")[2])[3]:
            if tag.platform != "any" and not re.fullmatch(platform.tag, tag.platform):
                continue
            version = re.fullmatch(r"(cp|py)3(\d*)", tag.interpreter)
            if version is None:
                continue
            since = int(version[2] or 0)
            if since == minor or (since < minor and (tag.abi == "abi3" or version[1] == "py")):
                return True
    return False


def main(arguments: list[str] | None = None) -> int:
    """Print what is missing without being known; return 1 if there is anything, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extra", action="append")
    extras = parser.parse_args(arguments).extra
    missing = find_missing(tomllib.loads((ROOT / "uv.lock").read_text()), extras)
    lines = [f"{package}: no wheel for {platform}" for package, platform in missing - KNOWN]
    if extras is None:
        lines += [
            f"{package}: has a wheel for {platform} now: remove it from KNOWN" for package, platform in KNOWN - missing
        ]
    print("\n".join(sorted(lines)) or f"wheels: complete for {len(PLATFORMS)} platforms")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
