"""Starting the zygote's process, with an environment of its own and one end of the control socket."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ez_ptc._forks import without_forks
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.host.boot.host import MARK
from ez_ptc.sandbox.host.packages import dependencies_of
from ez_ptc.sandbox.host.workers.orders import LIMITS_OF_PROCESSES

if TYPE_CHECKING:
    from collections.abc import Generator
    from importlib.resources.abc import Traversable

    from ez_ptc.sandbox.host.boot.extension import WorkerExtension
    from ez_ptc.sandbox.host.boot.interpreter import Interpreter
    from ez_ptc.sandbox.host.packages import Packages

__all__ = ["ZygoteSettings", "boot_file", "close_stderr", "start_zygote"]

_FOLDER = Path(__file__).parents[2]
_BOOT = "worker/boot.py"
_KINDS = (".py", ".bpf")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZygoteSettings:
    """The settings of a zygote.

    Attributes:
        packages: Packages programs may import in addition to the standard library.
        python: The interpreter to start; None for this process's.
        deterministic: Disable address randomization, so that all workers have equal addresses.
        extension: Changes what becomes of workers; None ends each one after its program.
        keeps_user: Have workers keep the user of a host that is root, which could not end those of another one.
    """

    packages: Packages
    python: str | None = None
    deterministic: bool = False
    extension: WorkerExtension | None = None
    keeps_user: bool = False


_LIMITED = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
# -I and -E would ignore PYTHONHASHSEED; -S omits site-packages, -P the script's folder.
_FLAGS = ("-P", "-s", "-S", "-X", "utf8")
# LD_BIND_NOW resolves library functions once at boot, instead of in each worker's copied pages.
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHON_JIT": "0", "TZ": "UTC", "LD_BIND_NOW": "1", MARK: "1"}
# A numeric library would start its threads at import, and they do not survive a fork.
_ONE_THREAD = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "BLIS", "RAYON")},
    "POLARS_MAX_THREADS": "1",
    # Compiling at run time needs executable memory, which workers cannot get.
    "NUMBA_DISABLE_JIT": "1",
    # The allocators of Arrow, which pandas imports if installed, and of polars would free memory in threads.
    **dict.fromkeys(("JE_ARROW_MALLOC_CONF", "_RJEM_MALLOC_CONF"), "background_thread:false"),
}
# A host without standard streams uses their numbers for its sockets, but the zygote has streams there.
_FIRST_FD = 3


def close_stderr(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe of the process's standard error."""
    if process.stderr is not None:
        process.stderr.close()


def start_zygote(
    settings: ZygoteSettings, interpreter: Interpreter, boot: Path
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Return the host's end of the control socket, and the process with the other end. Raises SandboxError."""
    import fcntl  # Linux alone has all of it, and this module is imported elsewhere too

    with contextlib.ExitStack() as on_failure:
        try:
            with without_forks():
                control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                on_failure.enter_context(control)
                with theirs, socket.socket(fileno=fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, _FIRST_FD)) as inherited:
                    process = _popen(settings, interpreter, boot, inherited.fileno())
        except OSError as error:
            what_to_do = ""
            if error.errno in _LIMITED:
                what_to_do = f": {LIMITS_OF_PROCESSES}"
            message = f"the sandbox cannot be started ({error}){what_to_do}"
            raise SandboxError(message) from error
        on_failure.pop_all()
        return control, process


def _popen(settings: ZygoteSettings, interpreter: Interpreter, boot: Path, control_fd: int) -> subprocess.Popen[bytes]:
    flags = _FLAGS
    if sys.dont_write_bytecode or sys.pycache_prefix is not None:
        flags = [*_FLAGS, "-B"]
    packages = settings.packages
    needed = dependencies_of(packages.names) if packages.names else ()
    wanted = json.dumps([packages.names, packages.places, needed, settings.keeps_user])
    extension = "" if settings.extension is None else settings.extension.folder
    arguments = [os.fspath(boot), str(control_fd), wanted, extension, "fix" if settings.deterministic else ""]
    return subprocess.Popen(
        [interpreter.path, *flags, *arguments],
        env={**interpreter.environment, **_ENVIRONMENT, **(_ONE_THREAD if packages.names else {})},
        cwd="/",
        pass_fds=[control_fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


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
