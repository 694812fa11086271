"""Calls between a program, a person and a tool: what is still wanted runs, and nothing else; what was said stays."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest
from pydantic import BaseModel, computed_field

from ez_ptc import Limits, PendingCall, Tool, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from tests.sandbox.scripts import run_script

Execute = Callable[..., ExecutionResult]

paid: list[str] = []


@ez_tool(requires_approval=True)
def pay(to: str, amount: int = 1) -> str:
    """Pay somebody."""
    paid.append(to)
    return f"{to} got {amount}"


@ez_tool(requires_approval=True, name="pay")
async def pay_later(to: str, amount: int = 1) -> str:
    """Pay somebody."""
    paid.append(to)
    return f"{to} got {amount}"


class Person:
    """Somebody who is asked, and answers when they are let."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.answers = threading.Event()
        self.answered = threading.Event()

    def __call__(self, call: PendingCall) -> bool:
        self.asked.set()
        assert self.answers.wait(60)
        self.answered.set()
        return True


@pytest.fixture
def person() -> Iterator[Person]:
    found = Person()
    paid.clear()
    yield found
    found.answers.set()


@pytest.mark.sampled(every=3)
def test_approval_time_does_not_count_for_program(execute_everywhere: Execute, sandbox: ProcessSandbox) -> None:
    paid.clear()
    limits = Limits(timeout=0.4)

    def think(call: PendingCall) -> bool:
        threading.Event().wait(2 * limits.timeout)
        return True

    toolkit = Toolkit([pay], sandbox=sandbox, approve=think, limits=limits)
    for program in ("pay('Ada')", "parallel((pay, 'Ada'))[0]"):
        result = execute_everywhere(toolkit, program)
        assert (result.error, result.return_value) == (None, "Ada got 1")
    result = execute_everywhere(toolkit, "pay('Ada')\nwhile True: pass")
    assert result.error == "TimeoutError: the program timed out after 0.4 s"
    assert paid == ["Ada"] * 3


@pytest.mark.sampled(every=2)
def test_program_computing_during_approval_is_ended(execute: Execute, sandbox: ProcessSandbox, person: Person) -> None:
    program = "import threading\nthreading.Thread(target=pay, args=('Ada',), daemon=True).start()\nwhile True: pass"
    result = execute(
        Toolkit([pay], sandbox=sandbox, approve=person, limits=Limits(timeout=0.5, approval_timeout=20)), program
    )
    assert re.fullmatch(r"TimeoutError: the program used up its \d+ s of CPU time", str(result.error))
    assert paid == []


@pytest.mark.parametrize("tool", [pay, pay_later])
def test_unanswered_approval_is_refused_and_never_runs(
    execute_everywhere: Execute, sandbox: ProcessSandbox, person: Person, tool: Tool
) -> None:
    toolkit = Toolkit([tool], sandbox=sandbox, approve=person, limits=Limits(approval_timeout=0.2))
    result = execute_everywhere(toolkit, "try: pay('Ada')\nexcept ToolError as error: print(error)")
    assert result.output == "pay was not approved: there was no answer within 0.2 s\n"
    person.answers.set()
    assert person.answered.wait(60)
    assert toolkit.execute("1").return_value == 1
    assert paid == []


PROGRAM = "import os, threading\nthreading.Thread(target=pay, args=('Ada',), daemon=True).start()\nuntil_asked()\n"
ENDS = {"it has ended well": "1", "it has failed": "1 / 0", "it has exited": "os._exit(0)"}


@pytest.mark.parametrize("how", ENDS)
def test_call_of_ended_program_does_not_run(
    execute_everywhere: Execute, sandbox: ProcessSandbox, person: Person, how: str
) -> None:
    @ez_tool
    def until_asked() -> None:
        """Wait until the person has been asked."""
        assert person.asked.wait(60)

    toolkit = Toolkit([pay, until_asked], sandbox=sandbox, approve=person)
    result = execute_everywhere(toolkit, PROGRAM + ENDS[how])
    records = [dict(record) for record in result.tool_calls]
    person.answers.set()
    assert person.answered.wait(60)
    # What could come of the answer has come when another call has gone the same way.
    assert toolkit.execute("pay('Bob')").return_value == "Bob got 1"
    assert paid == ["Bob"]
    assert result.tool_calls == records
    assert "the call was still running when the program ended" in {record["error"] for record in records}


@pytest.mark.parametrize("tool", [pay, pay_later])
async def test_call_of_cancelled_program_does_not_run(
    sandbox: ProcessSandbox, person: Person, tool: Tool, anyio_backend: str
) -> None:
    toolkit = Toolkit([tool], sandbox=sandbox, approve=person)
    async with anyio.create_task_group() as group:
        group.start_soon(toolkit.aexecute, "pay('Ada')")
        assert await anyio.to_thread.run_sync(partial(person.asked.wait, 60))
        group.cancel_scope.cancel()
    person.answers.set()
    assert await anyio.to_thread.run_sync(partial(person.answered.wait, 60))
    assert (await toolkit.aexecute("pay('Bob')")).return_value == "Bob got 1"
    assert paid == ["Bob"]


# Results that stay ----------------------------------------------------------------------------------------------------


def test_a_result_that_was_returned_never_changes(execute: Execute, sandbox: ProcessSandbox) -> None:
    basket: list[dict[str, Any]] = []

    @ez_tool
    def add(items: list[Any], *, note: dict[str, Any]) -> list[dict[str, Any]]:
        """Put items into the basket."""
        basket.append({"items": [*items]})
        items.append("more")
        note["changed"] = True
        return basket

    heard: list[dict[str, Any]] = []
    toolkit = Toolkit([add], sandbox=sandbox, on_tool_call=heard.append)
    result = execute(toolkit, "add(['tea'], note={'a': 1})\nadd([['milk']], note={})")
    basket[0]["items"].append("what nobody ordered")
    heard[0]["result"] = "something else"
    assert [record["args"] for record in result.tool_calls] == [(["tea"],), ([["milk"]],)]
    assert [record["kwargs"] for record in result.tool_calls] == [{"note": {"a": 1}}, {"note": {}}]
    assert result.tool_calls[0]["result"] == [{"items": ["tea"]}]
    assert result.tool_calls[1]["result"] == [{"items": ["tea"]}, {"items": [["milk"]]}]


@pytest.mark.parametrize("end", ["1", "while True: pass"])
def test_call_ending_after_its_program_changes_no_result(sandbox: ProcessSandbox, end: str) -> None:
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    @ez_tool
    def work() -> int:
        """Work for long."""
        begun.set()
        assert release.wait(60)
        ended.set()
        return 1

    @ez_tool
    def until_begun() -> None:
        """Wait until the work has begun."""
        assert begun.wait(60)

    heard: list[dict[str, Any]] = []
    toolkit = Toolkit([work, until_begun], sandbox=sandbox, on_tool_call=heard.append)
    program = f"import threading\nthreading.Thread(target=work, daemon=True).start()\nuntil_begun()\n{end}"
    result = toolkit.execute(program, timeout=1)
    before = [dict(record) for record in result.tool_calls]
    release.set()
    assert ended.wait(60)
    assert toolkit.execute("until_begun()").success
    assert result.tool_calls == before
    assert [record["name"] for record in heard] == ["until_begun", "until_begun"]


# Foreign code that hangs ----------------------------------------------------------------------------------------------


def test_hanging_listener_does_not_delay_program_timeout(sandbox: ProcessSandbox) -> None:
    release = threading.Event()

    @ez_tool
    def work() -> int:
        """Work."""
        return 1

    def listen(record: dict[str, Any]) -> None:
        assert release.wait(60)

    toolkit = Toolkit([work], sandbox=sandbox, on_tool_call=listen)
    for program in ("work()", "parallel((work,), (work,))"):
        result = toolkit.execute(program, timeout=0.3)
        assert result.error == "TimeoutError: the program timed out after 0.3 s"
    release.set()


def test_hanging_result_does_not_delay_program_timeout(execute: Execute, sandbox: ProcessSandbox) -> None:
    release = threading.Event()

    class Slow(BaseModel):
        @computed_field
        @property
        def value(self) -> int:
            assert release.wait(60)
            return 1

    @ez_tool
    def work() -> Slow:
        """Work."""
        return Slow()

    result = execute(Toolkit([work], sandbox=sandbox), "work()", 0.3)
    assert result.error == "TimeoutError: the program timed out after 0.3 s"
    release.set()


LEAVING = """
from typing import Union
from pydantic import BaseModel
from ez_ptc import Toolkit, ez_tool

class And(BaseModel):
    of: "Expr"

class Or(BaseModel):
    of: "Expr"

Expr = Union[And, Or, str]
And.model_rebuild()
Or.model_rebuild()

@ez_tool
def query(where: list[Expr]) -> int:
    "Ask for something."
    return 1

toolkit = Toolkit([query])
program = "query([" + "{'of': " * 20 + "{number}" + "}" * 20 + "] * 3_000)"
print(toolkit.execute(program.replace("{number}", "1"), timeout=0.2).error[:12])
"""


@pytest.mark.sampled(every=0)
def test_host_exits_cleanly_during_validation_in_thread() -> None:
    assert run_script(LEAVING).strip() in {"TimeoutError", "TypeError: q"}


# What a framework stops by --------------------------------------------------------------------------------------------


class Interrupt(Exception):  # noqa: N818 - it stands for what a framework stops by, which is no error
    """Stops a framework's graph."""


@pytest.mark.parametrize("where", ["the tool", "the approver"])
def test_framework_interruption_leaves_the_program(
    execute_everywhere: Execute, sandbox: ProcessSandbox, where: str
) -> None:
    @ez_tool(requires_approval=where == "the approver")
    def ask() -> None:
        """Ask a person."""
        raise Interrupt(where)

    def approve(call: PendingCall) -> bool:
        raise Interrupt(where)

    toolkit = Toolkit([ask], sandbox=sandbox, approve=approve, reraise=(Interrupt,))
    with pytest.raises(Interrupt, match=where):
        execute_everywhere(toolkit, "try: ask()\nexcept BaseException: pass")
    assert toolkit.execute("1").return_value == 1
    result = execute_everywhere(Toolkit([ask], sandbox=sandbox, approve=approve), "ask()")
    assert not result.success
