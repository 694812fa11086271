"""A refused call: the model reads the refusal, and is not asked to correct its program and try again."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from ez_ptc.conversation.builder import llm
from ez_ptc.errors import NotApprovedError, ToolError
from ez_ptc.integrations.offers import offers_of
from ez_ptc.messages import PendingCall, TextMessage, ToolCall, ToolResultMessage
from ez_ptc.providers.scripted import ScriptedProvider
from ez_ptc.sandbox.protocol.execution import ExecutionResult, Limits
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.decisions import Approve, Deny, Pause
from ez_ptc.tools.decorators import ez_tool

INVITATION = "Write the whole corrected program"
REFUSAL = "pay was not approved: no money"

paid: list[int] = []


@pytest.fixture(autouse=True)
def nothing_was_paid() -> None:
    paid.clear()


@ez_tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    paid.append(amount)
    return f"paid {amount}"


@ez_tool(requires_approval=True)
async def apay(amount: int) -> str:
    """Pay, asynchronously."""
    paid.append(amount)
    return f"paid {amount}"


@ez_tool
def find(name: str) -> int:
    """Find a price."""
    message = f"no product is called {name}"
    raise LookupError(message)


@ez_tool
def imitate() -> str:
    """Fail with the text of a refusal."""
    raise ToolError(REFUSAL)


TOOLS = [pay, apay, find, imitate]

# Programs that end because a call was refused, whatever they do with its error.
REFUSED = {
    "uncaught": "print(pay(1))",
    "after output": "print('begin')\npay(1)",
    "in a function": "def f():\n    return pay(1)\nprint(f())",
    "raised again": "try:\n    pay(1)\nexcept Exception:\n    raise",
    "raised from": "try:\n    pay(1)\nexcept Exception as error:\n    raise RuntimeError('could not pay') from error",
    "raised in its place": "try:\n    pay(1)\nexcept Exception as e:\n    raise RuntimeError(f'could not pay: {e}')",
    "raised from None": "try:\n    pay(1)\nexcept Exception:\n    raise RuntimeError('could not pay') from None",
    "exit": "import sys\ntry:\n    pay(1)\nexcept Exception as error:\n    print(error)\n    sys.exit(1)",
    "finally fails": "try:\n    pay(1)\nfinally:\n    find('lamp')",
    "parallel": "parallel((pay, 1), (pay, 2))",
    "parallel, first": "parallel((pay, 1), (find, 'lamp'))",
    "parallel, last": "parallel((find, 'lamp'), (pay, 1))",
    "thread": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor() as pool:\n    print(pool.submit(pay, 1).result())"
    ),
    "awaited": "print(await apay(1))",
    "task": (
        "import asyncio\nasync def main():\n    async with asyncio.TaskGroup() as group:\n"
        "        group.create_task(apay(1))\nasyncio.run(main())"
    ),
    "group": "try:\n    pay(1)\nexcept Exception as error:\n    raise ExceptionGroup('both', [ValueError('x'), error])",
    "twice": "try:\n    pay(1)\nexcept Exception:\n    pass\npay(2)",
    "after another failure": "try:\n    find('lamp')\nexcept Exception:\n    pay(1)",
    "a mistake in the handler": "try:\n    pay(1)\nexcept Exception as error:\n    print({}[str(error)])",
}
# Programs that end for another reason.
FAILED = {
    "no refusal": "find('lamp')",
    "caught": "try:\n    pay(1)\nexcept Exception:\n    pass\nfind('lamp')",
    "kept": "kept = []\ntry:\n    pay(1)\nexcept Exception as error:\n    kept.append(str(error))\nfind('lamp')",
    "found before the run": "pay()",
    "an imitated text": "imitate()",
    "an own class": "class ToolError(Exception):\n    pass\nraise ToolError('pay was not approved: no money')",
    "an own class after a refusal": (
        "class ToolError(Exception):\n    pass\ntry:\n    pay(1)\nexcept Exception as error:\n    text = str(error)\n"
        "raise ToolError(text)"
    ),
    "out of memory": "try:\n    pay(1)\nexcept Exception:\n    pass\nx = bytearray(10**12)",
    "exit": "import sys\ntry:\n    pay(1)\nexcept Exception:\n    pass\nsys.exit('no')",
}


def deny(call: PendingCall) -> Deny:
    """Refuse every call."""
    assert call.arguments
    return Deny("no money")


@pytest.fixture(params=["plain", "journaled"])
def toolkit(request: pytest.FixtureRequest, tmp_path: Path) -> Any:  # noqa: ANN401 - a generator of toolkits
    journal = tmp_path / "runs.db" if request.param == "journaled" else None
    with Toolkit(TOOLS, approve=deny, journal=journal) as made:
        yield made


@pytest.mark.parametrize("program", REFUSED.values(), ids=REFUSED)
def test_refused_program_is_not_asked_for_again(toolkit: Toolkit, program: str) -> None:
    result = toolkit.execute(program)
    text = toolkit.answer(program, result)

    assert result.is_denied
    assert INVITATION not in text
    assert "ERROR" not in text
    assert "```" not in text
    assert paid == []


@pytest.mark.parametrize("program", FAILED.values(), ids=FAILED)
def test_other_failures_are_to_be_corrected(toolkit: Toolkit, program: str) -> None:
    result = toolkit.execute(program)

    assert result.status == "failed"
    assert not result.is_denied
    assert INVITATION in toolkit.answer(program, result) or "Run this corrected program" in result.error_output


def test_program_that_handles_a_refusal_succeeds(toolkit: Toolkit) -> None:
    result = toolkit.execute("try:\n    pay(1)\nexcept ToolError as error:\n    print(error)")

    assert (result.success, result.is_denied, result.output) == (True, False, REFUSAL + "\n")


def fail(call: PendingCall) -> bool:
    """Fail to decide."""
    raise OSError(call.tool)


def postpone(call: PendingCall) -> Pause:
    """Leave the decision for later, where none can come."""
    assert call.id
    return Pause()


def say_one(call: PendingCall) -> int:
    """Answer with what is no answer."""
    return len(call.arguments)


@pytest.mark.parametrize("approve", [None, fail, postpone, say_one])
def test_call_without_approval_is_refused_whatever_the_reason(approve: Callable[[PendingCall], Any] | None) -> None:
    with Toolkit([pay], approve=approve) as toolkit:
        result = toolkit.execute("pay(1)")
        assert result.is_denied
        assert INVITATION not in toolkit.answer("pay(1)", result)
    with pytest.raises(NotApprovedError):
        pay.call({"amount": 1}, approve=approve)


def test_unanswered_question_is_a_refusal() -> None:
    async def wait(call: PendingCall) -> bool:
        assert call.tool == "apay"
        await anyio.sleep_forever()
        return True

    with Toolkit([apay], approve=wait, limits=Limits(approval_timeout=0.05)) as toolkit:
        assert toolkit.execute("apay(1)").is_denied


def test_own_hint_is_left_out_too() -> None:
    with Toolkit([pay, find], approve=deny, error_hint="Mend it.") as toolkit:
        execute_tools = toolkit.as_tool()
        assert "Mend it." in execute_tools("find('lamp')")
        assert "Mend it." not in execute_tools("pay(1)")


def test_refusal_of_changed_arguments_invites_a_correction() -> None:
    """An approver's own mistake is no refusal: the call was approved, and its arguments were wrong."""
    with Toolkit([pay], approve=lambda _: Approve({"amount": "many"})) as toolkit:
        assert not toolkit.execute("pay(1)").is_denied


# Wherever a model reads it --------------------------------------------------------------------------------------------

PROGRAM = "print('begin')\npay(1)"


def test_functions_of_a_toolkit_do_not_invite() -> None:
    with Toolkit(TOOLS, approve=deny) as toolkit:
        text = toolkit.as_tool()(PROGRAM)
        assert text == anyio.run(toolkit.as_async_tool(), PROGRAM)
    assert text.startswith("Traceback (most recent call last)")
    assert text.endswith(f"ToolError: {REFUSAL}\n\nPrinted before the error:\n    begin")


@pytest.mark.parametrize("mode", ["tool", "prompt"])
def test_conversations_do_not_invite(mode: Literal["tool", "prompt"]) -> None:
    answer = ToolCall("c", "execute_tools", {"code": PROGRAM}) if mode == "tool" else f"```python\n{PROGRAM}\n```"
    with Toolkit(TOOLS, approve=deny) as toolkit:
        model = ScriptedProvider(answer, "They refused.")
        messages, _ = llm().toolkit(toolkit, mode=mode).provider(model).converse("Pay.")
    reports = [str(m.result) for m in messages if isinstance(m, ToolResultMessage)]
    reports += [m.text for m in messages if isinstance(m, TextMessage) and m.text.startswith("Traceback")]
    assert len(reports) == 1
    assert REFUSAL in reports[0]
    assert INVITATION not in reports[0]


def test_paused_conversation_does_not_invite_after_a_refusal(tmp_path: Path) -> None:
    model = ScriptedProvider(ToolCall("c", "execute_tools", {"code": PROGRAM}), "They refused.")
    with Toolkit(TOOLS, journal=tmp_path / "runs.db") as toolkit:
        _, paused = llm().toolkit(toolkit).provider(model).converse("Pay.")
        messages, _ = paused.resume({paused.pending[0].id: Deny("no money")})
    [result] = [message for message in messages if isinstance(message, ToolResultMessage) and REFUSAL in message.result]
    assert INVITATION not in result.result


def test_frameworks_do_not_invite() -> None:
    with Toolkit(TOOLS, approve=deny) as toolkit:
        outcome = offers_of(toolkit)[0].call({"code": PROGRAM})
    assert REFUSAL in outcome.text
    assert INVITATION not in outcome.text


def test_mcp_client_is_not_invited() -> None:
    with Toolkit(TOOLS, approve=deny) as toolkit:
        server = toolkit.as_mcp_server(mode="programs")
        with Toolkit.from_mcp(server.server) as served:
            call = ToolCall("c", "execute_tools", {"code": PROGRAM})
            error = str(served.get_tool("execute_tools").run(call, CallSettings(approve=lambda _: True)).error)
    assert REFUSAL in error
    assert INVITATION not in error


def test_correction_is_not_asked_for_after_a_refusal() -> None:
    asked: list[str] = []

    def repair(code: str, error: str, done: list[dict[str, Any]]) -> str:
        asked.append(error)
        return "pay(1)" if len(done) == 0 else code

    with Toolkit(TOOLS, approve=deny) as toolkit:
        assert toolkit.execute("pay(1)", repair=repair).is_denied
        assert asked == []
        result = toolkit.execute("find('lamp')", repair=repair)
    assert (len(asked), len(result.attempts), result.is_denied) == (1, 1, True)


# Runs and sessions ----------------------------------------------------------------------------------------------------


def resumed(path: Path, *, parked: bool) -> ExecutionResult:
    """Return the result of a program whose call was refused after a pause, in the same toolkit or another."""
    with Toolkit(TOOLS, journal=path) as toolkit:
        paused = toolkit.execute(PROGRAM)
        if parked:
            return toolkit.resume(str(paused.run_id), {paused.pending[0].id: Deny("no money")})
    with Toolkit(TOOLS, journal=path) as toolkit:
        return toolkit.resume(str(paused.run_id), {paused.pending[0].id: "no money"})


@pytest.mark.parametrize("parked", [True, False])
def test_late_refusal_is_one_in_every_process(tmp_path: Path, *, parked: bool) -> None:
    result = resumed(tmp_path / "runs.db", parked=parked)

    assert result.is_denied
    with Toolkit(TOOLS, journal=tmp_path / "runs.db") as toolkit:
        assert INVITATION not in toolkit.answer(PROGRAM, result)
        stored = toolkit.open_journal().run(str(result.run_id)).result
        assert stored is not None
        assert stored.is_denied
        assert toolkit.replay(str(result.run_id)).is_denied


def test_recorded_refusal_stays_one_when_its_program_goes_on(tmp_path: Path) -> None:
    """The first call is refused and its error kept; the second waits, so that the reply of the first is replayed."""
    program = "kept = None\ntry:\n    pay(1)\nexcept Exception as error:\n    kept = error\npay(2)\nraise kept"
    with Toolkit(TOOLS, journal=tmp_path / "runs.db") as toolkit:
        first = toolkit.execute(program)
        second = toolkit.resume(str(first.run_id), {first.pending[0].id: Deny("no money")})
    with Toolkit(TOOLS, journal=tmp_path / "runs.db") as toolkit:
        result = toolkit.resume(str(first.run_id), {second.pending[0].id: True})
    assert paid == [2]
    assert re.search(REFUSAL, str(result.error))
    assert result.is_denied


def test_each_program_of_a_session_has_its_own_refusals() -> None:
    with Toolkit(TOOLS, approve=deny) as toolkit, toolkit.session() as session:
        assert session.execute("try:\n    pay(1)\nexcept Exception as error:\n    kept = error\n    raise").is_denied
        assert not session.execute("find('lamp')").is_denied
        # No call of this program was refused: nothing of it would be repeated.
        assert not session.execute("raise kept").is_denied


def test_old_results_were_no_refusals_as_far_as_is_known() -> None:
    assert not ExecutionResult(success=False, error="ToolError: " + REFUSAL).is_denied
