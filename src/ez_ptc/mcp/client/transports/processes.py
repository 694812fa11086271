"""Starting and ending the processes of servers. The SDK is not imported here: it takes as long as a server does."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ez_ptc._forks import without_forks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ez_ptc.mcp.client.servers import ServerAddress

__all__ = ["ServerProcess", "end_process", "inherited_environment"]

_INHERITED: Final = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
# Seconds for a server to exit after its input has ended, and after it was asked to.
_EXIT_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.01


class ServerProcess:
    """The process of a server on standard input and output, which may be started before it is needed."""

    def __init__(self, address: ServerAddress) -> None:
        self.address: Final = address
        self._starting: asyncio.Future[subprocess.Popen[bytes]] | None = None

    def start(self) -> None:
        """Begin to start the process, in the running loop, unless it is starting or the server is no command."""
        # In a thread of the loop's own, because some processes die with the thread that started them.
        if self._starting is None and self.address.command:
            self._starting = asyncio.get_running_loop().run_in_executor(None, _spawn, self.address)

    async def take(self) -> subprocess.Popen[bytes]:
        """Return the process, for the caller to end; the next call starts another one.

        Raises OSError if it cannot be started, ValueError if an argument contains a NUL.
        """
        self.start()
        starting, self._starting = self._starting, None
        if starting is None:
            raise AssertionError
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_discard)
            raise

    async def discard(self) -> None:
        """End a process that was not taken."""
        starting, self._starting = self._starting, None
        if starting is not None:
            await asyncio.wait([starting])
            _discard(starting)


def _spawn(address: ServerAddress) -> subprocess.Popen[bytes]:
    with without_forks():
        return subprocess.Popen(
            address.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={**inherited_environment(), **address.env},
            cwd=address.cwd,
            start_new_session=True,
        )


def inherited_environment() -> Mapping[str, str]:
    """Return the variables that the SDK passes on to servers too: those without secrets."""
    # A value that begins so is a function of the shell.
    return {key: os.environ[key] for key in _INHERITED if not os.environ.get(key, "()").startswith("()")}


def _discard(starting: asyncio.Future[subprocess.Popen[bytes]]) -> None:
    if not starting.cancelled() and starting.exception() is None:
        # Not until its streams end, because a descendant that has left its group may hold them.
        with starting.result() as process:
            _signal_group(process, signal.SIGKILL)


async def end_process(process: subprocess.Popen[bytes], is_released: Callable[[], bool]) -> None:
    """Wait for the end of a process whose input has ended; signal its group if that takes long.

    Descendants of it count as long as they hold its output, which `is_released` tells.
    """
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        if await _has_ended(process, is_released):
            return
        _signal_group(process, signal_number)
    await _has_ended(process, is_released)
    process.poll()


async def _has_ended(process: subprocess.Popen[bytes], is_released: Callable[[], bool]) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(_EXIT_SECONDS):
            # Not polled before, because that would give up its id, which is the group's.
            while not (is_released() and process.poll() is not None):  # noqa: ASYNC110 - nothing on all systems tells of the end
                await asyncio.sleep(_POLL_SECONDS)
    return process.returncode is not None


def _signal_group(process: subprocess.Popen[bytes], signal_number: int) -> None:
    # Its group is its own, and has its id as long as it has not been waited for.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal_number)
