"""``python -m benchmarks.model``: tasks for a small model, the same for every subject; only what it reads differs.

A task is right at the first try when the first program prints and changes what it should; while a program fails, the
model is told what the subject tells of it, twice at most. A program that only searches among the tools is no try, twice
at most. Prints a row for each subject and each kind of tasks, and
with `-v` what went wrong, but not of the tasks that are held back, unless `--show-held`.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.model.asking import ask, continued
from benchmarks.model.marking import is_right
from benchmarks.model.process import Process, interpreter
from benchmarks.model.scores import MAX_PROGRAMS, describe
from benchmarks.model.subjects import SUBJECTS
from benchmarks.model.tasks import FOREIGN_TASKS, HALVES, KINDS, TASKS, Task
from benchmarks.model.worlds import FOREIGN, WORLDS
from examples.demo.local import QWEN_CODER, LocalServer, cache_directory, ensure_model

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["Judgment", "attempt", "judge", "main"]

# Programs of one task that only search; another one is a try.
_MAX_SEARCHES: Final = 2
# Of repeats: with 0, all would be the same.
_TEMPERATURE: Final = 0.4


@dataclass(frozen=True, slots=True)
class Judgment:
    """What is right: what the right program prints and changes, and all names of the kind of those printed."""

    printed: str
    effects: list[Any]
    kin: tuple[str, ...]


def main() -> None:
    """Ask, and print."""
    from openai import OpenAI

    options = _parser().parse_args()
    halves = options.halves.split(",")
    tasks = [task for task in (*TASKS, *FOREIGN_TASKS) if task.half in halves]
    tasks = tasks[:: max(1, len(tasks) // options.only)]
    path = ensure_model(QWEN_CODER, cache_directory())
    print(f"{'right after':24}" + "".join(f"{number:>12}" for number in range(1, MAX_PROGRAMS + 1)) + "   programs")
    for subject in options.subjects.split(","):
        with LocalServer(QWEN_CODER, path, calls_tools=subject.endswith("_tool")) as server:
            client = OpenAI(base_url=server.url, api_key=server.key)
            run = _Run(client, subject, options)
            for half in halves:
                numbers = [*run.attempt_all([task for task in tasks if task.half == half])]
                if numbers:
                    print(f"{subject:16}{half:8}{describe(numbers)}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model", description=__doc__)
    parser.add_argument("--subjects", default=",".join(SUBJECTS), help="which, with commas between them")
    parser.add_argument("--environments", type=Path, default=Path(".venv/model"), help="where the peers are installed")
    parser.add_argument("--halves", default=",".join(HALVES), help="made-up, tuned and held, with commas between them")
    parser.add_argument("--only", type=int, default=1000, help="how many tasks, spread over all")
    parser.add_argument("--distractors", type=int, default=0, help="how many other tools stand among those of a task")
    parser.add_argument("--repeats", type=int, default=1, help="how often, with different random numbers")
    parser.add_argument(
        "--results", type=Path, help="a file to which each result goes; what is in it is not asked again"
    )
    parser.add_argument("--show-held", action="store_true", help="with -v, show tasks too that are held back")
    parser.add_argument("-v", action="store_true", help="show what was not right at the first try")
    return parser


class _Run:
    """The attempts of a subject."""

    def __init__(self, client: "OpenAI", subject: str, options: argparse.Namespace) -> None:
        self._client, self._subject, self._options = client, subject, options
        self._known: dict[str, int] = {}
        if options.results and options.results.exists():
            lines = options.results.read_text(encoding="utf-8").splitlines()
            self._known = {str(line[:3]): line[3] for line in map(json.loads, lines)}

    def attempt_all(self, tasks: Sequence[Task]) -> Iterator[list[int]]:
        """Yield for each task how many repairs each repeat took; none of a world whose package is not installed."""
        for place in (*WORLDS, *FOREIGN):
            in_world = [task for task in tasks if task.world == place]
            if in_world:
                yield from self._attempt_in(place, in_world)

    def _attempt_in(self, place: str, tasks: Sequence[Task]) -> Iterator[list[int]]:
        try:
            judges, process = Process("ours", place, sys.executable), self._start(place)
        except RuntimeError as error:
            if place in WORLDS:
                raise
            print(f"{self._subject} without the tasks of {place}: {error}", file=sys.stderr)
            return
        with closing(judges), closing(process):
            for task in tasks:
                wanted = judge(judges, task)
                yield [self._attempt(task, process, wanted, repeat) for repeat in range(self._options.repeats)]

    def _start(self, place: str) -> Process:
        python = interpreter(self._subject, self._options.environments)
        return Process(self._subject, place, python, self._options.distractors)

    def _attempt(self, task: Task, process: Process, wanted: Judgment, repeat: int) -> int:
        subject = self._subject
        if self._options.distractors:
            subject += f"+{self._options.distractors}"
        key: list[object] = [subject, task.question, repeat if self._options.repeats > 1 else -1]
        if str(key) in self._known:
            return self._known[str(key)]
        sampling = {"temperature": _TEMPERATURE, "seed": repeat} if self._options.repeats > 1 else {"temperature": 0}
        number, log = attempt(self._client, task, process, wanted, sampling)
        if self._options.results:
            with self._options.results.open("a", encoding="utf-8") as file:
                print(json.dumps([*key, number]), file=file)
        if number and self._options.v and (task.half != "held" or self._options.show_held):
            print(log, flush=True)
        return number


def judge(process: Process, task: Task) -> Judgment:
    """Return what is right, by running the task's own programs in the `process` of a judge."""
    outcomes: list[str] = []
    for program in filter(None, (task.kin, task.program)):
        process.ask("begin", task.question)
        outcome = process.ask("run", f"```python\n{program}\n```")
        assert outcome["success"], outcome
        outcomes.append(outcome["printed"])
    printed = outcomes[-1]
    kin = next((kind for kind in KINDS if any(name in printed for name in kind)), ())
    if task.kin:
        kin = tuple(filter(None, outcomes[0].splitlines()))
    return Judgment(printed, process.ask("effects"), kin)


def attempt(
    client: "OpenAI", task: Task, process: Process, wanted: Judgment, sampling: dict[str, Any]
) -> tuple[int, str]:
    """Return the number of repairs before the right answer, or MAX_PROGRAMS without one, and the transcript."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": process.system}] if process.system else []
    messages.append({"role": "user", "content": process.ask("begin", task.question)})
    log, effects = [f"--- {task.question}"], list[Any]()
    number = searches = 0
    while number < MAX_PROGRAMS:
        asked = ask(client, QWEN_CODER.name, messages, tools=process.tools, stop=process.stop, sampling=sampling)
        outcome = process.ask("run", asked.text)
        effects = process.ask("effects")
        log += [asked.text, f">>> {outcome['told']}"]
        said = outcome["printed"]
        messages += continued(asked, outcome["told"])
        if outcome["is_search"] and searches < _MAX_SEARCHES:
            searches += 1
            continue
        if outcome["success"] and is_right(said, effects, wanted.printed, wanted.effects, wanted.kin):
            return number, "\n".join([*log, f"=== right after {number} repairs, wanted {wanted}"])
        if outcome["success"] and (said.strip() or effects):
            break
        number += 1
    return MAX_PROGRAMS, "\n".join([*log, f"=== WRONG, wanted {wanted}, effects {effects}"])


if __name__ == "__main__":
    main()
