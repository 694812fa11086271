"""The same interpreter, started for each program: what CPU-bound work is compared to. It offers no tools."""

import json
import subprocess
import sys

from benchmarks.peers.subject import Subject

__all__ = ["start"]

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


def start() -> Subject:
    """Return what starts an interpreter for each program."""
    return _Cold()


class _Cold:
    offers_tools = False

    def run(self, code: str) -> object:
        command = [sys.executable, "-I", "-S", "-c", _RUNNER]
        done = subprocess.run(command, input=code, capture_output=True, text=True, check=True)
        answer: object = json.loads(done.stdout)
        return answer

    def close(self) -> None:
        """Nothing is left running."""
