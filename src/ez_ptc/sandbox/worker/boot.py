"""The first file of the zygote, started by path with an environment of its own.

It makes its own folder importable as a package, called ``ez_worker``, without making the folders above visible: nothing
of ez_ptc outside this folder is ever imported here. Its arguments are the descriptor of the control socket, as JSON the
packages that programs may import and where they are, and ``fix`` if every boot shall have the same addresses.
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
    # The module of this name reads others, and nothing is to be read before it can be kept.
    import _signal as signal

__all__ = ["describe", "end_with_host", "fix_addresses", "load_package", "lowest", "reset_signals"]

_PACKAGE = "ez_worker"
_NOT_RANDOM = 0x0040000
_FIXED = "fixed"
_SHELF_SIZE = "32 MB"
_FIRST_FD = 3
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def reset_signals() -> None:
    """Forget which signals the host blocks and ignores: both are inherited, and programs are stopped by signals."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals():
        if number not in _IGNORED_BY_PYTHON and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def load_package() -> Modules:
    """Make this folder's package and the standard library importable, both from memory; return what keeps them."""
    folder, home = os.path.dirname(os.path.abspath(sys.argv[0])), os.path.dirname(os.__file__)
    module = type(sys)(f"{_PACKAGE}.stdlib")
    external.SourceFileLoader(module.__name__, f"{folder}/stdlib.py").exec_module(module)
    sys.modules[module.__name__] = module
    # Whatever is loaded already knows where it came from.
    for found in gc.get_objects():
        if type(found) is type(load_package):
            place = found.__code__.co_filename
            module.rename(found.__code__, place.replace(folder, "<sandbox>").replace(home, "<stdlib>"))
    module.rename(sys._getframe(1).f_code, "<sandbox>/boot.py")  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the code that calls
    modules: Modules = module.Modules()
    modules.keep(folder, _PACKAGE, "<sandbox>")
    modules.keep(home, "", "<stdlib>")
    sys.meta_path.insert(0, modules)
    return modules


def end_with_host(control_fd: int, *, now: bool) -> None:
    """Let the kernel end this process if the host ends while it boots; later it sees for itself."""
    flags = fcntl.fcntl(control_fd, fcntl.F_GETFL) & ~os.O_ASYNC
    fcntl.fcntl(control_fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(control_fd, fcntl.F_SETFL, flags | (os.O_ASYNC if now else 0))


def lowest(fd: int) -> int:
    """Move a descriptor to the lowest number there is, and return that.

    It comes with the number that it has in the host, which may have thousands open; workers close the low ones, and
    must not be left with this one.
    """
    low = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_FD)
    os.close(max(fd, low))
    return min(fd, low)


def fix_addresses() -> None:
    """Start once more, with everything at the same addresses each time; go on where the kernel refuses it."""
    import ctypes

    if ctypes.CDLL(None).personality(_NOT_RANDOM) != -1:
        os.execv(sys.executable, [*sys.orig_argv[:-1], _FIXED])  # noqa: S606 - starts itself again


def describe(error: OSError) -> str:
    """Say why the standard library could not be read."""
    if error.errno == errno.EFBIG:
        return f"the standard library is kept in a file in memory, and RLIMIT_FSIZE allows none of {_SHELF_SIZE}"
    return f"the standard library cannot be read: {error}"


if __name__ == "__main__":
    reset_signals()
    end_with_host(int(sys.argv[1]), now=True)
    if sys.argv[3] == "fix":
        fix_addresses()
    control_fd = lowest(int(sys.argv[1]))
    # What is made from here on is never given back: no use in looking for what might be.
    gc.disable()
    try:
        kept = load_package()
    except OSError as error:
        os.write(control_fd, f"E{describe(error)}".encode())
        sys.exit(0)
    __import__(f"{_PACKAGE}.lifecycle.startup").lifecycle.startup.main(control_fd, kept)
