"""LangGraph with its SQLite checkpointer: a node for each effect, and an interrupt for the approval."""

import importlib
import operator
import sqlite3
import time
from typing import Annotated, Any, Final, TypedDict

from benchmarks.journal.workload import APPROVED, EFFECTS, Journey

__all__ = ["recover", "recover_with", "start", "start_with", "step_costs", "step_costs_with"]

_CONFIG: Final = {"configurable": {"thread_id": "run"}}
_NODES_IN_LOOP: Final = 100_000


class _State(TypedDict):
    done: Annotated[list[str], operator.add]


class _Count(TypedDict):
    number: int
    steps: int


def start(journey: Journey) -> None:
    """Run the graph until its interrupt; every checkpoint is written before the next step."""
    start_with(journey, "sync")


def recover(journey: Journey) -> int:
    """Continue the graph, and approve."""
    return recover_with(journey, "sync")


def step_costs(journey: Journey, steps: int) -> float:
    """Run a graph of `steps` steps, and return the seconds of CPU in this process."""
    return step_costs_with(journey, steps, "sync")


def start_with(journey: Journey, durability: str) -> None:
    """Same as `start`, with another durability."""
    _graph(journey).invoke({"done": []}, _CONFIG, durability=durability)
    journey.reach("paused")


def recover_with(journey: Journey, durability: str) -> int:
    """Same as `recover`, with another durability.

    The end is not read from the state's `next`: a node whose writes are stored, but not yet its checkpoint, is not in
    it. Where the kill came before the first checkpoint, the caller starts again.
    """
    command: Any = importlib.import_module("langgraph.types").Command
    graph = _graph(journey)
    arguments: Any = None if graph.get_state(_CONFIG).created_at else {"done": []}
    while "__interrupt__" in graph.invoke(arguments, _CONFIG, durability=durability):
        arguments = command(resume=True)
    return 0


def step_costs_with(journey: Journey, steps: int, durability: str) -> float:
    """Same as `step_costs`, with another durability."""
    graph_module: Any = importlib.import_module("langgraph.graph")
    builder = graph_module.StateGraph(_Count)

    def echo(state: _Count) -> dict[str, int]:
        return {"number": state["number"] + 1}

    def find_next(state: _Count) -> str:
        return "echo" if state["number"] < state["steps"] else graph_module.END

    builder.add_node("echo", echo)
    builder.add_edge(graph_module.START, "echo")
    builder.add_conditional_edges("echo", find_next)
    graph = builder.compile(checkpointer=_saver(journey))

    def run(thread: str, count: int) -> None:
        config = {"configurable": {"thread_id": thread}, "recursion_limit": _NODES_IN_LOOP}
        graph.invoke({"number": 0, "steps": count}, config, durability=durability)

    run("warm", 1)
    began = time.process_time()
    if steps:
        run("loop", steps)
    return time.process_time() - began


def _graph(journey: Journey) -> Any:  # noqa: ANN401 - foreign, and not installed where types are checked
    graph_module: Any = importlib.import_module("langgraph.graph")
    interrupt: Any = importlib.import_module("langgraph.types").interrupt
    builder = graph_module.StateGraph(_State)

    def node_for(name: str) -> Any:  # noqa: ANN401 - a node
        def node(state: _State) -> dict[str, list[str]]:
            del state
            if name == APPROVED and not interrupt({"name": name}):
                message = "it was not approved"
                raise RuntimeError(message)
            return {"done": [journey.take_effect(name)]}

        return node

    previous = graph_module.START
    for name in EFFECTS:
        builder.add_node(name, node_for(name))
        builder.add_edge(previous, name)
        previous = name
    builder.add_edge(previous, graph_module.END)
    return builder.compile(checkpointer=_saver(journey))


def _saver(journey: Journey) -> Any:  # noqa: ANN401 - a checkpointer
    saver: Any = importlib.import_module("langgraph.checkpoint.sqlite").SqliteSaver

    checkpointer = saver(sqlite3.connect(journey.folder / "checkpoints.sqlite", check_same_thread=False))
    put: Any = checkpointer.put

    def put_and_reach(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - a method of the checkpointer
        """Be killed once a checkpoint with an effect is committed."""
        written: Any = put(*args, **kwargs)
        done = args[1].get("channel_values", {}).get("done")
        if done:
            journey.reach(f"recorded {done[-1]}")
        return written

    checkpointer.put = put_and_reach
    return checkpointer
