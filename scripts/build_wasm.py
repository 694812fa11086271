"""Build the WebAssembly component of `packages/ez-ptc-wasm`: the worker, CPython and its standard library.

    make wasm

Nothing is built if the component is newer than its sources. Their hash is recorded beside it: two builds of the same
sources differ in bytes, since CPython draws random numbers when it starts.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["PACKAGE", "main", "source_hash"]

ROOT = Path(__file__).resolve().parents[1]
SANDBOX = ROOT / "src/ez_ptc/sandbox"
GUEST = ROOT / "packages/ez-ptc-wasm/guest"
PACKAGE = ROOT / "packages/ez-ptc-wasm/src/ez_ptc_wasm"
# What all workers need, and those in WebAssembly; of the packages above, only the names are needed.
FOLDERS = ("protocol/both_ends", "protocol/values", "check", "worker", "wasm/guest")
ABOVE = ("", "protocol", "wasm")
# Parts of the kernel backend.
LEFT_OUT = frozenset(("kernel", "lifecycle", "alone.py", "boot.py", "control.py", "stdlib.py", "__pycache__"))
INPUTS = ("componentize-py", "tzdata")
COMMAND = ("-d", "worker.wit", "-w", "worker", "componentize", "app", "-p", ".", "-o", "worker.wasm")


def sources() -> dict[str, Path]:
    """Return the files that go into the component, by their paths in it."""
    files = {path.name: path for path in sorted(GUEST.iterdir()) if path.is_file()}
    modules = [SANDBOX / folder / "__init__.py" for folder in ABOVE]
    modules += [path for folder in FOLDERS for path in sorted((SANDBOX / folder).rglob("*.py"))]
    for path in modules:
        name = path.relative_to(SANDBOX)
        if not LEFT_OUT & set(name.parts):
            files[f"ez_sandbox/{name.as_posix()}"] = path
    return files


def source_hash() -> str:
    """Return the SHA-256 of all sources and their paths, and of the versions of the packages they are built with."""
    digest = hashlib.sha256(" ".join(f"{name} {metadata.version(name)}" for name in INPUTS).encode())
    for name, path in sources().items():
        digest.update(b"%b\0%d\0%b" % (name.encode(), path.stat().st_size, path.read_bytes()))
    return digest.hexdigest()


def time_zones() -> dict[str, bytes]:
    """Return the data of all time zones by name."""
    folder = resources.files("tzdata")
    names = folder.joinpath("zones").read_text(encoding="utf-8").split()
    return {name: folder.joinpath("zoneinfo", name).read_bytes() for name in names}


def is_whole() -> bool:
    """Return whether the component is there, with its own hash beside it."""
    component, digest = PACKAGE / "worker.wasm", PACKAGE / "worker.sha256"
    if not (component.exists() and digest.exists()):
        return False
    return hashlib.sha256(component.read_bytes()).hexdigest() == digest.read_text().strip()


def main() -> None:
    """Build the component, unless it is built, and record its own hash and that of its sources."""
    record = PACKAGE / "sources.sha256"
    expected = source_hash()
    if record.exists() and record.read_text() == expected and is_whole():
        return
    record.unlink(missing_ok=True)
    with TemporaryDirectory() as folder:
        inputs = Path(folder)
        for name, path in sources().items():
            (inputs / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, inputs / name)
        (inputs / "zones.py").write_text(f"ZONES = {time_zones()!r}\n")
        subprocess.run([Path(sys.executable).with_name("componentize-py"), *COMMAND], cwd=inputs, check=True)
        component = (inputs / "worker.wasm").read_bytes()
    (PACKAGE / "worker.wasm").write_bytes(component)
    (PACKAGE / "worker.sha256").write_text(hashlib.sha256(component).hexdigest())
    record.write_text(expected)


if __name__ == "__main__":
    main()
