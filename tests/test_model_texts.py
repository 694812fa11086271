"""What a model writes is read on the host, whatever it is: in a time that grows with its length and no faster."""

import pytest

from tests.sandbox.scripts import run_script

# A square of these lengths is minutes; each is read in milliseconds.
READ = '''
import sys
from ez_ptc import EzPtcError, ExecutionResult, ScriptedProvider, Toolkit, ToolRegistry, ez_tool, llm

@ez_tool
def get_parcel(parcel_id: int) -> dict[str, int]:
    """Read a parcel."""
    return {}

LENGTH = int(sys.argv[1])
UNITS = ["\\n", " ", " " * 9 + "\\n", "`", "~", "```\\n", "```python\\n", "- ```\\n", "```x", "\x27\x27\x27", '"']
UNITS += ["\\\\", "#", "(", " if x\\n", " if x\\n print\\n", "x = ", "x = 1\\n", "a  ", "\\r\\n"]
UNITS += ["[", "{", '{"a":', "0", "py", "\\ud800", "- "]
TEXTS = [begin + unit * (LENGTH // len(unit)) + end
         for unit in UNITS for begin in ("", "```python\\n", "```json\\n") for end in ("", "x", "\\n```")]
called = [{"name": "get_parcel", "args": {}, "result": {}, "error": None}]

with Toolkit([get_parcel]) as toolkit:
    for text in TEXTS:
        toolkit.extract_code(text)
        for calls in ([], called):
            toolkit.answer(text, ExecutionResult(success=True, tool_calls=calls))
        try:
            ToolRegistry([get_parcel])[text]
        except EzPtcError as error:
            assert len(str(error)) < 300, len(str(error))
        asked = llm().provider(ScriptedProvider([text, text], tools=False)).request("?")
        try:
            asked.prompt_for_type(dict[str, int])
        except EzPtcError as error:
            assert len(str(error)) < 2_000, len(str(error))
print(len(TEXTS))
'''

LITTLE_STACK = """
import sys, threading
from ez_ptc import ArgumentsError
from ez_ptc.formats.openai_shapes.requests import arguments_text
from ez_ptc.schema.arguments.json_text import parse_arguments, parse_value

sys.setrecursionlimit(1_000_000)  # what a host may do, and what newer CPythons do by themselves
threading.stack_size(256 << 10)

def read():
    for text in ("[" * 200_000, '{"a":' * 200_000, '[{"a": "]", "b": ' * 100_000, '"\\\\"' + "[" * 200_000):
        try:
            parse_arguments("tool", text)
        except ArgumentsError as error:
            assert len(str(error)) < 300
        assert parse_value(text) is None
        assert "not_json" in arguments_text(text)
    print("refused")

thread = threading.Thread(target=read)
thread.start()
thread.join()
"""

# Here, too, a square of the numbers of pieces is minutes.
PIECES = """
from ez_ptc.formats.anthropic import stream as anthropic_stream
from ez_ptc.formats.gemini import stream as gemini_stream
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_chat import stream as openai_stream
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import TextMessage
from ez_ptc.providers._events import EventDecoder

LONG = "x" * 200
MANY = 15_000
asked = Prompt(model="m", entries=(TextMessage("?"),))

def answer(module, pieces, begin=(), end=()):
    stream = module.AnswerStream(asked)
    for event in (*begin, *pieces, *end):
        stream.feed(event)
    return stream.answer()

def block(**fields):
    return {"index": 0, **fields}

ENDS = [{"type": "message_stop"}]
for kind, delta in (("text", {"text": LONG}), ("tool_use", {"partial_json": LONG})):
    started = {"type": kind, "text": ""} if kind == "text" else {"type": kind, "id": "1", "name": "f", "input": {}}
    begin = [{"type": "message_start", "message": {"content": []}},
             {"type": "content_block_start", **block(content_block=started)}]
    got = answer(anthropic_stream, [{"type": "content_block_delta", **block(delta=delta)}] * MANY, begin, ENDS)
    print(len(got.text or got.calls[0].arguments))

part = {"candidates": [{"content": {"role": "model", "parts": [{"text": LONG}]}}]}
print(len(answer(gemini_stream, [part] * MANY, end=[{"candidates": [{"finishReason": "STOP"}]}]).text))

def chunks(*deltas):
    return [{"choices": [{"index": 0, "delta": each}]} for each in deltas]

end = [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
call = {"index": 0, "id": "1", "function": {"name": "f", "arguments": LONG}}
print(len(answer(openai_stream, chunks({"tool_calls": [call]}) * MANY, end=end).calls[0].arguments))
print(len(answer(openai_stream, chunks(*({str(n): n} for n in range(MANY))), end=end).content) - 1)

calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}] * MANY
completion = {"choices": [{"message": {"role": "assistant", "tool_calls": calls}}]}
print(len({call.id for call in openai_turns.answer(completion, asked).calls}))

decoder = EventDecoder()
for piece in (b"data: ", *[LONG.encode()] * MANY):
    decoder.feed(piece)
print(*(len(event.data) for event in decoder.feed(b"\\n\\n")))
"""


@pytest.mark.sampled(every=0)
def test_deep_nesting_spares_hosts_with_small_stacks() -> None:
    assert run_script(LITTLE_STACK) == "refused\n"


@pytest.mark.parametrize("length", ["500", pytest.param("12_000", marks=pytest.mark.security)])
def test_no_text_of_a_model_is_dear_to_read(length: str) -> None:
    assert int(run_script(READ, length)) == 243


@pytest.mark.sampled(every=0)
def test_no_number_of_pieces_is_dear_to_put_together() -> None:
    assert run_script(PIECES, timeout=30).split() == [*["3000000"] * 4, "15000", "15000", "3000000"]
