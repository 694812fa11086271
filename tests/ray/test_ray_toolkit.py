"""Toolkits on a cluster, without Ray: the caller, the pool and the hosts on a cluster in this process."""

from __future__ import annotations

import inspect
import threading
from contextlib import aclosing, closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ez_ptc import CallEnded, CallProgress, CallStarted, Context, Deny, OutputDelta, ProgramEnded, RayToolkit, ez_tool
from ez_ptc.errors import (
    ClusterError,
    ContinuationError,
    MissingExtraError,
    Overloaded,
    SandboxError,
    ToolkitImportError,
    WorkerDiedError,
)
from ez_ptc.messages import PendingCall
from ez_ptc.ray import wire
from ez_ptc.ray.programs import own_facts
from tests.ray import shop
from tests.ray.loopback import Loopback, LoopbackActor, LoopbackToolkit

pytestmark = pytest.mark.usefixtures("effects")

SHOP = "tests.ray.shop:toolkit"


@pytest.fixture
def effects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of effects."""
    path = tmp_path / "effects"
    path.touch()
    monkeypatch.setenv(shop.EFFECTS, str(path))
    return path


def test_results_are_those_of_the_toolkit_itself() -> None:
    program = "item = find_item('lamp')\nprint(item['name'])\n(item['price'], {1, 2}, b'x')"
    with LoopbackToolkit(SHOP) as toolkit:
        remote, local = toolkit.execute(program), shop.toolkit.execute(program)
        assert (remote.output, remote.return_value, remote.status) == (local.output, local.return_value, "done")
        assert [call["name"] for call in remote.tool_calls] == ["find_item"]
        assert remote.tool_calls[0]["args"] == ("lamp",)
        failed = toolkit.execute("find_item('tea')")
        assert failed.error == shop.toolkit.execute("find_item('tea')").error
        assert str(failed.error).startswith("LookupError: no item 'tea'")
        assert toolkit.prompt() == shop.toolkit.prompt()
        assert toolkit.check("find_itm('lamp')") == shop.toolkit.check("find_itm('lamp')")
        assert toolkit.execute("whoami()", context={"id": 7}).return_value == "{'id': 7}"


def test_events_come_in_order_and_leaving_ends_program(effects: Path) -> None:
    with LoopbackToolkit(SHOP) as toolkit:
        events = [*toolkit.stream("print('a')\nfind_item('lamp')\nprint('b')")]
        assert [type(event) for event in events] == [OutputDelta, CallStarted, CallEnded, OutputDelta, ProgramEnded]
        endless = toolkit.stream("import time\nwhile True:\n    note('x')\n    time.sleep(0.01)", timeout=30)
        with closing(endless):
            next(endless)
        noted = effects.read_text()
        assert toolkit.execute("note('last')").return_value == len(noted.splitlines()) + 1
        assert len(toolkit.actors) == 1


def test_program_waits_for_reader_of_its_events(effects: Path) -> None:
    with LoopbackToolkit(SHOP) as toolkit, closing(toolkit.stream("for i in range(1000): note(str(i))")) as events:
        next(events)
        threading.Event().wait(0.5)  # nothing could be waited for: the program must not go on
        assert len(effects.read_text().splitlines()) < 500


@pytest.mark.parametrize("rest", ["import time\ntime.sleep(60)", "nap(60)"])
async def test_cancelled_caller_ends_program(effects: Path, anyio_backend: str, rest: str) -> None:
    del anyio_backend
    async with LoopbackToolkit(SHOP) as toolkit:
        with anyio.CancelScope() as scope:
            await toolkit.aexecute(f"note('begun')\n{rest}", timeout=60, on_tool_call=lambda _: scope.cancel())
        assert scope.cancelled_caught
        assert await anyio.Path(effects).read_text() == "begun\n"
        async with aclosing(toolkit.astream("print(1)")) as events:
            assert [type(event) async for event in events] == [OutputDelta, ProgramEnded]
        assert (await toolkit.aexecute("find_item('lamp')")).success
        assert len(toolkit.actors) == 1


def test_local_tools_are_called_back_here() -> None:
    threads: list[int] = []

    @ez_tool
    def add(a: int, b: int = 1) -> int:
        """Add."""
        threads.append(threading.get_native_id())
        if a < 0:
            message = "negative"
            raise KeyError(message)
        return a + b

    @ez_tool
    async def double(number: int) -> int:
        """Double."""
        await anyio.lowlevel.checkpoint()
        return 2 * number

    program = """
print(add(2), await double(4))
try:
    add(-1)
except LookupError as error:
    print(type(error).__name__, error)
try:
    add("x")
except TypeError as error:
    print("TypeError")
"""
    with LoopbackToolkit(SHOP, local=[add, double]) as toolkit:
        result = toolkit.execute(program)
        assert result.output.splitlines()[0] == "3 8"
        assert result.output.splitlines()[1].startswith("KeyError")
        assert result.output.splitlines()[2] == "TypeError"
        assert len(threads) == 2
        assert "def add(a: int, b: int = 1)" in toolkit.prompt()


def test_progress_of_local_tools_reaches_the_reader() -> None:
    @ez_tool
    def pack(items: int, context: Context) -> int:
        """Pack items, one by one."""
        for item in range(items + 1):
            context.progress(item, items, "packing")
        return items

    @ez_tool
    async def ship(items: int, context: Context) -> int:
        """Ship items."""
        context.progress(items, items)
        return items

    with LoopbackToolkit(SHOP, local=[pack, ship]) as toolkit:
        events = [*toolkit.stream("pack(3)\nawait ship(2)")]
        reports = [(event.tool, event.done, event.total) for event in events if isinstance(event, CallProgress)]
        assert reports == [("pack", 0, 3), ("pack", 3, 3), ("ship", 2, 2)]
        ends = [number for number, event in enumerate(events) if isinstance(event, CallEnded)]
        assert isinstance(events[ends[0] - 1], CallProgress)
        assert toolkit.execute("pack(3)").return_value == 3
        assert [actor.asked.count("progress") for actor in toolkit.actors] == [3]


def test_approver_listener_and_corrector_stay_with_caller() -> None:
    asked: list[PendingCall] = []
    records: list[str] = []

    def approve(call: PendingCall) -> object:
        asked.append(call)
        return call.arguments == {"name": "lamp"} or Deny("too dear")

    with LoopbackToolkit(SHOP) as toolkit:
        done = toolkit.execute("buy('lamp')", approve=approve, on_tool_call=lambda call: records.append(call["name"]))
        assert (done.return_value, records) == ("bought lamp", ["buy"])
        refused = toolkit.execute("buy('sofa')", approve=approve)
        assert refused.is_denied
        assert "too dear" in str(refused.error)
        assert [call.arguments["name"] for call in asked] == ["lamp", "sofa"]
        mended = toolkit.execute("1 / 0", repair=lambda code, error, done: "1")
        assert (mended.return_value, len(mended.attempts)) == (1, 1)


def test_correction_repeats_no_call_of_failed_program(effects: Path) -> None:
    with LoopbackToolkit(SHOP) as toolkit:
        failed = toolkit.execute("note('once')\n1 / 0")
        assert toolkit.execute("note('once')", after=failed).return_value == 1
        assert effects.read_text() == "once\n"
        toolkit.actors[0].kill()
        with pytest.raises(WorkerDiedError):
            toolkit.execute("note('twice')")
        with pytest.raises(ContinuationError, match="its actor is gone"):
            toolkit.execute("note('once')", after=failed)


def test_session_keeps_variables_on_one_actor() -> None:
    with LoopbackToolkit(SHOP) as toolkit:
        with toolkit.session() as session:
            session.execute("price = find_item('lamp')['price']")
            assert session.execute("price * 2").return_value == 51.0
            assert [type(event) for event in session.stream("print(price)")] == [OutputDelta, ProgramEnded]
            toolkit.execute("1")
            assert len(toolkit.actors) == 2
            toolkit.actors[0].kill()
            with pytest.raises(WorkerDiedError, match="no record of them"):
                session.execute("price")
        with pytest.raises(SandboxError, match="this session is closed"):
            session.execute("1")


def test_lost_actor_is_no_failed_program(effects: Path) -> None:
    with LoopbackToolkit(SHOP) as toolkit:
        with closing(toolkit.stream("note('begun')\nprint('begun')\nnap(20)")) as events:
            assert any(isinstance(event, OutputDelta) for event in events)
            toolkit.actors[0].kill()
            with pytest.raises(WorkerDiedError, match="may have taken effect, and there is no record"):
                list(events)
        assert toolkit.execute("note('next')").return_value == 2
        assert effects.read_text() == "begun\nnext\n"


def test_recorded_program_of_lost_actor_goes_on_elsewhere(
    effects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journaled = shop.Toolkit([shop.note, shop.wait_for_notes], journal=tmp_path / "runs.db")
    monkeypatch.setattr(shop, "journaled", journaled)
    with LoopbackToolkit("tests.ray.shop:journaled") as toolkit:
        events = toolkit.stream("note('once')\nprint('noted')\nwait_for_notes(2)\nnote('then')")
        assert any(isinstance(event, OutputDelta) for event in events)
        toolkit.actors[0].kill()
        with effects.open("a") as file:
            file.write("go on\n")
        *_, ended = events
        assert isinstance(ended, ProgramEnded)
        assert (ended.result.return_value, effects.read_text()) == (3, "once\ngo on\nthen\n")
        assert len(toolkit.actors) == 2
    journaled.close()


def test_program_is_not_begun_again_without_its_record(
    effects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_node(name: str) -> shop.Toolkit:
        return shop.Toolkit([shop.note, shop.wait_for_notes], journal=tmp_path / name)

    first, second = on_node("1.db"), on_node("2.db")
    monkeypatch.setattr(shop, "journaled", first)
    with LoopbackToolkit("tests.ray.shop:journaled") as toolkit:
        events = toolkit.stream("note('once')\nprint('noted')\nwait_for_notes(2)")
        assert any(isinstance(event, OutputDelta) for event in events)
        monkeypatch.setattr(shop, "journaled", second)
        toolkit.actors[0].kill()
        with pytest.raises(WorkerDiedError, match="the nodes do not share the journal; it was not run again"):
            list(events)
    assert effects.read_text() == "once\n"
    for journaled in (first, second):
        journaled.close()


@pytest.mark.parametrize(
    ("reference", "error", "words"),
    [
        ("tests.ray.shop", ToolkitImportError, "expected the tools as module:name, such as .* got 'tests.ray.shop'"),
        ("shop.py:toolkit", ToolkitImportError, "write shop instead of shop.py"),
        ("tests.ray.shop:tolkit", ToolkitImportError, "has no 'tolkit'; its Toolkits: toolkit, journaled, importing"),
        ("tests.ray.shop:number", ToolkitImportError, "to be a Toolkit, got int"),
        ("tests.ray.no_shop:toolkit", ToolkitImportError, "no module 'tests.ray.no_shop'"),
        (
            "tests.ray.broken:toolkit",
            ToolkitImportError,
            "importing tests.ray.broken:toolkit on the node .* raised Zero",
        ),
    ],
)
def test_toolkit_that_cannot_be_imported_is_named(reference: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words), LoopbackToolkit(reference) as toolkit:
        toolkit.execute("1")


class _OtherActor(LoopbackActor):
    """An actor that says something else of itself."""

    facts: dict[str, Any] = {}  # noqa: RUF012 - replaced by each test

    def change(self, method: str, value: Any) -> object:
        if method != "describe":
            return value
        message = dict(wire.unpack(value))
        return wire.pack(message.pop("is"), **{**message, "node": "node-2", **self.facts})


class _OtherCluster(Loopback):
    actor_class = _OtherActor


class _OtherToolkit(LoopbackToolkit):
    cluster_class = _OtherCluster


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("version", "0.4.0", "the version of 'node-2' and of 'this process' differ: ez-ptc 0.4.0 and ez-ptc "),
        ("interpreter", "CPython 3.9", f"differ: CPython 3.9 and {own_facts().interpreter}; use the same version"),
        ("allow_imports", ["numpy"], "differ: numpy and none; make the toolkit with the same allow_imports"),
    ],
)
def test_node_that_differs_runs_nothing(
    name: str, value: object, words: str, effects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_OtherActor, "facts", {name: value})
    with pytest.raises(ClusterError, match=words), _OtherToolkit(SHOP, allow_imports=[]) as toolkit:
        toolkit.execute("note('x')")
    assert effects.read_text() == ""


def test_context_that_cannot_be_pickled_is_named() -> None:
    with LoopbackToolkit(SHOP) as toolkit, pytest.raises(TypeError, match="context: expected an object that can be pi"):
        toolkit.execute("1", context=threading.Lock())


def test_option_that_is_wrong_is_explained() -> None:
    unknown: Any = {"num_cpu": 2}
    with pytest.raises(TypeError, match=r"RayToolkit\(\) got an unexpected .* 'num_cpu': did you mean 'num_cpus'"):
        RayToolkit("shop:toolkit", **unknown)
    with pytest.raises(ValueError, match="expected max_actors to be a positive int, got 0"):
        RayToolkit("shop:toolkit", max_actors=0)
    with pytest.raises(TypeError, match=r"allow_imports: expected a list of packages, got a str; write \['numpy'\]"):
        RayToolkit("shop:toolkit", allow_imports="numpy")


def test_program_without_room_learns_what_to_change() -> None:
    with LoopbackToolkit(SHOP, max_actors=1, start_timeout=0.1) as toolkit, toolkit.session():
        with pytest.raises(Overloaded, match="within start_timeout: add nodes"):
            toolkit.execute("1")
        vars(toolkit)["cluster"].trouble = "the head of the Ray cluster is gone"
        with pytest.raises(ClusterError, match="the head of the Ray cluster is gone; nothing was run"):
            toolkit.execute("1")


def test_two_callers_share_the_actors(effects: Path) -> None:
    results: list[object] = []
    with LoopbackToolkit(SHOP, max_actors=2) as toolkit:

        def run(number: int) -> None:
            results.append(toolkit.execute(f"note('{number}')").success)

        callers = [threading.Thread(target=run, args=(number,)) for number in range(6)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(60)
        assert sum(not actor.is_dead for actor in toolkit.actors) <= 2  # another may have come too late
    assert results == [True] * 6
    assert sorted(effects.read_text().split()) == [*"012345"]


def test_closed_toolkit_says_so() -> None:
    toolkit = LoopbackToolkit(SHOP)
    toolkit.close()
    toolkit.close()
    with pytest.raises(SandboxError, match="this toolkit is closed"):
        toolkit.execute("1")


def test_missing_ray_is_named_with_its_command() -> None:
    if find_spec("ray") is not None:
        pytest.skip("Ray is installed here")
    from ez_ptc.ray import RayToolkit as SameToolkit

    assert SameToolkit is RayToolkit
    with pytest.raises(MissingExtraError, match=r'ray is not installed; install it with: pip install "ray'):
        SameToolkit("shop:toolkit").execute("1")


async def test_function_for_frameworks_answers_as_the_toolkit_does(effects: Path, anyio_backend: str) -> None:
    assert anyio_backend
    with LoopbackToolkit(SHOP) as toolkit:
        result, own = toolkit.execute("print(find_item('lamp').price)"), shop.toolkit.as_tool()
        assert toolkit.answer("print(1)", result) == shop.toolkit.answer("print(1)", result)
        once, continuing = toolkit.as_tool(), toolkit.as_async_tool(continues=True)
        assert (
            inspect.signature(once)
            == inspect.signature(continuing)
            == inspect.Signature(
                [inspect.Parameter("code", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=str)],
                return_annotation=str,
            )
        )
        assert once.__name__ == "execute_tools"
        assert "find_item" in (once.__doc__ or "")
        for code in ("print(find_item('lamp').price)", "1 +", "find_item(", "find_item('lamp')"):
            assert once(code) == own(code)
        no_program: Any = 1
        assert once(no_program) == own(no_program)
        assert "note" in await continuing("note('a')\nmissing")
        assert "done" in await continuing("note('a')\nprint('done')")
        assert await anyio.Path(effects).read_text() == "a\n"
        with pytest.raises(ValueError, match="max_text"):
            toolkit.as_tool(max_text=0)
