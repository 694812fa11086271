"""DBOS with its SQLite system database: a workflow with a step for each effect, and `recv` for the approval."""

import importlib
import os
import time
from typing import Any, Final

from benchmarks.journal.workload import APPROVED, EFFECTS, Journey

__all__ = ["recover", "start", "step_costs", "step_times"]

_RUN: Final = "run"
_TOPIC: Final = "approval"
_WAITING: Final = "waiting"
_YES: Final = "yes"
_SECONDS: Final = 60
# Another database than its own file, for `--only servers`.
_SERVER: Final = "EZ_PTC_BENCH_DBOS"


def start(journey: Journey) -> None:
    """Start the workflow, and return once it waits for the approval."""
    library, workflow, _ = _launched(journey)
    with library.SetWorkflowID(_RUN):
        library.DBOS.start_workflow(workflow)
    if library.DBOS.get_event(_RUN, _WAITING, timeout_seconds=_SECONDS) is None:
        message = "the workflow does not wait for its approval"
        raise RuntimeError(message)
    journey.reach("paused")
    # Not `destroy`, which waits for the workflow, which waits for its approval.
    os._exit(0)


def recover(journey: Journey) -> int:
    """Launch, which continues unfinished workflows, and approve."""
    library, _, _ = _launched(journey)
    handle = library.DBOS.retrieve_workflow(_RUN)
    library.DBOS.get_event(_RUN, _WAITING, timeout_seconds=_SECONDS)
    library.DBOS.send(_RUN, _YES, topic=_TOPIC, idempotency_key=_TOPIC)
    handle.get_result()
    library.DBOS.destroy()
    return 0


def step_costs(journey: Journey, steps: int) -> float:
    """Run a workflow of `steps` steps, and return the seconds of CPU in this process."""
    return step_times(journey, steps)[1]


def step_times(journey: Journey, steps: int) -> tuple[float, float]:
    """Run a workflow of `steps` steps, and return the seconds that it took, and those of CPU in this process."""
    library, _, loop = _launched(journey)
    loop(1)
    began = time.perf_counter(), time.process_time()
    if steps:
        loop(steps)
    seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    library.DBOS.destroy()
    return seconds


def _launched(journey: Journey) -> Any:  # noqa: ANN401 - foreign, and not installed where types are checked
    """Return the library, the workflow and a loop of steps, with DBOS running."""
    library: Any = importlib.import_module("dbos")
    library.DBOS(
        config={
            "name": "kills",
            "system_database_url": os.environ.get(_SERVER) or f"sqlite:///{os.fspath(journey.folder)}/dbos.sqlite",
            "application_version": "1",
            "executor_id": "local",
            "log_level": "ERROR",
            "notification_listener_polling_interval_sec": 0.05,
        }
    )

    @library.DBOS.step()
    def effect(name: str) -> str:
        return journey.take_effect(name)

    @library.DBOS.step()
    def echo(number: int) -> int:
        return number

    @library.DBOS.workflow()
    def workflow() -> list[str]:
        done: list[str] = []
        for name in EFFECTS:
            if name == APPROVED:
                library.DBOS.set_event(_WAITING, _YES)
                if not library.DBOS.recv(_TOPIC, timeout_seconds=_SECONDS):
                    message = "there was no approval"
                    raise RuntimeError(message)
            done.append(effect(name))
            journey.reach(f"recorded {name}")
        return done

    @library.DBOS.workflow()
    def loop(steps: int) -> None:
        for number in range(steps):
            echo(number)

    library.DBOS.launch()
    return library, workflow, loop
