"""The server of a local model, in a process that ends with this one."""

from __future__ import annotations

import json
import queue
import secrets
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Final, Self

from examples.demo.local.progress import quiet
from ez_ptc._extras import import_extra
from ez_ptc.errors import MissingExtraError, ProviderError

if TYPE_CHECKING:
    from types import TracebackType

    from examples.demo.local.model import LocalModel
    from examples.demo.local.progress import Progress

__all__ = ["LocalServer", "require_engine"]

_PROGRAM: Final = Path(__file__).with_name("serve.py")
_TEMPLATE: Final = Path(__file__).with_name("calls.jinja")
_CONTEXT: Final = 8192
# Seconds between two progress reports.
_TICK: Final = 0.1
_PATIENCE: Final = 5.0
_LAST_WORDS: Final = 300


def require_engine() -> None:
    """Import the engine. Raises MissingExtraError if it is not installed, or lacks a library of the system."""
    try:
        import_extra("xllamacpp", extra="local")
    except MissingExtraError:
        raise
    except ImportError as error:  # from the system's loader
        message = (
            f"xllamacpp cannot be loaded: {error}; install the library with your system's packages, such as GNU OpenMP "
            f"on Debian and Ubuntu with: apt install libgomp1"
        )
        raise MissingExtraError(message) from error


class LocalServer:
    """Serves a model on loopback, with OpenAI's Chat Completions API, for the duration of its context.

    `url` and `key` are for its client. The key is new each time, so that no other program on this machine, such as a
    web page, can use the server.
    """

    def __init__(
        self,
        model: LocalModel,
        path: Path,
        *,
        context: int = _CONTEXT,
        calls_tools: bool = False,
        progress: Progress = quiet,
        patience: float = _PATIENCE,
    ) -> None:
        """Prepare to serve `model` from the file at `path`, with a context of `context` tokens.

        With `calls_tools`, tools are described in a format the model can call them by; its own template has none that
        works. `patience` is the seconds the server has to end before it is killed.

        Raises:
            MissingExtraError: The engine is not installed, or lacks a library of the system.
        """
        require_engine()
        self.url = ""
        self.key: Final = secrets.token_urlsafe(16)
        self._model: Final = model
        self._settings: Final = {
            "path": str(path),
            "alias": model.name,
            "context": context,
            "key": self.key,
            "template": _TEMPLATE.read_text(encoding="utf-8") if calls_tools else "",
        }
        self._progress: Final = progress
        self._patience: Final = patience
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Start the server and wait until it has loaded the model.

        Raises:
            ProviderError: The model cannot be loaded, or there is too little memory for it.
        """
        # The system would kill a process without a message.
        available = _kilobytes(Path("/proc/meminfo"), "MemAvailable:")
        if available is not None and available * 1024 < self._model.memory:
            needed, free = self._model.memory / 1e9, available / 1e6
            message = f"{self._model.name} takes {needed:.1f} GB of memory, and {free:.1f} GB are free"
            raise ProviderError(message)
        with TemporaryFile("w+") as words:
            self.process = subprocess.Popen(
                [sys.executable, "-P", str(_PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
                start_new_session=True,
            )
            try:
                self.url = self._load(self.process, words)
            except BaseException:
                self.process.kill()
                self.close()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server and wait for its end. Closing twice is harmless."""
        process, self.process = self.process, None
        if process is None:
            return
        try:
            process.communicate(timeout=self._patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def _load(self, process: subprocess.Popen[str], words: IO[str]) -> str:
        """Send the settings, report the progress of loading, and return the server's URL."""
        if process.stdin is None or process.stdout is None:
            message = "a process was started without the pipes that were asked for"
            raise AssertionError(message)
        stdin, stdout = process.stdin, process.stdout
        with suppress(BrokenPipeError):  # it has ended already; its last lines have the reason
            stdin.write(json.dumps(self._settings) + "\n")
            stdin.flush()
        total = self._model.memory
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        # In a thread, because Windows cannot wait for a pipe.
        threading.Thread(target=lambda: lines.put(stdout.readline()), daemon=True).start()
        line = None
        while line is None:
            try:
                line = lines.get(timeout=_TICK)
            except queue.Empty:
                resident = (_kilobytes(Path(f"/proc/{process.pid}/status"), "VmRSS:") or 0) * 1024
                self._progress("load", done=min(resident, total - 1), total=total)
        answer: dict[str, str] = json.loads(line) if line else {}
        if "url" not in answer:
            words.seek(0)
            reason = (
                answer.get("error")
                or words.read().strip().rpartition("\n")[2][-_LAST_WORDS:]
                or "it ended without a word"
            )
            message = f"{self._model.name} cannot be loaded: {reason}"
            raise ProviderError(message)
        self._progress("load", done=total, total=total)
        return f"{answer['url']}/v1"


def _kilobytes(file: Path, name: str) -> int | None:
    """Return a number from a table of the kernel; None without such a table or row."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), None)
