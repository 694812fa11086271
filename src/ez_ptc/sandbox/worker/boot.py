"""The zygote's first file, started by path with an environment of its own.

It makes some folders beside its own importable in the package `ez_sandbox`, and nothing above them: no other part of
ez_ptc is ever imported here. Its arguments are the descriptor of the control socket, the packages for programs with
their folders as JSON, the folder of an extension, and `fix` to have the same addresses at every boot.
"""

from __future__ import annotations

import _frozen_importlib_external as external
import errno
import fcntl
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

    from .stdlib import Modules
else:
    # The module `signal` imports others, and nothing may be imported before it can be kept.
    import _signal as signal

__all__ = ["describe", "end_with_host", "fix_addresses", "load_package", "lowest", "reset_signals"]

_PACKAGE = "ez_sandbox"
# The folders that workers need. Without a module of the host among them, programs cannot look at one.
_FOLDERS = ("protocol/both_ends", "protocol/values", "check", "worker")
_ABOVE = ("", "protocol")
_OF_EXTENSIONS = ("both_ends", "zygote")
_NOT_RANDOM = 0x0040000
_FIXED = "fixed"
_SHELF_SIZE = "32 MB"
_FIRST_FD = 3
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def reset_signals() -> None:
    """Reset the signals the host blocks and ignores: both are inherited, and signals stop programs."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals():
        if number not in _IGNORED_BY_PYTHON and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def load_package() -> Modules:
    """Make our package and the standard library importable from memory; return the finder that keeps them."""
    folder, home = os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0]))), os.path.dirname(os.__file__)
    module = type(sys)(f"{_PACKAGE}.worker.stdlib")
    external.SourceFileLoader(module.__name__, f"{folder}/worker/stdlib.py").exec_module(module)
    sys.modules[module.__name__] = module
    # Modules loaded already have recorded their paths.
    for candidate in gc.get_objects():
        if type(candidate) is type(load_package):
            filename = candidate.__code__.co_filename
            module.rename(candidate.__code__, filename.replace(folder, "<sandbox>").replace(home, "<stdlib>"))
    module.rename(sys._getframe(1).f_code, "<sandbox>/worker/boot.py")  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the code that calls
    modules: Modules = module.Modules()
    extension = sys.argv[3]
    for name in (*_ABOVE, *([extension] if extension else [])):
        modules.keep_package(*_place(folder, name))
    for name in (*_FOLDERS, *(f"{extension}/{name}" for name in _OF_EXTENSIONS if extension)):
        modules.keep(*_place(folder, name))
    modules.keep(home, "", "<stdlib>")
    sys.meta_path.insert(0, modules)
    return modules


def _place(folder: str, name: str) -> tuple[str, str, str]:
    """Return a folder of ours, the package that it is, and its name in tracebacks."""
    below = f"/{name}".rstrip("/")
    return folder + below, _PACKAGE + below.replace("/", "."), "<sandbox>" + below


def end_with_host(control_fd: int, *, now: bool) -> None:
    """Let the kernel kill this process if the host ends during the boot; later, the zygote notices itself."""
    flags = fcntl.fcntl(control_fd, fcntl.F_GETFL) & ~os.O_ASYNC
    fcntl.fcntl(control_fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(control_fd, fcntl.F_SETFL, flags | (os.O_ASYNC if now else 0))


def lowest(fd: int) -> int:
    """Move a descriptor to the lowest free number, and return that.

    It arrives with its number in the host, which may have thousands open; workers close the low ones, and must not keep
    this one.
    """
    low = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_FD)
    os.close(max(fd, low))
    return min(fd, low)


def fix_addresses() -> None:
    """Start again without address randomization; continue with it if the kernel refuses."""
    import ctypes

    if ctypes.CDLL(None).personality(_NOT_RANDOM) != -1:
        os.execv(sys.executable, [*sys.orig_argv[:-1], _FIXED])  # noqa: S606 - starts itself again


def describe(error: OSError) -> str:
    """Return why the standard library could not be read."""
    if error.errno == errno.EFBIG:
        return f"the standard library is kept in a file in memory, and RLIMIT_FSIZE allows none of {_SHELF_SIZE}"
    return f"the standard library cannot be read: {error}"


if __name__ == "__main__":
    reset_signals()
    end_with_host(int(sys.argv[1]), now=True)
    if sys.argv[4] == "fix":
        fix_addresses()
    control_fd = lowest(int(sys.argv[1]))
    # Nothing allocated from here on is freed, so garbage collection only costs time.
    gc.disable()
    try:
        kept = load_package()
    except OSError as error:
        # The message `BootFailed` of the module `control`, which cannot be imported without the standard library.
        reason = describe(error).replace("\\", "\\\\").replace('"', '\\"')
        os.write(control_fd, f'E["{reason}"]'.encode())
        sys.exit(0)
    __import__(f"{_PACKAGE}.worker.lifecycle.startup").worker.lifecycle.startup.main(control_fd, kept)
