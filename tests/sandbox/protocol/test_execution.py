"""The result of an execution, as a model and as a developer reads it."""

from __future__ import annotations

import pytest

from ez_ptc import CodeError
from ez_ptc.sandbox.protocol.execution import ExecutionResult, Grant, Grants
from ez_ptc.sandbox.protocol.records.call_record import make_record
from ez_ptc.sandbox.protocol.tool_types import describe_types
from ez_ptc.sandbox.protocol.values import codec as values


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ExecutionResult(output="tea\n", return_value=5), "tea\n"),
        (ExecutionResult(return_value={"a": 1}), "{'a': 1}"),
        (ExecutionResult(return_value=""), "''"),
        (ExecutionResult(), ""),
        (ExecutionResult(success=False, status="failed", error="E", error_output="Traceback\nE\n"), "Traceback\nE\n"),
        (ExecutionResult(success=False, status="failed", error="E: x"), "E: x"),
        (ExecutionResult(success=False, status="failed"), ""),
        (ExecutionResult(output="a\nb", truncated={"output": 1234}), "a\nb\n[1,234 more bytes were cut: print less.]"),
        (ExecutionResult(output="a\n", truncated={"output": 1}), "a\n[1 more bytes were cut: print less.]"),
        (ExecutionResult(truncated={"output": 9}), "[9 more bytes were cut: print less.]"),
        (ExecutionResult(return_value=5, truncated={"output": 9}), "5\n[9 more bytes were cut: print less.]"),
        (
            ExecutionResult(success=False, error="E", error_output="E\n", truncated={"output": 9}),
            "E\n[9 more bytes were cut: print less.]",
        ),
        (
            ExecutionResult(output="a", truncated={"images": 2}),
            "a\n[Pictures made: 0. Left out, as too large or too many: 2. Draw smaller ones.]",
        ),
    ],
)  # fmt: skip
def test_model_reads_output_value_or_error(result: ExecutionResult, text: str) -> None:
    assert result.to_string() == text


@pytest.mark.parametrize("value", [10**5000, [10**5000], {"n": -(10**5000)}], ids=["bare", "list", "dict"])
def test_number_too_long_to_print_is_text(value: object) -> None:
    assert ExecutionResult(return_value=value).to_string()


def test_a_failure_can_be_raised_and_a_success_cannot() -> None:
    ExecutionResult(return_value=5).raise_for_error()
    with pytest.raises(CodeError, match="KeyError: 'x'"):
        ExecutionResult(success=False, status="failed", error="KeyError: 'x'").raise_for_error()
    with pytest.raises(CodeError, match="did not succeed"):
        ExecutionResult(success=False, status="failed").raise_for_error()


def test_two_results_share_no_mutable_state() -> None:
    first, second = ExecutionResult(), ExecutionResult()
    first.tool_calls.append(make_record({}))
    first.truncated["output"] = 1
    assert (second.tool_calls, second.truncated) == ([], {})


def test_grants_are_sent_as_rows() -> None:
    grants = Grants([Grant("add", "add(a)", "Add ☕.", is_async=True), Grant("b", read_only=True)])
    assert list(grants.by_name) == ["add", "b"]
    assert values.loads(grants.encoded) == [
        ["add", "add(a)", "Add ☕.", True, describe_types("add", "add(a)", ""), False],
        ["b", "", "", False, "", True],
    ]
