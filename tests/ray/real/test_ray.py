"""Toolkits on a real cluster of two nodes: placement, faults, and what is left of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from ez_ptc import Limits, OutputDelta, ProgramEnded, RayToolkit, ez_tool
from ez_ptc.errors import ClusterError, Overloaded, ToolkitImportError, WorkerDiedError
from ez_ptc.ray import conversing
from tests.ray import shop

SHOP = "tests.ray.shop:toolkit"
JOURNALED = "tests.ray.shop:journaled"
SPARE = {"spare": 0.1}


def toolkit_on(cluster: Any, reference: str = SHOP, **options: Any) -> RayToolkit:
    return RayToolkit(reference, address=cluster.address, **options)


def wait_until(condition: Any) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_programs_run_on_both_nodes_with_their_tools(cluster: Any, effects: Path) -> None:
    with toolkit_on(cluster) as toolkit:
        processes: set[Any] = set()
        callers = [
            threading.Thread(target=lambda: processes.add(toolkit.execute("nap(1)\nprocess()").return_value))
            for _ in range(2)
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(120)
        assert len(processes) == 2
        assert os.getpid() not in processes
        assert toolkit.execute("note('x')").return_value == 1
        assert toolkit.prompt() == shop.toolkit.prompt()
        assert effects.read_text() == "x\n"
    wait_until(lambda: not any(is_alive(process) for process in processes))


def test_two_toolkits_of_one_module_are_independent(cluster: Any) -> None:
    with toolkit_on(cluster) as first, toolkit_on(cluster, resources={"second": 0.1}) as second:
        one, two = first.execute("process()").return_value, second.execute("process()").return_value
        assert one != two
        first.close()
        assert second.execute("process()").return_value == two


def test_local_tools_and_approver_stay_here(cluster: Any) -> None:
    @ez_tool
    def here() -> int:
        """Return the process."""
        return os.getpid()

    with toolkit_on(cluster, local=[here]) as toolkit:
        result = toolkit.execute("(here(), process() == here(), buy('lamp'))", approve=lambda call: True)
        assert result.return_value == (os.getpid(), False, "bought lamp")


async def test_events_and_cancellation_reach_the_node(cluster: Any, effects: Path, anyio_backend: str) -> None:
    del anyio_backend
    async with toolkit_on(cluster) as toolkit:
        events = [event async for event in toolkit.astream("print('a')")]
        assert [type(event) for event in events] == [OutputDelta, ProgramEnded]
        with anyio.move_on_after(1):
            await toolkit.aexecute("note('begun')\nimport time\ntime.sleep(60)\nnote('late')")
        assert (await toolkit.aexecute("note('next')")).return_value == 2
    assert await anyio.Path(effects).read_text() == "begun\nnext\n"


def test_killed_node_is_no_failed_program(cluster: Any, spare: Any, effects: Path) -> None:
    program = "note('begun')\nprint(1)\nnap(60)"
    with toolkit_on(cluster, resources=SPARE) as toolkit, closing(toolkit.stream(program, timeout=90)) as events:
        assert any(isinstance(event, OutputDelta) for event in events)
        cluster.remove_node(spare, allow_graceful=False)
        with pytest.raises(WorkerDiedError, match="there is no record of them: give the toolkit a journal"):
            list(events)
    words = "within start_timeout"
    with toolkit_on(cluster, resources=SPARE, start_timeout=2) as toolkit, pytest.raises(Overloaded, match=words):
        toolkit.execute("note('never')")
    assert effects.read_text() == "begun\n"


def test_recorded_program_of_killed_node_goes_on_elsewhere(cluster: Any, spare: Any, effects: Path) -> None:
    program = "for i in range(40):\n    note(str(i))\n    print(i)\n    nap(0.05)"
    with toolkit_on(cluster, JOURNALED, resources=SPARE, start_timeout=60) as toolkit:
        result: list[Any] = []
        caller = threading.Thread(target=lambda: result.append(toolkit.execute(program, timeout=90)))
        caller.start()
        wait_until(lambda: effects.read_text().count("\n") > 5)
        cluster.remove_node(spare, allow_graceful=False)
        other = cluster.add_node(num_cpus=1, resources={"spare": 1}, object_store_memory=80 << 20)
        caller.join(120)
        cluster.remove_node(other)
    [ended] = result
    if ended.status == "paused":  # the node died within a call: a person has to say what became of it
        assert [call.state for call in ended.pending] == ["outcome_unknown"]
    else:
        assert ended.status == "done"
        assert sorted(map(int, effects.read_text().split())) == [*range(40)]
    notes = effects.read_text().split()
    assert len(notes) == len(set(notes))


def test_killed_actor_is_replaced(cluster: Any, effects: Path) -> None:
    with toolkit_on(cluster) as toolkit:
        process: Any = toolkit.execute("process()").return_value
        with toolkit.session() as session:
            assert session.execute("x = 1\nprocess()").return_value == process
            os.kill(process, signal.SIGKILL)
            with pytest.raises(WorkerDiedError):
                session.execute("note('never')")
        other = toolkit.execute("process()").return_value
        assert other != process
        os.kill(other, signal.SIGKILL)  # while it is free: no program is lost
        time.sleep(conversing.FRESH_SECONDS)
        assert toolkit.execute("note('x')").return_value == 1
    assert effects.read_text() == "x\n"


def test_tool_that_blocks_fails_in_time_and_others_go_on(cluster: Any) -> None:
    with toolkit_on(cluster, max_concurrency=2) as toolkit:
        result = toolkit.execute("nap(60)", timeout=1)
        assert (result.status, str(result.error).partition(":")[0]) == ("failed", "TimeoutError")
        assert toolkit.execute("find_item('lamp')").success


def test_actor_that_does_not_answer_is_ended(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversing, "MAX_SILENCE", 8.0)
    monkeypatch.setattr(conversing, "QUIET_SECONDS", 1.0)
    with toolkit_on(cluster) as toolkit:
        process: Any = toolkit.execute("process()").return_value
        with closing(toolkit.stream("print(1)\nnap(60)", timeout=90)) as events:
            next(events)
            os.kill(process, signal.SIGSTOP)
            with pytest.raises(WorkerDiedError, match="it has not answered for 8 s"):
                list(events)
        assert toolkit.execute("1").return_value == 1
        wait_until(lambda: not is_alive(process))


def test_toolkit_that_no_node_can_import_is_named(cluster: Any) -> None:
    for reference, words in (("tests.ray.broken:toolkit", "ZeroDivisionError"), ("no_shop:x", "no module 'no_shop'")):
        with toolkit_on(cluster, reference) as toolkit, pytest.raises(ToolkitImportError, match=words):
            toolkit.execute("1")
    words = r"the allow_imports of .* differ: none and numpy"
    with toolkit_on(cluster, allow_imports=["numpy"]) as toolkit, pytest.raises(ClusterError, match=words):
        toolkit.execute("1")


def test_other_address_is_refused(cluster: Any) -> None:
    with toolkit_on(cluster) as toolkit:
        toolkit.execute("1")
        with pytest.raises(ClusterError, match="Ray has one connection a process"):
            RayToolkit(SHOP, address="127.0.0.1:1").execute("1")


def test_option_that_ray_refuses_is_named(cluster: Any) -> None:
    words = r"Ray refuses an option of its actors: .*num_gpu"
    with toolkit_on(cluster, ray_options={"num_gpu": 1}) as toolkit, pytest.raises(ValueError, match=words):
        toolkit.execute("1")


def test_limits_and_packages_are_those_of_the_module(cluster: Any) -> None:
    assert shop.toolkit.limits == Limits()
    with toolkit_on(cluster, "tests.ray.shop:importing", allow_imports=["pydantic"]) as toolkit:
        assert toolkit.execute("import pydantic\npydantic.__name__").return_value == "pydantic"


def run_script(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a program of a user's own, with a cluster of its own."""
    path = folder / "script.py"
    path.write_text(textwrap.dedent(script))
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False, env=environment
    )


def test_lost_head_is_named(tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        """
        import os
        from ray.cluster_utils import Cluster
        from ez_ptc import ClusterError, RayToolkit

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False,
                          "object_store_memory": 80 << 20})
        toolkit = RayToolkit("tests.ray.shop:toolkit", address=cluster.address)
        print(toolkit.execute("1").return_value, flush=True)
        cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False)
        # The actor that is there lives on for a while, or does not: another one cannot be started.
        try:
            with toolkit.session():
                print(toolkit.execute("1"), flush=True)
        except ClusterError as error:
            print(error, flush=True)
        os._exit(0)
        """,
    )
    lines = done.stdout.splitlines()  # Ray has lines among them
    assert lines[0] == "1", done
    refusal = r"the head of the Ray cluster at \S+ is gone .*; nothing was run"
    assert any(re.fullmatch(refusal, line) for line in lines), done


_DRIVER = """
import sys
from ez_ptc import OutputDelta, RayToolkit

toolkit = RayToolkit("tests.ray.shop:toolkit", address=sys.argv[1])
print(toolkit.execute("process()").return_value, flush=True)
for event in toolkit.stream("note('begun')\\nprint(1)\\nnap(60)\\nnote('late')", timeout=90):
    if isinstance(event, OutputDelta):
        print("running", flush=True)
"""


def test_actors_end_with_their_driver_alone(cluster: Any, effects: Path) -> None:
    with toolkit_on(cluster) as toolkit:
        own = toolkit.execute("process()").return_value
        command = [sys.executable, "-c", _DRIVER, cluster.address]
        environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as driver:
            assert driver.stdout is not None
            process = int(driver.stdout.readline())
            assert driver.stdout.readline() == "running\n"
            assert is_alive(process)
            driver.kill()
        wait_until(lambda: not is_alive(process))
        with toolkit.session() as session:
            assert session.execute("process()").return_value == own
            assert toolkit.execute("process()").return_value not in {own, process}
    assert effects.read_text() == "begun\n"


def test_idle_actors_give_their_nodes_to_others(cluster: Any) -> None:
    with toolkit_on(cluster, idle_timeout=0.5) as first, toolkit_on(cluster, start_timeout=60) as second:
        with first.session() as session:
            processes = {session.execute("process()").return_value, first.execute("process()").return_value}
        assert len(processes) == 2
        with second.session():
            assert second.execute("process()").return_value not in processes
        wait_until(lambda: not any(is_alive(process) for process in processes))
