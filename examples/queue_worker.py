"""Programs in a queue: any host submits them, a person approves on a page, and another host goes on.

The queue is procrastinate, in the same PostgreSQL as the journal. It delivers a task at least once; with the run's id,
each call of a tool takes effect at most once.

export SHOP_DATABASE=postgresql://shop@db/shop
python examples/queue_worker.py setup            # once: the queue's tables
python examples/queue_worker.py submit order-7   # on a web host
python examples/queue_worker.py work             # on each worker host
python examples/queue_worker.py resume           # on one or more: enqueues what is decided or left behind
ez-ptc view --journal "$SHOP_DATABASE"           # for the person
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import procrastinate
from procrastinate.exceptions import AlreadyEnqueued

from ez_ptc import Journal, RunInProgressError, Toolkit, ez_tool

DATABASE = os.environ["SHOP_DATABASE"]
LEDGER = Path(os.environ.get("SHOP_LEDGER", "ledger.txt"))
PROGRAM = """
print(reserve("desk lamp"))
print(refund(7, 20.0))
print(reserve("desk"))
"""
# A worker that has not said so for so long is dead; its tasks are delivered again.
DEAD_AFTER_SECONDS = float(os.environ.get("SHOP_DEAD_AFTER_SECONDS", "30"))

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=DATABASE))
journal = Journal(DATABASE)


def note(line: str) -> str:
    """Append a line to the ledger: the effect that must happen once."""
    with LEDGER.open("a") as ledger:
        ledger.write(f"{line}\n")
    return line


@ez_tool
def reserve(item: str) -> str:
    """Reserve an item."""
    return note(f"reserved {item}")


@ez_tool(requires_approval=True)
def refund(order: int, amount: float) -> str:
    """Refund a part of an order."""
    return note(f"refunded {amount} for {order}")


toolkit = Toolkit([reserve, refund], journal=journal)


@app.task(name="run_program")
def run_program(run_id: str, program: str) -> str:
    """Run a program to its end or its pause; delivered again, go on with it."""
    with contextlib.suppress(RunInProgressError):  # the worker that had the task before lives after all
        return toolkit.execute(program, run_id=run_id).status
    return "elsewhere"


@app.task(name="resume_program")
def resume_program(run_id: str) -> str:
    """Go on with a run whose calls are decided, or whose worker died."""
    with contextlib.suppress(RunInProgressError):
        if journal.run(run_id).state == "resumable":
            return toolkit.resume(run_id).status
    return "elsewhere"


@contextlib.contextmanager
def open_queue() -> Generator[procrastinate.App]:
    """Return a context with the queue, for blocking code."""
    connector = procrastinate.SyncPsycopgConnector(conninfo=DATABASE)
    with app.replace_connector(connector) as queue, queue.open():
        yield queue


def enqueue_claimable() -> None:
    """Enqueue the runs that can go on, each at most once at a time."""
    with open_queue():
        for run in journal.claimable(100):
            with contextlib.suppress(AlreadyEnqueued):
                resume_program.configure(queueing_lock=f"resume {run.id}").defer(run_id=run.id)


async def retry_stalled() -> None:
    """Deliver the tasks of dead workers again."""
    async with app.open_async():
        for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=DEAD_AFTER_SECONDS):
            await app.job_manager.retry_job(job, retry_at=datetime.now(UTC))


def main(verb: str, *arguments: str) -> None:
    """Do what the command line says."""
    if verb == "work":
        app.run_worker(wait="--once" not in arguments)
    elif verb == "setup":
        with open_queue() as queue:
            queue.schema_manager.apply_schema()
    elif verb == "submit":
        with open_queue():
            run_program.defer(run_id=arguments[0], program=PROGRAM)
    while verb == "resume":
        changes = journal.watch(timeout=DEAD_AFTER_SECONDS)
        asyncio.run(retry_stalled())
        enqueue_claimable()
        if "--once" in arguments:
            return
        for _ in changes:
            enqueue_claimable()


if __name__ == "__main__":
    main(*sys.argv[1:])
