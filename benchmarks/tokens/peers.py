"""A peer as this process sees it: its requests for each task, from a process in its own environment."""

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.tokens.spending import Turn
from benchmarks.tokens.traces import Trace

__all__ = ["PeerFailedError", "ask_peer"]

_ROOT: Final = Path(__file__).resolve().parents[2]
# Elapsed seconds for each of CPU time.
_MAX_WAIT: Final = 8


class PeerFailedError(Exception):
    """A peer's process has no answer; the message says why."""


def ask_peer(name: str, count: int, traces: Sequence[Trace], environments: Path, seconds: float) -> list[list[Turn]]:
    """Return the requests of each task with so many tools.

    Raises PeerFailedError if that takes more than `seconds` of CPU time, or many times as long beside other work.
    """
    if seconds < 1:
        message = "the time of all peers is used up"
        raise PeerFailedError(message)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    python = environments.absolute() / name / "bin" / "python"
    if not python.exists():
        message = "its environment is not installed"
        raise PeerFailedError(message)
    process = subprocess.Popen(
        [python, "-m", "benchmarks.tokens.measurer", name, str(count)],
        cwd=_ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    if sys.platform == "linux":
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (int(seconds), int(seconds)))
    timer = threading.Timer(_MAX_WAIT * seconds, process.kill)
    timer.start()
    try:
        return list(_converse(process, traces))
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def _converse(process: "subprocess.Popen[str]", traces: Sequence[Trace]) -> Iterator[list[Turn]]:
    texts: list[str] = []
    for trace in traces:
        task = [trace.task.world, trace.task.question, trace.names, trace.task.program.strip(), trace.printed]
        if process.stdin is None or process.stdout is None:
            return
        try:
            print(json.dumps(task), file=process.stdin, flush=True)
        except BrokenPipeError:
            message = "its process has ended"
            raise PeerFailedError(message) from None
        line = process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"problem": "its process has ended, or took too long"}
        if "problem" in answer:
            raise PeerFailedError(answer["problem"])
        texts += answer["texts"]
        yield [Turn(texts[number], said, told) for number, said, told in answer["turns"]]
