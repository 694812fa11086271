"""The same interpreter, started for each program: what CPU-bound work is compared to. It offers no tools."""

import json
import subprocess
import sys

from benchmarks.peers.subject import TimedSubject

__all__ = ["start"]

_RUNNER = """
import ast, json, sys, time
tree = ast.parse(sys.stdin.read())
last = tree.body[-1]
if isinstance(last, ast.Expr):
    name = ast.copy_location(ast.Name("result", ast.Store()), last)
    tree.body[-1] = ast.copy_location(ast.Assign([name], last.value), last)
namespace = {"__name__": "__main__"}
code = compile(tree, "<program>", "exec")
began = time.perf_counter()
exec(code, namespace)
took = time.perf_counter() - began
print(json.dumps([namespace.get("result"), took]))
"""


def start() -> TimedSubject:
    """Return what starts an interpreter for each program."""
    return _Cold()


class _Cold:
    offers_tools = False

    def run(self, code: str) -> object:
        return self._run(code)[0]

    def seconds(self, code: str) -> float:
        took = self._run(code)[1]
        if not isinstance(took, float):
            message = "the interpreter answered no time"
            raise TypeError(message)
        return took

    def close(self) -> None:
        """Nothing is left running."""

    @staticmethod
    def _run(code: str) -> list[object]:
        command = [sys.executable, "-I", "-S", "-c", _RUNNER]
        done = subprocess.run(command, input=code, capture_output=True, text=True, check=True)
        answer: list[object] = json.loads(done.stdout)
        return answer
