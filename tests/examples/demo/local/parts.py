"""A small model in three parts, in wheels that real installers take, in a folder instead of the registry."""

from __future__ import annotations

import base64
import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from examples.demo.local import LocalModel, Part
from examples.demo.local.packages import Installer, Registry, find_installers

__all__ = ["BROKEN", "CONTENTS", "MODEL", "PartsFolder"]

CONTENTS = (b"first" * 400, b"second" * 300, b"third")
VERSION = "1.0"
METADATA = "Metadata-Version: 2.1\nName: {}\nVersion: {}\n"


def _part(number: int, content: bytes) -> Part:
    return Part(
        package=f"ez-ptc-part{number}",
        version=VERSION,
        member=f"ez_ptc_part{number}/part{number}.bin",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


MODEL = LocalModel(
    name="A small model",
    file_name="small.gguf",
    sha256=hashlib.sha256(b"".join(CONTENTS)).hexdigest(),
    parts=tuple(_part(number, content) for number, content in enumerate(CONTENTS, start=1)),
    memory=1000,
    about="It says nothing.",
)


@dataclass(frozen=True)
class PartsFolder:
    """A folder that wheels are put into and fetched from."""

    path: Path

    def put(self, *numbers: int, content: bytes | None = None) -> None:
        """Put the wheels of some parts into the folder, with another content where one is given."""
        self.path.mkdir(exist_ok=True)
        for number in numbers:
            self._write(MODEL.parts[number - 1], CONTENTS[number - 1] if content is None else content)

    def remove(self, *numbers: int) -> None:
        """Take the wheels of some parts away."""
        for number in numbers:
            next(self.path.glob(f"ez_ptc_part{number}-*.whl")).unlink()

    def registry(self, installer: str | None = None) -> Registry:
        """Return a registry that has nothing but this folder, for all installers there are or one of them."""
        options = ("--no-index", "--find-links", str(self.path))
        found = find_installers(options)
        return Registry(tuple(each for each in found if installer in (None, each.name)))

    def _write(self, part: Part, content: bytes) -> None:
        name = part.package.replace("-", "_")
        information = f"{name}-{part.version}.dist-info"
        files = {
            part.member: content,
            f"{information}/METADATA": METADATA.format(part.package, part.version).encode(),
            f"{information}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        rows = [f"{path},sha256={_urlsafe(data)},{len(data)}" for path, data in files.items()]
        files[f"{information}/RECORD"] = "\n".join([*rows, f"{information}/RECORD,,", ""]).encode()
        with ZipFile(self.path / f"{name}-{part.version}-py3-none-any.whl", "w") as wheel:
            for path, data in files.items():
                wheel.writestr(path, data)


def _urlsafe(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


BROKEN = Installer("broken", (sys.executable, "-c", "raise SystemExit('no route to the registry')"))
