"""Programs and their calls, seen from outside: as spans and as log records."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from ez_ptc import ExecutionResult, ProgramEnded, ScriptedProvider, ToolCall, Toolkit, ez_tool, llm
from ez_ptc.telemetry.tracing import CAPTURE_CONTENT

SECRET = "the orchid is in bloom"
PROGRAM = f"found = look({SECRET!r})\nprint(found)"
Run = Callable[[Toolkit, str], ExecutionResult]


@ez_tool
def look(where: str, times: int = 1) -> str:
    """Look somewhere."""
    if where == "nowhere":
        raise LookupError(SECRET)
    return SECRET * times


@ez_tool
async def look_later(where: str) -> str:
    """Look somewhere, in time."""
    await anyio.lowlevel.checkpoint()
    return where


@pytest.fixture(params=["execute", "aexecute", "session", "asynchronous session", "stream"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a program in each way there is."""

    def call(toolkit: Toolkit, code: str) -> ExecutionResult:
        if request.param == "execute":
            return toolkit.execute(code)
        if request.param == "aexecute":
            return anyio.run(toolkit.aexecute, code)
        if request.param == "stream":
            [ended] = [event for event in toolkit.stream(code) if isinstance(event, ProgramEnded)]
            return ended.result
        with toolkit.session() as session:
            return session.execute(code) if request.param == "session" else anyio.run(session.aexecute, code)

    return call


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


# Spans ----------------------------------------------------------------------------------------------------------------


def test_program_and_its_calls_are_nested_spans(run: Run, spans: InMemorySpanExporter) -> None:
    result = run(Toolkit([look]), f"{PROGRAM}\nparallel((look, 'a'), (look, 'b'))")
    assert result.error is None
    *calls, program = spans.get_finished_spans()
    assert (program.name, parent_of(program)) == ("execute_tool execute_tools", None)
    assert [(call.name, parent_of(call)) for call in calls] == [("execute_tool look", id_of(program))] * 3
    assert attributes(program) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "execute_tools",
        "gen_ai.tool.type": "function",
        "ez_ptc.program.status": "done",
        "ez_ptc.program.calls": 3,
    }
    assert SECRET not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_span_of_failed_program_names_its_error(run: Run, spans: InMemorySpanExporter) -> None:
    result = run(Toolkit([look]), "look('nowhere')")
    assert SECRET in (result.error or "")
    call, program = spans.get_finished_spans()
    assert (call.status.status_code, attributes(call)["error.type"]) == (StatusCode.ERROR, "LookupError")
    assert (program.status.status_code, attributes(program)["ez_ptc.program.status"]) == (StatusCode.ERROR, "failed")
    assert SECRET not in "".join(span.to_json() for span in (call, program))


@pytest.mark.parametrize(
    ("code", "expected"),
    [("{}['x']", "KeyError"), ("raise type('orchid', (Exception,), {})('x')", "_OTHER"), ("1 +", "SyntaxError")],
)
def test_only_known_error_classes_are_named(code: str, expected: str, spans: InMemorySpanExporter) -> None:
    assert not Toolkit([look]).execute(code).success
    (program,) = spans.get_finished_spans()
    assert attributes(program)["error.type"] == expected
    assert "orchid" not in program.to_json()


def test_calls_of_asynchronous_tools_are_nested_spans(spans: InMemorySpanExporter) -> None:
    result = Toolkit([look_later]).execute("import asyncio\nasyncio.gather(look_later('a'), look_later('b'))\n1")
    assert result.error is None
    anyio.run(Toolkit([look_later]).aexecute, "print(await look_later('a'))")
    finished = spans.get_finished_spans()
    programs = {id_of(span) for span in finished if span.name == "execute_tool execute_tools"}
    assert len(programs) == 2
    assert {parent_of(span) for span in finished if span.name == "execute_tool look_later"} == programs


def test_spans_of_a_tool_belong_to_its_call(run: Run, spans: InMemorySpanExporter) -> None:
    @ez_tool
    def ask() -> None:
        """Ask another service."""
        with trace.get_tracer("service").start_as_current_span("request"):
            pass

    run(Toolkit([ask]), "ask()")
    request, call, _ = spans.get_finished_spans()
    assert (request.name, parent_of(request)) == ("request", id_of(call))


def test_program_belongs_to_span_of_its_caller(run: Run, spans: InMemorySpanExporter) -> None:
    with trace.get_tracer("app").start_as_current_span("web request"):
        run(Toolkit([look]), "look('here')")
    call, program, request = spans.get_finished_spans()
    assert (parent_of(program), parent_of(call)) == (id_of(request), id_of(program))
    assert trace.get_current_span() is trace.INVALID_SPAN


@pytest.mark.parametrize("mode", ["tool", "prompt"])
def test_program_of_conversation_is_one_span(mode: Literal["tool", "prompt"], spans: InMemorySpanExporter) -> None:
    code = "print(look('here'))"
    answer = f"```python\n{code}\n```" if mode == "prompt" else ToolCall("c1", "execute_tools", {"code": code})
    llm().toolkit(Toolkit([look]), mode=mode).provider(ScriptedProvider(answer, "Done.")).prompt("Look.")
    _, call, program, _, _ = spans.get_finished_spans()
    assert [call.name, program.name] == ["execute_tool look", "execute_tool execute_tools"]
    assert parent_of(call) == id_of(program)
    assert attributes(program)["ez_ptc.program.status"] == "done"
    assert attributes(program).get("gen_ai.tool.call.id") == ("c1" if mode == "tool" else None)


def test_program_within_a_program_has_its_own_spans(spans: InMemorySpanExporter) -> None:
    inner = ez_tool(Toolkit([look]).as_tool())
    Toolkit([inner]).execute("execute_tools(\"look('here')\")")
    call, program, outer = spans.get_finished_spans()
    assert [span.name for span in (call, program, outer)] == ["execute_tool look", *["execute_tool execute_tools"] * 2]
    assert (parent_of(call), parent_of(program)) == (id_of(program), id_of(outer))


def test_span_of_recorded_program_names_its_run(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    with Toolkit([ez_tool(requires_approval=True)(look.fn)], journal=tmp_path / "runs.db") as toolkit:
        paused = toolkit.execute("print(look('here'))")
        assert toolkit.resume(paused.run_id or "", {paused.pending[0].id: True}).success
    programs = [attributes(span) for span in spans.get_finished_spans() if span.name == "execute_tool execute_tools"]
    assert [program["ez_ptc.program.status"] for program in programs] == ["paused", "done"]
    assert {program["ez_ptc.run.id"] for program in programs} == {paused.run_id}


def test_cancelled_program_leaves_finished_spans(spans: InMemorySpanExporter) -> None:
    async def main() -> None:
        began = anyio.Event()

        @ez_tool
        async def wait() -> None:
            """Wait for good."""
            began.set()
            await anyio.sleep_forever()

        async with anyio.create_task_group() as group:
            group.start_soon(Toolkit([wait]).aexecute, "wait()")
            await began.wait()
            group.cancel_scope.cancel()

    anyio.run(main)
    finished = spans.get_finished_spans()
    assert [span.name for span in finished] == ["execute_tool wait", "execute_tool execute_tools"]
    assert [attributes(span)["error.type"] for span in finished] == ["CancelledError"] * 2


def test_content_of_programs_is_recorded_if_asked(
    run: Run, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE_CONTENT, "true")
    run(Toolkit([look]), "print(look('here', times=2))")
    call, program = map(attributes, spans.get_finished_spans())
    assert json.loads(str(call["gen_ai.tool.call.arguments"])) == {"where": "here", "times": 2}
    assert call["gen_ai.tool.call.result"] == SECRET * 2
    assert json.loads(str(program["gen_ai.tool.call.arguments"])) == {"code": "print(look('here', times=2))"}
    assert program["gen_ai.tool.call.result"] == f"{SECRET * 2}\n"


def test_hostile_text_becomes_content_that_can_be_exported(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE_CONTENT, "true")
    Toolkit([look]).execute("look('\\ud83d')\nprint('\\udc00')\n'\\udc00'")
    for span in spans.get_finished_spans():
        "".join(str(value) for value in attributes(span).values()).encode()


# Log records ----------------------------------------------------------------------------------------------------------


def test_programs_and_calls_are_log_records_without_content(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "ez_ptc.toolkit")
    assert run(Toolkit([look]), PROGRAM).success
    (call, program) = [record for record in caplog.records if record.name == "ez_ptc.toolkit"]
    assert (call.levelname, program.levelname) == ("DEBUG", "INFO")
    assert call.getMessage().startswith("look done in ")
    assert program.getMessage().startswith("program done in ")
    assert program.getMessage().endswith("calls: 1")
    assert SECRET not in caplog.text


def test_log_record_of_failure_names_only_its_class(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "ez_ptc.toolkit")
    run(Toolkit([look]), "try:\n    look('nowhere')\nfinally:\n    raise KeyError('the orchid')")
    messages = [record.getMessage() for record in caplog.records if record.name == "ez_ptc.toolkit"]
    assert messages[0].startswith("look failed (LookupError) in ")
    assert messages[1].startswith("program failed (KeyError) in ")
    assert "orchid" not in "".join(messages)


# What it costs --------------------------------------------------------------------------------------------------------


def run_alone(code: str) -> None:
    """Run code in a process in which no test has configured anything."""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.sampled(every=0)
def test_unconfigured_opentelemetry_is_not_even_imported() -> None:
    run_alone(
        "import sys\n"
        "from ez_ptc import ScriptedProvider, Toolkit, ez_tool, llm\n"
        "with Toolkit([]) as toolkit:\n"
        "    assert toolkit.execute('print(1)').output == '1\\n'\n"
        "    assert llm().toolkit(toolkit).provider(ScriptedProvider('Hello.')).prompt('Hi') == 'Hello.'\n"
        "assert not any(name.partition('.')[0] == 'opentelemetry' for name in sys.modules)\n"
    )


def test_unwatched_programs_run_on_the_sandbox_itself() -> None:
    run_alone(
        "import opentelemetry.trace\n"
        "from ez_ptc.toolkit.execution.telemetry import watched\n"
        "sandbox = object()\n"
        "assert watched(sandbox) is sandbox\n"
    )


def test_variable_of_environment_configures_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_PYTHON_TRACER_PROVIDER", "sdk_tracer_provider")
    run_alone("from ez_ptc.telemetry.tracing import is_tracing\nassert is_tracing()\n")
