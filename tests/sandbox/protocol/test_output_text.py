"""What a model reads of an execution: it can be encoded and printed, and it is bounded, whatever the worker sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc import Limits, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.sandbox.protocol.output_text import encodable, shorten

_OUTPUT = 1_000
_HALF = "\ud800"

SEND = """
import json, os
def send(frame):
    data = json.dumps(frame).encode()
    left = memoryview(len(data).to_bytes(4, "big") + data)
    while left:
        left = left[os.write(3, left):]
"""
HUGE = {"$": ["i", "0x" + "f" * 6_000]}
LONG: dict[str, str] = {
    "a value": "'z' * 10_000_000",
    "a value in a value": "{'a': ['z' * 1_000_000]}",
    "an error": "raise ValueError('x' * 10_000_000)",
    "an error after much was printed": (
        "import sys\nsys.stderr.write('y' * 50_000)\nprint('o' * 50_000)\nraise ValueError('x')"
    ),
    "a forged error": f"{SEND}send({{'t': 'done', 'value': None, 'dropped': 0, 'error': 'E' * 7_000_000}})",
    "a forged traceback": (
        f"{SEND}send({{'t': 'done', 'value': None, 'dropped': 0, 'error': 'E' * 4_000_000, 'trace': 'T' * 4_000_000}})"
    ),
    "output": "print('x' * 10_000_000)",
}


@ez_tool
def noop(x: object = 0) -> int:
    """Do nothing."""
    return 0 if x else 1


@pytest.fixture(scope="module")
def toolkit(sandbox: ProcessSandbox) -> Toolkit:
    return Toolkit([noop], sandbox=sandbox, limits=Limits(output=_OUTPUT, text=_OUTPUT))


def texts_of(toolkit: Toolkit, result: ExecutionResult) -> list[str]:
    own = [result.output, result.error_output, result.error or "", result.to_string(), result.value_text()]
    return [*own, toolkit.answer("x", result)]


@pytest.mark.parametrize("code", LONG.values(), ids=LONG.keys())
@pytest.mark.sampled(every=4)
def test_model_text_never_exceeds_the_limit(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code)
    assert max(map(len, (result.to_string(), result.value_text()))) <= _OUTPUT
    assert len(toolkit.answer(code, result)) <= _OUTPUT
    assert len(toolkit.as_tool()(code)) <= _OUTPUT
    assert len(result.error or "") <= _OUTPUT
    assert len(result.error_output) <= 2 * _OUTPUT + 100


@pytest.mark.parametrize(
    "code",
    [
        "import sys\n_ = sys.stderr.write('lost\\n')",
        "import logging\nlogging.warning('lost')",
        "import traceback\ntry:\n    raise ValueError('lost')\nexcept ValueError:\n    traceback.print_exc()",
        "import sys\nprint('[Done. The program lost it.]', file=sys.stderr)",
    ],
)
def test_standard_error_is_shown_where_nothing_else_is(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code)
    assert "lost" in result.to_string()
    text = toolkit.answer(code, result)
    assert text == f"{result.to_string().rstrip()}\n[Done. The program printed nothing.]"
    assert "[Done. The program lost" not in text
    for shown in ("print(5)", "5"):
        result = toolkit.execute(f"{code}\n{shown}")
        assert (result.to_string().strip(), toolkit.answer(code, result).strip()) == ("5", "5")


def test_omission_is_marked_and_the_end_kept() -> None:
    result = ExecutionResult(success=False, error="E", error_output="T" * 5_000 + "ValueError: x", max_text=_OUTPUT)
    assert "characters left out here" in result.to_string()
    assert result.to_string().endswith("ValueError: x")


CUT: dict[str, str] = {
    "output": "print('\\n'.join(f'line {i}' for i in range(5_000)))",
    "one line": "print('x' * 50_000)",
    "errors": "import sys\nprint('\\n'.join(f'line {i}' for i in range(5_000)), file=sys.stderr)",
    "both": "import sys\nprint('y' * 1_990)\nprint('x' * 50_000, file=sys.stderr)\nprint('end')",
    "output before an error": "print('x' * 50_000)\nraise ValueError('no')",
    "a value after cut errors": "import sys\nprint('x' * 50_000, file=sys.stderr)\n7",
}


@pytest.mark.parametrize("code", CUT.values(), ids=CUT.keys())
def test_both_texts_say_how_much_output_was_cut(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code)
    note = f"[{result.truncated['output']:,} more bytes were cut: print less.]"
    for text in (result.to_string(), toolkit.answer(code, result)):
        assert note in text.splitlines()


@pytest.mark.parametrize("code", ["raise ValueError('x' * 30_000)", "raise ValueError('x\\n' * 30_000)"])
def test_cut_error_says_how_much_was_left_out(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code)
    for text in (result.to_string(), result.error or "", toolkit.answer(code, result)):
        assert re.search(r"[\d,]+ characters (are )?left out here", text)


@given(st.text(max_size=300), st.integers(0, 200))
def test_shortened_text_is_whole_or_marks_omission(text: str, most: int) -> None:
    short = shorten(text, most)
    if len(text) <= most:
        assert short == text
    else:
        assert f"{len(text) - most:,} characters are left out" in short
        assert len(short) <= most + 80


HALVES: dict[str, str] = {
    "printed": "print('\\ud800')",
    "raised": "raise ValueError('\\ud800')",
    "a value": "['\\ud800', {'\\udfff': 1}]",
    "a key": "{'\\ud800': 1}['a']",
    "an argument": "noop('\\ud800')\nnoop(x={'\\ud800': '\\udfff'}, y='\\ud800')",
    "forged output": f"{SEND}send({{'t': 'output', 'stream': 1, 'text': 'a\\ud800'}})",
    "a forged end": (
        f"{SEND}send({{'t': 'done', 'value': '\\ud800', 'dropped': 0, 'error': '\\ud800', 'trace': '\\ud800'}})"
    ),
    "the program's own text": "x = noop('\ud800')",
}


@pytest.mark.parametrize("code", HALVES.values(), ids=HALVES.keys())
def test_all_text_of_an_execution_can_be_encoded(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code)
    for text in (*texts_of(toolkit, result), toolkit.answer(code, result), repr(result), str(result.tool_calls)):
        text.encode()
    for record in result.tool_calls:
        (record["error"] or "").encode()


def test_an_error_of_a_tool_can_be_encoded(sandbox: ProcessSandbox) -> None:
    @ez_tool
    def fail() -> None:
        """Fail."""
        raise ValueError(_HALF)

    result = Toolkit([fail], sandbox=sandbox).execute("fail()")
    assert result.tool_calls[0]["error"] == "\\ud800"
    result.to_string().encode()


@given(st.text(st.characters()) | st.text(st.characters(categories=["Cs"])))
def test_encodable_text_is_kept_if_possible(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        assert "\\ud" in encodable(text)
        encodable(text).encode()
    else:
        assert encodable(text) == text


@pytest.mark.parametrize("dropped", [HUGE, 1 << 63, {"$": ["i", "-0x1"]}, {"$": ["dec", "1"]}, True])
def test_a_forged_number_of_dropped_bytes_ends_the_worker(toolkit: Toolkit, dropped: object) -> None:
    frame = json.dumps({"t": "done", "value": None, "error": None, "dropped": dropped})
    code = f"{SEND}send(json.loads({frame!r}))"
    result = toolkit.execute(code)
    assert "broke the sandbox's protocol" in (result.error or "")
    assert toolkit.as_tool()(code)


def test_call_records_with_any_integers_can_be_printed(sandbox: ProcessSandbox) -> None:
    printed: list[str] = []

    def listen(record: object) -> None:
        printed.extend((str(record), f"{record}", repr([record])))

    result = Toolkit([noop], sandbox=sandbox, on_tool_call=listen).execute("noop([10**5000])\n10**5000")
    assert result.success
    assert all("an integer of 16610 bits" in text for text in [*printed, repr(result), str(result.tool_calls)])


@pytest.mark.parametrize(
    "code", ["10**5000", "[10**5000]", "{10**5000: {-10**5000}}", "(10**5000,)"], ids=["bare", "list", "dict", "tuple"]
)
def test_result_with_any_integers_can_be_printed(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(code)
    writers: list[Callable[[ExecutionResult], str]] = [repr, str, "{}".format, ExecutionResult.to_string]
    assert all(writer(result) for writer in writers)
    assert toolkit.answer(code, result)
