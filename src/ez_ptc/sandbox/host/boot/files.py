"""The worker's source files as files on disk, for another interpreter."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from ez_ptc.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Generator
    from importlib.resources.abc import Traversable

__all__ = ["boot_file"]

_FOLDER = Path(__file__).parents[2]
_BOOT = "worker/boot.py"
_KINDS = (".py", ".bpf")


@contextlib.contextmanager
def boot_file() -> Generator[Path]:
    """Yield the path of the zygote's first file; it is needed until the zygote is ready.

    If this library is in an archive, such as a zipapp, the files are unpacked into a temporary private folder. The
    zygote keeps in memory what it has read.

    Raises:
        SandboxError: The files are missing, or there is no folder to unpack them into.
    """
    if (_FOLDER / _BOOT).is_file():
        yield _FOLDER / _BOOT
        return
    # Rarely needed.
    import tempfile
    from importlib import resources

    with contextlib.ExitStack() as at_end:
        try:
            folder = Path(at_end.enter_context(tempfile.TemporaryDirectory(prefix="ez-ptc-")))
        except OSError as error:
            message = (
                f"expected a folder for temporary files, to unpack the sandbox's files in, got {error}: set TMPDIR"
            )
            raise SandboxError(message) from error
        # A packer that omits the folder leaves no trace of it.
        with contextlib.suppress(FileNotFoundError):
            _unpack(resources.files("ez_ptc.sandbox"), folder)
        if not (folder / _BOOT).is_file():
            message = (
                "expected the source files of ez_ptc/sandbox, which another interpreter runs, but this "
                "application was packed without them: have the packer copy that folder (PyInstaller: --add-data "
                "…/ez_ptc/sandbox:ez_ptc/sandbox)"
            )
            raise SandboxError(message)
        yield folder / _BOOT


def _unpack(source: Traversable, target: Path) -> None:
    for entry in source.iterdir():
        if entry.is_dir():
            (target / entry.name).mkdir()
            _unpack(entry, target / entry.name)
        elif entry.name.endswith(_KINDS):
            (target / entry.name).write_bytes(entry.read_bytes())
