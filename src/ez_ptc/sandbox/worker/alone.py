"""A worker without a zygote, for backends that isolate its process in another way, such as a container.

    python -m ez_ptc.sandbox.worker.alone 3

sends the byte `R` over the socket with this descriptor, and then runs the programs that come over it, until it is
closed. Nothing here confines the process: there is no filter of system calls, no namespace, and files are where they
are. Python must heed PYTHONHASHSEED, so instead of its option -I, start it with -s -P and an empty environment.
"""

from __future__ import annotations

import os
import sys

from ..check import report
from .kernel.pipe import DescriptorPipe
from .kernel.platform import KernelPlatform, measure_memory
from .running import async_support, call_paths, recursion
from .running.link import HostGoneError, Link
from .running.runtime import Runtime, replace_builtins

__all__ = ["main"]

# The order of sets of texts, which recorded programs rely on.
_HASHES = {"PYTHONHASHSEED": "0"}
_INSTEAD = "start it with -s -P and an empty environment instead, which isolate it as well"


def main(fd: int) -> None:
    """Run programs until the host closes the socket."""
    if sys.flags.hash_randomization and _HASHES.items() <= os.environ.items():
        # Would be so again, and again.
        options = "-I or -E" if sys.flags.ignore_environment else "-R"
        sys.exit(f"a worker's Python was started with {options}, so it ignores PYTHONHASHSEED: {_INSTEAD}")
    if sys.flags.hash_randomization:
        os.set_inheritable(fd, True)  # noqa: FBT003 - the function takes no name
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **_HASHES})  # noqa: S606 - starts itself again
    os.set_inheritable(fd, False)  # noqa: FBT003 - as above
    call_paths.install()
    async_support.install()
    recursion.install()
    report.install(())
    replace_builtins()
    runtime = Runtime(Link(DescriptorPipe(fd, fd)), KernelPlatform(measure_memory()))
    sys.argv = ["<program>"]
    runtime.enter()
    try:
        os.write(fd, b"R")
        while True:
            runtime.serve()
    except (HostGoneError, OSError):
        os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
