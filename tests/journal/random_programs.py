"""Random concurrent programs, whose hosts are killed at random points: a program of its own.

    python -m tests.journal.random_programs FOLDER FIRST COUNT

Each host is a fork of this process. It runs or resumes the program, approves what waits, and is killed at an effect or
after a random time, until one gets to its end. Prints JSON: the numbers of programs and kills, and the problems.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from ez_ptc import Approve, ExecutionResult, Journal, Limits, ProcessSandbox, Toolkit
from tests.journal.owners import await_locks
from tests.journal.programs import Effects

__all__ = ["main", "random_program"]

_LIMITS: Final = Limits(timeout=60, calls=2_000)
_MAX_KILLS: Final = 5
_BEGINNING: Final = """
import asyncio, queue, random, threading, time, uuid
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, TimeoutError, as_completed, wait
out = []
"""
_STEPS: Final = (
    "effect('{n}.' + str(i))",
    "effect('{n}.' + str(i))",
    "charge('{n}.' + str(i))",
    "look('{n}.' + str(i))",
    "round(time.time() % 1000, 3)",
    "uuid.uuid4().hex",
    "random.random()",
    "time.sleep({seconds})",
)
_BLOCKS: Final = (
    "out.append(parallel(*[({f}, '{n}p' + str(i)) for i in range({k})]))",
    """
with ThreadPoolExecutor({w}) as pool:
    for future in as_completed([pool.submit({f}, '{n}c' + str(i)) for i in range({k})]):
        out.append(effect('done ' + future.result()))
""",
    """
with ThreadPoolExecutor({w}) as pool:
    todo = {{pool.submit({f}, '{n}w' + str(i)) for i in range({k})}}
    while todo:
        done, todo = wait(todo, return_when=FIRST_COMPLETED)
        for future in done:
            out.append(effect('next ' + future.result()))
""",
    """
threads = [threading.Thread(target={f}, args=('{n}t' + str(i),)) for i in range({k})]
for thread in threads: thread.start()
for thread in threads: thread.join()
""",
    """
async def main():
    out.append(await asyncio.gather(*[asyncio.to_thread({f}, '{n}g' + str(i)) for i in range({k})]))
asyncio.run(main())
""",
    """
async def main():
    for result in asyncio.as_completed([asyncio.to_thread({f}, '{n}a' + str(i)) for i in range({k})]):
        out.append(await result)
asyncio.run(main())
""",
    """
async def one(i):
    try:
        out.append(await asyncio.wait_for(asyncio.to_thread({f}, '{n}x' + str(i)), {limit}))
    except asyncio.TimeoutError:
        out.append(await asyncio.to_thread(effect, '{n}late' + str(i)))
async def main():
    async with asyncio.TaskGroup() as group:
        for i in range({k}): group.create_task(one(i))
asyncio.run(main())
""",
    """
todo, results = queue.Queue(), queue.Queue()
def worker():
    while (item := todo.get()) is not None: results.put({f}(item))
threads = [threading.Thread(target=worker) for _ in range({w})]
for thread in threads: thread.start()
for i in range({k}): todo.put('{n}q' + str(i))
for _ in threads: todo.put(None)
for thread in threads: thread.join()
while not results.empty(): out.append(results.get())
""",
    """
pool = ThreadPoolExecutor(2)
future = pool.submit({f}, '{n}f')
try:
    out.append(future.result(timeout={limit}))
except TimeoutError:
    out.append(effect('{n}late'))
pool.shutdown()
""",
    """
async def worker(todo):
    while True:
        out.append(await asyncio.to_thread({f}, await todo.get()))
        todo.task_done()
async def main():
    todo = asyncio.Queue()
    workers = [asyncio.create_task(worker(todo)) for _ in range({w})]
    for i in range({k}): todo.put_nowait('{n}y' + str(i))
    await todo.join()
    for task in workers: task.cancel()
asyncio.run(main())
""",
)


def random_program(seed: int) -> str:
    """Return a program of functions that call tools, and of blocks that run them side by side."""
    chance = random.Random(seed)
    text = [_BEGINNING]
    for number in range(chance.randint(1, 3)):
        seconds = chance.choice([0, 0.001, 0.005])
        lines = [
            f"    out.append({chance.choice(_STEPS).format(n=f'{number}s{step}', seconds=seconds)})"
            for step in range(chance.randint(1, 3))
        ]
        if number and chance.random() < 1 / 2:  # within the branches of another one
            lines.append(f"    out.append(parallel(*[(f{number - 1}, i + '.' + str(j)) for j in range(2)]))")
        text += [f"def f{number}(i):", *lines, f"    return effect('{number} of ' + i)"]
        values = {
            "f": f"f{number}",
            "n": number,
            "k": chance.randint(2, 4),
            "w": chance.randint(1, 3),
            "limit": chance.choice([0.003, 0.01, 0.05]),
        }
        text.append(chance.choice(_BLOCKS).format(**values))
        if chance.random() < 1 / 3:
            text.append(f"out.append(transfer('{number}', 5))")
        text.append("print(out)")
    return "\n".join([*text, "print(effect('end'))"])


class _Host:
    """One process that runs or resumes a program, and may be killed."""

    def __init__(self, folder: Path, seed: int, attempt: int) -> None:
        self.chance = random.Random(seed * 100 + attempt)
        self.effects: Any = Effects(folder / "effects")
        self.journal = Journal(folder / "runs.db")
        self._append, self.effects.happen = self.effects.happen, self._happen
        self._lock = threading.Lock()
        self._count = 0
        self._last = self.chance.randint(1, 12) if attempt < _MAX_KILLS else 0
        self._comes_first = self.chance.random() < 1 / 2
        # Half of the hosts go on in the worker that has paused.
        self._paused = 60 * (attempt % 2)

    def _happen(self, line: str) -> None:
        time.sleep(self.chance.random() * 0.012)
        with self._lock:
            self._count += 1
            is_last = self._count == self._last
        if is_last and self._comes_first:
            os.kill(os.getpid(), signal.SIGKILL)
        self._append(line)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)

    def run(self, code: str, *, is_async: bool) -> str:
        """Run the program to its end, and return what is wrong with it, or ""."""
        outputs: list[str] = []
        with (
            ProcessSandbox(ready=1, paused=self._paused) as sandbox,
            self.journal,
            Toolkit(
                self.effects.tools(is_async=is_async), journal=self.journal, sandbox=sandbox, limits=_LIMITS
            ) as toolkit,
        ):
            runs = self.journal.runs()
            result = toolkit.execute(code) if not runs else self._resume(toolkit, runs[0].id)
            while result.status == "paused":
                outputs.append(result.output)
                assert result.run_id is not None
                result = self._resume(toolkit, result.run_id)
            if result.status != "done" or not all(map(result.output.startswith, outputs)):
                return f"{result.status} {result.error_output} {outputs} {result.output}"
            assert result.run_id is not None
            assert toolkit.replay(result.run_id).output == result.output
        doubled = {line: count for line, count in self.effects.distinct().items() if count != 1}
        return f"doubled: {doubled}" if doubled else ""

    def _resume(self, toolkit: Toolkit, run_id: str) -> ExecutionResult:
        run = self.journal.run(run_id)
        if run.state in {"done", "failed"}:
            assert run.result is not None
            return run.result
        decisions = {
            call.id: self.effects.settle(call) if call.state == "outcome_unknown" else Approve() for call in run.pending
        }
        return toolkit.resume(run_id, decisions)


def _attempt(folder: Path, seed: int, attempt: int) -> str | None:
    """Run a host; return what is wrong, or None if it was killed."""
    report = folder / "report"
    pid = os.fork()
    if not pid:
        problem = "it was interrupted"
        try:
            problem = _Host(folder, seed, attempt).run(random_program(seed), is_async=seed % 2 == 1)
        except Exception as error:  # noqa: BLE001 - the finding is the report
            problem = f"{type(error).__name__}: {error}"
        finally:
            report.write_text(problem)
            os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    await_locks(folder / "runs.db")
    return None if status else report.read_text()


def main(folder: str, first: str, count: str) -> dict[str, Any]:
    """Run programs, and return the figures."""
    kills, problems = 0, list[str]()
    for seed in range(int(first), int(first) + int(count)):
        place = Path(folder) / str(seed)
        place.mkdir()
        for attempt in range(_MAX_KILLS + 1):
            problem = _attempt(place, seed, attempt)
            if problem is not None:
                problems += [f"{seed}: {problem}"] if problem else []
                break
            kills += 1
    return {"programs": int(count), "kills": kills, "problems": problems}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))  # noqa: T201 - the figures
