"""The same interpreter, started for each program: what CPU-bound work is compared to. It offers no tools."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from benchmarks.peers.subject import Subject

__all__ = ["COMMAND", "ColdSubject", "start"]

_RUNNER = """
import ast, json, sys
tree = ast.parse(sys.stdin.read())
last = tree.body[-1]
if isinstance(last, ast.Expr):
    name = ast.copy_location(ast.Name("result", ast.Store()), last)
    tree.body[-1] = ast.copy_location(ast.Assign([name], last.value), last)
namespace = {"__name__": "__main__"}
exec(compile(tree, "<program>", "exec"), namespace)
print(json.dumps(namespace.get("result")))
"""


COMMAND = (sys.executable, "-I", "-S", "-c", _RUNNER)


def start() -> Subject:
    """Return what starts an interpreter for each program."""
    return ColdSubject(COMMAND)


class ColdSubject:
    """Starts a command for each program."""

    offers_tools = False

    def __init__(self, command: Sequence[str]) -> None:
        """Take a command that reads a program and writes the value of its last expression as JSON."""
        self._command = command

    def run(self, code: str) -> object:
        """Start the command and wait for its end."""
        done = subprocess.run(self._command, input=code, capture_output=True, text=True, check=True)
        answer: object = json.loads(done.stdout)
        return answer

    def session(self) -> AbstractContextManager[Callable[[str], object] | None]:
        """Return nothing: each program has its own interpreter."""
        return nullcontext()

    def close(self) -> None:
        """Nothing is left running."""
