"""Whatever leaves a conversation has the way to go on with it, and going on repeats no effect."""

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest

from ez_ptc import Toolkit, ez_tool, llm
from ez_ptc.conversation.builder import LLMPromptBuilder
from ez_ptc.errors import ConnectionFailedError, ProviderError, SandboxError, SchemaError, TurnLimitError
from ez_ptc.formats.ordering import check_order
from ez_ptc.messages import Answer, MessageRole, TextMessage, ToolCall, ToolResultMessage, Usage
from ez_ptc.providers.scripted import Script, ScriptedProvider
from ez_ptc.tools.tool import Tool
from tests.control_c import start_pressing_control_c

Ask = Callable[[LLMPromptBuilder], object]
_SAID = "Pay 5."


class Till:
    """Something whose payments are counted."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    def pay(self, amount: int) -> str:
        """Pay."""
        self.paid.append(amount)
        return f"paid {amount}"

    async def pay_now(self, amount: int) -> str:
        """Pay, in no thread that would go on when the conversation is over."""
        return self.pay(amount)


async def _streamed(builder: LLMPromptBuilder) -> None:
    async for _ in builder.astream(_SAID):
        pass


async def _asked_for_type(builder: LLMPromptBuilder) -> int:
    return await builder.aprompt_for_type(int, _SAID)


def _awaited(ask: Callable[[LLMPromptBuilder], Any], backend: str) -> Ask:
    return lambda builder: anyio.run(ask, builder, backend=backend)


_BLOCKING: dict[str, Ask] = {
    "prompt": lambda builder: builder.prompt(_SAID),
    "stream": lambda builder: list(builder.stream(_SAID)),
}
_ASYNC: dict[str, Callable[[LLMPromptBuilder], Any]] = {
    "prompt_conversation": lambda builder: builder.prompt_conversation(_SAID),
    "astream": _streamed,
}
_WAYS: dict[str, Ask] = {
    **_BLOCKING,
    **{
        f"{name} on {backend}": _awaited(ask, backend)
        for name, ask in _ASYNC.items()
        for backend in ("asyncio", "trio")
    },
}
_TYPED: dict[str, Ask] = {
    "prompt_for_type": lambda builder: builder.prompt_for_type(int, _SAID),
    **{f"aprompt_for_type on {backend}": _awaited(_asked_for_type, backend) for backend in ("asyncio", "trio")},
}
every_way = pytest.mark.parametrize("ask", [*_WAYS.values(), *_TYPED.values()], ids=[*_WAYS, *_TYPED])
every_typed_way = pytest.mark.parametrize("ask", _TYPED.values(), ids=_TYPED)


def _failure_of(ask: Ask, builder: LLMPromptBuilder) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - each test looks at what it is
        ask(builder)
    return caught.value


def _goes_on(error: BaseException, builder: LLMPromptBuilder, till: Till) -> LLMPromptBuilder:
    """Go on after an error, and check that nothing is lost, done twice or left over."""
    before = list(till.paid)
    continuation = getattr(error, "continuation", None)
    assert isinstance(continuation, LLMPromptBuilder)
    assert continuation.settings == builder.settings
    check_order(continuation.entries)
    assert TextMessage(_SAID) in continuation.entries
    provider = ScriptedProvider("Done.")
    assert continuation.provider(provider).prompt("Is it done?") == "Done."
    assert provider.prompts[0].output_schema is None
    assert "give_answer" not in str(provider.prompts)
    typed = continuation.provider(ScriptedProvider(ToolCall("", "give_answer", {"answer": 5})))
    assert typed.prompt_for_type(int) == 5
    assert till.paid == before
    return continuation


def _tool_of(till: Till) -> Tool[..., Any]:
    return Tool.from_function(till.pay_now, name="pay")


_PAY = ToolCall("", "pay", {"amount": 5})
_USED = Answer(messages=(TextMessage("Well.", role=MessageRole.ASSISTANT),), usage=Usage(900, 200), stop_reason="pause")


class OddError(Exception):
    """An error that is not of this library."""


@every_way
@pytest.mark.parametrize("has_schema", [False, True])
@pytest.mark.parametrize("error", [ConnectionFailedError("gone"), OddError("gone"), SchemaError("cannot say")])
@pytest.mark.sampled(every=4)
def test_provider_error_has_continuation(error: Exception, has_schema: bool, ask: Ask) -> None:
    till = Till()
    builder = llm().tool(till.pay).provider(ScriptedProvider(_PAY, error, output_schema=has_schema))
    caught = _failure_of(ask, builder)
    assert caught is error
    continuation = _goes_on(caught, builder, till)
    assert till.paid == [5]
    assert [each.result for each in continuation.messages if isinstance(each, ToolResultMessage)] == ["paid 5"]


@every_way
@pytest.mark.parametrize(
    ("limit", "script"),
    [({"turns": 1}, [_PAY]), ({"calls": 1}, [_PAY, [_PAY, _PAY]]), ({"tokens": 1000}, [_PAY, _USED])],
)
def test_limit_error_has_continuation(limit: dict[str, Any], script: list[Script], ask: Ask) -> None:
    till = Till()
    builder = llm().tool(till.pay).provider(ScriptedProvider(*script)).limits(**limit)
    caught = _failure_of(ask, builder)
    assert isinstance(caught, TurnLimitError)
    continuation = _goes_on(caught, builder, till)
    assert caught.entries == continuation.entries
    assert till.paid == [5]


@every_way
@pytest.mark.parametrize("kind", [ValueError, StopIteration, StopAsyncIteration, ProviderError, SystemExit])
@pytest.mark.sampled(every=4)
def test_listener_error_has_continuation(kind: type[BaseException], ask: Ask) -> None:
    till = Till()

    def listen(record: dict[str, Any]) -> None:
        raise kind(record["name"])

    builder = llm().tool(_tool_of(till)).on_tool_call(listen).provider(ScriptedProvider([_PAY, _PAY]))
    caught = _failure_of(ask, builder)
    continuation = _goes_on(caught, builder, till)
    told = [each for each in continuation.messages if isinstance(each, ToolResultMessage)]
    assert sum(each.success for each in told) == len(till.paid)


@every_way
def test_interruption_in_tool_has_continuation(ask: Ask) -> None:
    till = Till()

    def interrupted() -> None:
        """Be interrupted."""
        raise KeyboardInterrupt

    script = [_PAY, [_PAY, ToolCall("", "interrupted", {})]]
    builder = llm().tools(_tool_of(till), interrupted).provider(ScriptedProvider(*script))
    caught = _failure_of(ask, builder)
    assert isinstance(caught, KeyboardInterrupt)
    continuation = _goes_on(caught, builder, till)
    *_, lost = [each for each in continuation.messages if isinstance(each, ToolResultMessage)]
    assert (lost.success, lost.result[:40]) == (False, "outcome unknown: the conversation was st")


@every_way
def test_error_before_first_request_has_continuation(ask: Ask) -> None:
    till = Till()
    builder = llm().tool(till.pay).provider(ScriptedProvider(tools=False))
    caught = _failure_of(ask, builder)
    assert isinstance(caught, ProviderError)
    continuation = caught.continuation
    assert isinstance(continuation, LLMPromptBuilder)
    assert continuation.entries == (TextMessage(_SAID),)


@every_way
def test_last_fallback_error_has_continuation(ask: Ask) -> None:
    till = Till()
    first = ScriptedProvider(_PAY, ConnectionFailedError("one is gone"))
    second = ScriptedProvider(_PAY, ConnectionFailedError("two is gone"))
    builder = llm().tool(till.pay).provider(first).fallback(second)
    caught = _failure_of(ask, builder)
    assert str(caught) == "two is gone"
    _goes_on(caught, builder, till)
    assert till.paid == [5, 5]


# Programs -------------------------------------------------------------------------------------------------------------


class _BrokenSandbox:
    """A sandbox that fails once the program has had its effect."""

    def __init__(self, till: Till) -> None:
        self._till = till

    async def aexecute(self, *_: object) -> None:
        self._till.pay(5)
        message = "the sandbox is broken"
        raise SandboxError(message)


@every_way
def test_sandbox_error_has_continuation(ask: Ask) -> None:
    till = Till()
    broken: Any = _BrokenSandbox(till)
    provider = ScriptedProvider("```python\nprint(pay(5))\n```", tools=False)
    with Toolkit([ez_tool(till.pay)], sandbox=broken) as toolkit:
        builder = llm().toolkit(toolkit, mode="prompt").provider(provider)
        caught = _failure_of(ask, builder)
        assert isinstance(caught, SandboxError)
        continuation = caught.continuation
        assert isinstance(continuation, LLMPromptBuilder)
        assert str(continuation.messages[-1])[:50] == "Outcome unknown: the conversation was stopped befo"
        assert continuation.provider(ScriptedProvider("Hm.", tools=False)).prompt("Is it done?") == "Hm."
    assert till.paid == [5]


@every_typed_way
def test_wrong_json_twice_has_continuation(ask: Ask) -> None:
    till = Till()
    program = "```python\nprint(pay(5))\n```"
    provider = ScriptedProvider(program, "five", "V", "5!", tools=False)
    with Toolkit([ez_tool(till.pay)]) as toolkit:
        builder = llm().toolkit(toolkit, mode="prompt").provider(provider)
        caught = _failure_of(ask, builder)
        assert isinstance(caught, ProviderError)
        continuation = caught.continuation
        assert isinstance(continuation, LLMPromptBuilder)
        assert continuation.settings == builder.settings
        more = continuation.provider(ScriptedProvider('{"answer": 5}', tools=False))
        assert more.prompt_for_type(int) == 5
    assert till.paid == [5]


@pytest.mark.parametrize("mode", ["tool", "prompt"])
def test_listener_error_in_program_is_hidden_from_model(mode: str) -> None:
    till = Till()

    def listen(record: dict[str, Any]) -> None:
        message = f"the log of {record['name']} is full: /var/log/secret"
        raise OSError(message)

    program = "print(pay(5))"
    script = f"```python\n{program}\n```" if mode == "prompt" else ToolCall("", "execute_tools", {"code": program})
    with Toolkit([ez_tool(till.pay)]) as toolkit:
        builder = llm().toolkit(toolkit, mode="prompt" if mode == "prompt" else "tool").on_tool_call(listen)
        caught = _failure_of(_BLOCKING["prompt"], builder.provider(ScriptedProvider(script)))
    assert isinstance(caught, OSError)
    continuation = getattr(caught, "continuation", None)
    assert isinstance(continuation, LLMPromptBuilder)
    assert "utcome unknown" in str(continuation.messages[-1])
    assert "secret" not in str(continuation.entries)
    assert till.paid == [5]


# Answers of a type ----------------------------------------------------------------------------------------------------


def _give(value: object) -> ToolCall:
    return ToolCall("", "give_answer", {"answer": value})


@every_typed_way
@pytest.mark.parametrize(
    ("has_schema", "wrong"),
    [
        (True, ['{"answer": "no"}', "no"]),
        (False, [_give("no"), _give("no")]),
        (False, ["No idea.", "Still none."]),
        (False, ["No idea.", [_PAY, _give("no")], _give([])]),
        (False, [[_give("no"), _PAY], [_give("no"), _give("no")]]),
    ],
)
def test_wrong_answer_twice_has_continuation(has_schema: bool, wrong: list[Script], ask: Ask) -> None:
    till = Till()
    builder = llm().tool(till.pay).provider(ScriptedProvider(_PAY, *wrong, output_schema=has_schema))
    caught = _failure_of(ask, builder)
    assert "did not give the answer that was asked for" in str(caught)
    continuation = _goes_on(caught, builder, till)
    last = continuation.entries[-1]
    assert isinstance(last, TextMessage)
    assert last.role is MessageRole.USER
    assert continuation.provider(ScriptedProvider("Sorry.")).converse()[1].text == "Sorry."


@every_typed_way
@pytest.mark.parametrize(
    "script", [[_PAY, _give("no")], [[_PAY, _give("no")]], [_PAY, "No idea."], [[_give(5.5), _PAY]]]
)
def test_error_between_attempts_has_continuation(script: list[Script], ask: Ask) -> None:
    till = Till()
    builder = llm().tool(till.pay).provider(ScriptedProvider(*script, ConnectionFailedError("gone")))
    caught = _failure_of(ask, builder)
    assert str(caught) == "gone"
    _goes_on(caught, builder, till)
    assert till.paid == [5]


@every_typed_way
def test_refusal_after_call_has_continuation(ask: Ask) -> None:
    till = Till()
    refusal = Answer(messages=(TextMessage("I will not.", role=MessageRole.ASSISTANT),), stop_reason="refusal")
    builder = llm().tool(till.pay).provider(ScriptedProvider(_PAY, refusal))
    caught = _failure_of(ask, builder)
    continuation = _goes_on(caught, builder, till)
    assert continuation.stop_reason == "refusal"


# Cancelling -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", [*_ASYNC.values(), _asked_for_type])
async def test_cancellation_has_continuation(ask: Callable[[LLMPromptBuilder], Any], anyio_backend: str) -> None:
    till, hanging = Till(), anyio.Event()
    caught: list[BaseException] = []

    async def hang() -> None:
        """Never end."""
        hanging.set()
        await anyio.sleep_forever()

    builder = llm().tools(till.pay, hang).provider(ScriptedProvider(_PAY, ToolCall("", "hang", {})))

    async def run() -> None:
        try:
            await ask(builder)
        except BaseException as error:
            caught.append(error)
            raise

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await hanging.wait()
            group.cancel_scope.cancel()
    continuation = getattr(caught[0], "continuation", None)
    assert isinstance(continuation, LLMPromptBuilder)
    check_order(continuation.entries)
    done, lost = [each for each in continuation.messages if isinstance(each, ToolResultMessage)]
    assert (done.result, lost.success) == ("paid 5", False)
    assert await continuation.provider(ScriptedProvider("Done.")).aprompt("Is it done?") == "Done."
    assert till.paid == [5]


@pytest.mark.parametrize("ask", [*_BLOCKING.values(), _TYPED["prompt_for_type"]])
@pytest.mark.parametrize("inside", ["nothing", "a loop"])
def test_ctrl_c_in_blocking_call_has_continuation(inside: str, ask: Ask) -> None:
    till, ended = Till(), threading.Event()

    async def hang() -> None:
        """Never end."""
        try:
            start_pressing_control_c(ended)
            await anyio.sleep_forever()
        finally:
            ended.set()

    builder = llm().tools(till.pay, hang).provider(ScriptedProvider(_PAY, ToolCall("", "hang", {})))
    run = partial(_failure_of, ask, builder)
    earlier = {*threading.enumerate()}

    async def within() -> BaseException:
        return run()

    caught = run() if inside == "nothing" else anyio.run(within, backend="trio")
    assert isinstance(caught, KeyboardInterrupt)
    assert ended.is_set()
    assert [thread for thread in {*threading.enumerate()} - earlier if thread.name == "ez-ptc-coroutine"] == []
    if ask is not _BLOCKING["stream"]:  # it is the stream's own continuation there
        _goes_on(caught, builder, till)


@pytest.mark.skipif(os.name != "posix", reason="signals of a thread are POSIX")
def test_interrupted_stream_can_continue() -> None:
    till = Till()
    builder = llm().tools(till.pay).provider(ScriptedProvider(_PAY, "Done."))
    stream = builder.stream(_SAID)

    def read() -> None:
        for told in stream:
            if isinstance(told, ToolResultMessage):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), stream:
        read()
    assert stream.continuation.converse()[1].text == "Done."
    assert till.paid == [5]
