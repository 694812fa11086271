"""``python -m benchmarks.model``: tasks for a small model, the same for every subject; only what it reads differs.

A task is right at the first try when the first program prints and changes what it should; while a program fails, the
model is told what the subject tells of it, twice at most. Prints a row for each subject, and what went wrong with `-v`.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.model.asking import ask, continued
from benchmarks.model.marking import is_right
from benchmarks.model.process import Process, interpreter
from benchmarks.model.subjects import SUBJECTS
from benchmarks.model.tasks import KINDS, TASKS, Task
from benchmarks.model.worlds import WORLDS
from ez_ptc.providers.local import QWEN_CODER, LocalServer, cache_directory, ensure_model

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["attempts", "judged", "kin_of", "main"]

_ATTEMPTS: Final = 3


def main() -> None:
    """Ask, and print."""
    from openai import OpenAI

    parser = argparse.ArgumentParser(prog="python -m benchmarks.model", description=__doc__)
    parser.add_argument("--subjects", default=",".join(SUBJECTS), help="which, with commas between them")
    parser.add_argument("--environments", type=Path, default=Path(".venv/model"), help="where the peers are installed")
    parser.add_argument("--only", type=int, default=len(TASKS), help="how many tasks, spread over all")
    parser.add_argument("-v", action="store_true", help="show what was not right at the first try")
    options = parser.parse_args()
    tasks = TASKS[:: max(1, len(TASKS) // options.only)]
    path = ensure_model(QWEN_CODER, cache_directory())
    print(f"{'right after':16}" + "".join(f"{number:>6}" for number in range(1, _ATTEMPTS + 1)) + "   programs")
    for subject in options.subjects.split(","):
        python = interpreter(subject, options.environments)
        with LocalServer(QWEN_CODER, path, calls_tools=subject.endswith("_tool")) as server:
            client = OpenAI(base_url=server.url, api_key=server.key)
            found = [
                each for place in WORLDS for each in _of_world(client, subject, place, python, tasks, verbose=options.v)
            ]
        counts = [sum(repairs <= most for repairs in found) for most in range(_ATTEMPTS)]
        print(f"{subject:16}" + "".join(f"{count:>6}" for count in counts) + f"   of {len(found)}", flush=True)


def _of_world(
    client: "OpenAI", subject: str, place: str, python: str, tasks: Sequence[Task], *, verbose: bool
) -> Iterator[int]:
    """Yield for each task of a world how many repairs it took."""
    with closing(Process("ours", place, sys.executable)) as judge, closing(Process(subject, place, python)) as process:
        for task in tasks:
            if task.world == place:
                yield attempts(client, task, process, judged(judge, task), verbose=verbose)


def judged(judge: Process, task: Task) -> tuple[str, list[Any]]:
    """Return what the right program prints and changes."""
    judge.ask("begin", task.question)
    outcome = judge.ask("run", f"```python\n{task.program}\n```")
    assert outcome["success"], outcome
    return outcome["printed"], judge.ask("effects")


def kin_of(wanted: str) -> tuple[str, ...]:
    """Return all names of the kind of those wanted."""
    return next((kind for kind in KINDS if any(name in wanted for name in kind)), ())


def attempts(client: "OpenAI", task: Task, process: Process, wanted: tuple[str, list[Any]], *, verbose: bool) -> int:
    """Return after how many repairs the task was done right; the most there are and one where it was not."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": process.system}] if process.system else []
    messages.append({"role": "user", "content": process.ask("begin", task.question)})
    log = [f"--- {task.question}"]
    for number in range(_ATTEMPTS):
        asked = ask(client, QWEN_CODER.name, messages, tools=process.tools, stop=process.stop)
        outcome = process.ask("run", asked.text)
        effects = process.ask("effects")
        log += [asked.text, f">>> {outcome['told']}"]
        if outcome["success"] and is_right(outcome["printed"], effects, *wanted, kin_of(wanted[0])):
            if number and verbose:
                print("\n".join(log), f"\n=== right after {number} repairs, wanted {wanted}", flush=True)
            return number
        if outcome["success"] and (outcome["printed"].strip() or effects):
            break
        messages += continued(asked, outcome["told"])
    if verbose:
        print("\n".join(log), f"\n=== WRONG, wanted {wanted}", flush=True)
    return _ATTEMPTS


if __name__ == "__main__":
    main()
