"""Run a command many times, every second time beside two busy loops, and stop where it first fails.

    python scripts/repeat.py [TIMES] -- COMMAND ...

The output of the run that failed stays in the file that is named then.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["main"]

_TIMES: Final = 20
_LOOPS: Final = 2


@contextmanager
def _busy_loops(count: int) -> Generator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _run(command: Sequence[str], log: Path) -> bool:
    with log.open("wb") as output:
        return subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False).returncode == 0


def main(arguments: Sequence[str]) -> int:
    """Run the command; return an exit code."""
    at = arguments.index("--")
    times = int(arguments[0]) if at else _TIMES
    log = Path(tempfile.mkdtemp(prefix="test-repeatedly-")) / "output.txt"
    for number in range(1, times + 1):
        loops = 0 if number % 2 else _LOOPS
        started = time.monotonic()
        with _busy_loops(loops):
            passed = _run(arguments[at + 1 :], log)
        seconds = time.monotonic() - started
        print(f"{number} of {times}: {'passed' if passed else 'FAILED'} in {seconds:.0f} s", end="", flush=True)
        print(f", beside {loops} busy loops" if loops else "", flush=True)
        if not passed:
            print(f"its output is in {log}")
            return 1
    log.unlink()
    log.parent.rmdir()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
