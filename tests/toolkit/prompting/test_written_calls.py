"""Calls that a model writes into its answer in the notation of its own template."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc import ScriptedProvider, Toolkit, ez_tool, llm
from ez_ptc.toolkit.prompting.written_calls import render_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator


@ez_tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@ez_tool(name="get-weather", read_only=True)
async def get_weather(city: str = "Oslo") -> str:
    """Look up the weather."""
    return f"sunny in {city}"


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([add, get_weather]) as opened:
        yield opened


PROGRAM = 'print(add(4), "</tool_call>")'
PACKED = json.dumps({"name": "execute_tools", "arguments": {"code": PROGRAM}})
CALL = '{"name": "add", "arguments": {"a": 4}}'
MESSAGE = '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 4}<|call|>'
READ = {
    "hermes": (f"I will add.\n<tool_call>\n{CALL}\n</tool_call>", "print(add(a=4))"),
    "without an end": (f"<tool_call>{CALL}", "print(add(a=4))"),
    "two": (
        f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL.replace('4', '5')}</tool_call>",
        "print(add(a=4))\nprint(add(a=5))",
    ),
    "two in one tag": (
        f"<tool_call>\n{CALL}\n{CALL.replace('4', '5')}\n</tool_call>",
        "print(add(a=4))\nprint(add(a=5))",
    ),
    "arguments as text": ('<tool_call>{"name": "add", "arguments": "{\\"a\\": 4}"}</tool_call>', "print(add(a=4))"),
    "Python's literals": (
        "<tool_call>{'name': 'add', 'arguments': {'a': 4, 'b': None}}</tool_call>",
        "print(add(a=4, b=None))",
    ),
    "a block in the tag": (f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>", "print(add(a=4))"),
    "the tag in a block": (f"```xml\n<tool_call>{CALL}</tool_call>\n```", "print(add(a=4))"),
    "OpenAI's shape": (f'<tool_call>{{"type": "function", "function": {CALL}}}</tool_call>', "print(add(a=4))"),
    "a template's name": (
        '<tool_call>{"name": "functions.get_weather", "arguments": {}}</tool_call>',
        "print(await get_weather())",
    ),
    "a key that is no name": (
        '<tool_call>{"name": "add", "arguments": {"a": 4, "from": 1}}</tool_call>',
        "print(add(a=4, **{'from': 1}))",
    ),
    "a program": (f"<tool_call>{PACKED}</tool_call>", PROGRAM),
    "a program with line breaks": (
        '<tool_call>{"name": "python", "arguments": {"code": "x = 1\nprint(add(x))"}}</tool_call>',
        "x = 1\nprint(add(x))",
    ),
    "Python in the tag": ("<tool_call>\nprint(add(4))\n</tool_call>", "print(add(4))"),
    "Python before an invented response": ("<tool_call>add(4)</tool_call>\n<tool_response>9</tool_response>", "add(4)"),
    "below reasoning": (
        f"<think>\n<tool_call>{CALL.replace('4', '9')}</tool_call>\n</think>\n<tool_call>{CALL}</tool_call>",
        "print(add(a=4))",
    ),
    "above an invented response": (
        f"<tool_call>{CALL}</tool_call>\n<tool_response>9</tool_response>\n<tool_call>{CALL}</tool_call>",
        "print(add(a=4))",
    ),
    "mistral": (f"[TOOL_CALLS] [{CALL}]", "print(add(a=4))"),
    "mistral's later form": (
        '[TOOL_CALLS]add[ARGS]{"a": 4}[TOOL_CALLS]add[CALL_ID]x1[ARGS]{"a": 5}',
        "print(add(a=4))\nprint(add(a=5))",
    ),
    "llama": ('<function=add>{"a": 4}</function>', "print(add(a=4))"),
    "llama's program": (f"<function=execute_tools>{json.dumps({'code': PROGRAM})}</function>", PROGRAM),
    "qwen coder": (
        "<function=execute_tools>\n<parameter=code>\nx = add(4)\nprint(x)\n</parameter>\n</function>",
        "x = add(4)\nprint(x)",
    ),
    "claude": (
        '<function_calls>\n<invoke name="add">\n<parameter name="a">4</parameter>\n</invoke>\n</function_calls>',
        "print(add(a='4'))",
    ),
    "python tag": ("<|python_tag|>print(add(4))<|eom_id|>", "print(add(4))"),
    "python tag with JSON": (
        '<|python_tag|>{"type": "function", "name": "add", "parameters": {"a": 4}}<|eom_id|>',
        "print(add(a=4))",
    ),
    "python tag with a method": ("<|python_tag|>add.call(a=4)<|eom_id|>", "print(add(a=4))"),
    "nothing but JSON": ('{"name": "add", "parameters": {"a": 4}}', "print(add(a=4))"),
    "nothing but a block of JSON": (f"```json\n{CALL}\n```", "print(add(a=4))"),
    "granite": (f"<|tool_call|>[{CALL}]", "print(add(a=4))"),
    "kimi": (
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>"
            '{"a": 4}<|tool_call_end|><|tool_calls_section_end|>'
        ),
        "print(add(a=4))",
    ),
    "deepseek": (
        (
            "<\uff5ctool▁calls▁begin\uff5c><\uff5ctool▁call▁begin\uff5c>function<\uff5ctool▁sep\uff5c>add\n```json\n"
            '{"a": 4}\n```<\uff5ctool▁call▁end\uff5c><\uff5ctool▁calls▁end\uff5c>'
        ),
        "print(add(a=4))",
    ),
    "gpt-oss": (
        (
            "<|channel|>analysis<|message|>I add.<|end|><|start|>assistant<|channel|>commentary to=functions.add "
            '<|constrain|>json<|message|>{"a": 4}<|call|>'
        ),
        "print(add(a=4))",
    ),
    "GLM": (
        "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>4</arg_value>\n<arg_key>b</arg_key>\n<arg_value>2</arg_value></tool_call>",
        "print(add(a='4', b='2'))",
    ),
    "GLM's program": (
        "<tool_call>execute_tools\n<arg_key>code</arg_key>\n<arg_value>x = add(4)\nprint(x)</arg_value></tool_call>",
        "x = add(4)\nprint(x)",
    ),
    "minimax": (
        '<minimax:tool_call>\n<invoke name="add">\n<parameter name="a">4</parameter>\n</invoke>\n</minimax:tool_call>',
        "print(add(a='4'))",
    ),
    "deepseek's later form": (
        (
            '<|DSML|function_calls>\n<|DSML|invoke name="add">\n<|DSML|parameter name="a" string="false">4'
            "</|DSML|parameter>\n</|DSML|invoke>\n</|DSML|function_calls>"
        ).replace("|", "\uff5c"),
        "print(add(a='4'))",
    ),
    "phi": (f"functools[{CALL}]", "print(add(a=4))"),
    "ReAct": ('Thought: I add.\nAction: add\nAction Input: {"a": 4}\nObservation: 9', "print(add(a=4))"),
    "ReAct with marks": ('**Action:** `add`\n\n**Action Input:**\n```json\n{"a": 4}\n```', "print(add(a=4))"),
    "ReAct's JSON": (
        'Thought: I add.\nAction:\n```json\n{"action": "add", "action_input": {"a": 4}}\n```',
        "print(add(a=4))",
    ),
    "a program for a notebook": (
        "<function=execute_ipython_cell>\n<parameter=code>\nprint(add(4))\n</parameter>\n</function>",
        "print(add(4))",
    ),
    "beside a program": (f"```python\nprint(add(4))\n```\n<tool_call>{CALL}</tool_call>", "print(add(4))"),
    "with a program in a parameter": (
        "<function=add>\n<parameter=a>\n```python\nadd(9)\n```\n</parameter>\n</function>",
        "print(add(a='```python\\nadd(9)\\n```'))",
    ),
    "around reasoning": (
        f"<tool_call>{CALL}</tool_call>\n<think>And</think>\n<tool_call>{CALL.replace('4', '5')}</tool_call>",
        "print(add(a=4))\nprint(add(a=5))",
    ),
    "before an invented response on its line": (
        f"<tool_call>{CALL}</tool_call><tool_response>9</tool_response>\n<tool_call>{CALL}</tool_call>",
        "print(add(a=4))",
    ),
    "before an invented turn": (
        f"<tool_call>{CALL}</tool_call><|im_end|>\n<|im_start|>user\n9<|im_end|>\n<tool_call>{CALL}</tool_call>",
        "print(add(a=4))",
    ),
    "gpt-oss after the prompt's beginning": (f"I add.<|end|><|start|>assistant{MESSAGE}", "print(add(a=4))"),
}


@pytest.mark.parametrize(("answer", "program"), READ.values(), ids=READ)
def test_written_calls_become_a_program(toolkit: Toolkit, answer: str, program: str) -> None:
    assert toolkit.extract_code(answer) == program


NESTED = {depth: "[" * depth + "]" * depth for depth in (150, 5_000)}
UNREADABLE = {
    "cut off": ('<tool_call>{"name": "add", "arguments": {"a": 4', "its JSON is cut off"),
    "cut off after another": (
        f'<tool_call>{CALL}</tool_call>\n<tool_call>{{"name": "add", "argu',
        "its JSON is cut off",
    ),
    "unknown": ('<tool_call>{"name": "ad", "arguments": {}}</tool_call>', "did you mean 'add'?"),
    "without arguments": (
        '<tool_call>{"name": "add", "a": 4}</tool_call>',
        'expected a JSON object with "name" and "arguments"',
    ),
    "twice": (
        f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>",
        "the same call of add stands there twice",
    ),
    "beside a program": (
        f"<tool_call>{CALL}</tool_call>\n<tool_call>{PACKED}</tool_call>",
        "a program stands beside other calls",
    ),
    "a list": ('<tool_call>{"name": "add", "arguments": [4]}</tool_call>', "expected an object as its arguments"),
    "GLM's, cut off": ("<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>4</arg_value>\n", "it has no end"),
    "twice in another order": (
        '<tool_call>{"name": "add", "arguments": {"a": 4, "b": 2}} {"name": "add", "arguments": {"b": 2, "a": 4}}',
        "the same call of add stands there twice",
    ),
    "Python before it": (f"<tool_call>add(4)</tool_call>\n<tool_call>{CALL}</tool_call>", "in another notation"),
    "Python below it": (f"<tool_call>{CALL}</tool_call>\n<tool_call>add(4)</tool_call>", "words stand below"),
    "Python twice": ("<tool_call>add(4)</tool_call>\n<tool_call>add(5)</tool_call>", "words stand below"),
    "two programs": (f"<tool_call>{PACKED}</tool_call>\n<tool_call>{PACKED}</tool_call>", "a program stands beside"),
    "code for an unknown tool": (
        '<tool_call>{"name": "review_code", "arguments": {"code": "print(add(4))"}}</tool_call>',
        "unknown tool 'review_code'",
    ),
    "arguments beside the function": (
        '<tool_call>{"function": {"name": "add"}, "arguments": {"a": 4}}</tool_call>',
        'expected a JSON object with "name" and "arguments"',
    ),
    "two names": (
        '<tool_call>{"name": "get_weather", "function": {"name": "add", "arguments": {"a": 4}}}</tool_call>',
        'expected a JSON object with "name" and "arguments"',
    ),
    "a parameter twice": (
        "<function=add>\n<parameter=a>4</parameter>\n<parameter=a>5</parameter>\n</function>",
        "its parameter a comes twice",
    ),
    "reasoning in a parameter": (
        "<function=add>\n<parameter=a>\n<think>\n4\n</think>\n</parameter>\n</function>",
        "reasoning stands within it",
    ),
    "a program in a parameter that is cut off": (
        "<function=add>\n<parameter=a>\n```python\nprint(add(9))\n```\n</para",
        "it has no end",
    ),
    "a repeated mail": (f"The mail says:\nHello\n<tool_call>{CALL}</tool_call>\nBye", "it may be a quotation"),
    "a comment": (f"<!--\n<tool_call>{CALL}</tool_call>\n-->", "it may be a quotation"),
    "an example": (f"<example>\n<tool_call>{CALL}</tool_call>\n</example>", "it may be a quotation"),
    "parameters cut off": ("<function=execute_tools>\n<parameter=code>\nprint(add(", "it has no end"),
    "nested too deeply": (
        f'<tool_call>{{"name": "add", "arguments": {{"a": {NESTED[150]}}}}}</tool_call>',
        "nested more than 100 levels deep",
    ),
    "nested beyond parsing": (
        f'[TOOL_CALLS] [{{"name": "add", "arguments": {{"a": {NESTED[5_000]}}}}}]',
        "nested more than 100 levels deep",
    ),
    "nested in a tag": (f'<function=add>{{"a": {NESTED[150]}}}</function>', "nested more than 100 levels deep"),
    "a repeated key": (
        '<tool_call>{"name": "add", "arguments": {"a": 4, "a": 5}}</tool_call>',
        "the key 'a' comes 2 times in one object",
    ),
    "no number": ('<tool_call>{"name": "add", "arguments": {"a": NaN}}</tool_call>', "NaN is not a JSON number"),
    "ReAct with second thoughts": ('Action: add\nAction Input: {"a": 4}\n\nNo: I refuse.', "it may be a quotation"),
    "ReAct in a refusal": (
        'Thought: the mail has\nAction: add\nAction Input: {"a": 4}\nI must not.\nFinal Answer: No.',
        "it may be a quotation",
    ),
    "ReAct twice": (
        'Action: add\nAction Input: {"a": 4}\nObservation: 5\nAction: add\nAction Input: {"a": 5}',
        "it may be a quotation",
    ),
    "ReAct below words": (
        'I will not do what it says.\nThought: Hm\nAction: add\nAction Input: {"a": 4}',
        "words stand above",
    ),
    "ReAct at the end of a mail": ('The mail says:\n\nAction: add\nAction Input: {"a": 4}\n', "words stand above it"),
    "ReAct's JSON below words": (
        'The mail says:\nThought: I add.\nAction:\n```json\n{"action": "add", "action_input": {"a": 4}}\n```',
        "words stand above it",
    ),
    "text": ('<tool_call>"add"</tool_call>', "expected a JSON object, got text"),
}


@pytest.mark.parametrize(("answer", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_call_says_what_to_write(toolkit: Toolkit, answer: str, reason: str) -> None:
    result = toolkit.execute(toolkit.extract_code(answer) or "")

    assert reason in str(result.error)
    assert "Write one ```python block" in str(result.error)
    assert result.tool_calls == []


@pytest.mark.parametrize(
    "answer",
    [
        f"<think>\n<tool_call>{CALL}</tool_call>\n</think>\nThe answer is 5.",
        f"<think>\n<tool_call>{CALL}</tool_call>",
        f"Write <tool_call>{CALL}</tool_call> to add. The answer is 5.",
        f"An example:\n```json\n{CALL}\n```\nThe answer is 5.",
        f"An example:\n```xml\n<tool_call>{CALL}</tool_call>\n```\nThe answer is 5.",
        f"1. An example:\n2. ```xml\n   <tool_call>{CALL}</tool_call>\n   ```\nThe answer is 5.",
        f"- ```xml\n  <tool_call>{CALL}</tool_call>\n  ```\nThe answer is 5.",
        f"```markdown\n```xml\n<tool_call>{CALL}</tool_call>\n```\n```\nThe answer is 5.",
        f"An example:\n\n    <tool_call>{CALL}</tool_call>\n",
        'The format is:\n```text\nThought: I add.\nAction: add\nAction Input: {"a": 4}\n```',
        'The format is:\nAction: add\nAction Input: {"a": 4}\nThat is all.',
        f"<function_results>\n<tool_call>{CALL}</tool_call>\n</function_results>\nThe answer is 5.",
        "An example:\n```xml\n<tool_call>\nprint(add(4))\n</tool_call>\n```\nThe answer is 5.",
        "An example:\n```html\n<code>\nprint(add(4))\n</code>\n```\nThe answer is 5.",
        '{"name": "add", "input": {"a": 4}, "type": "log"}',
        f"The format is `{MESSAGE}`. The answer is 5.",
        f"The page has {MESSAGE}",
        f"<think>\n{MESSAGE}\n</think>\nThe answer is 5.",
        f"An example:\n```text\n{MESSAGE}\n```\nThe answer is 5.",
        f"<|channel|>analysis<|message|>I could send {MESSAGE}",
        "[TOOL_CALLS] is a token of Mistral's models.",
        '{"name": "Ada", "parameters": {"a": 4}}',
        '{"name": "add", "description": "Add two numbers."}',
        f"<|channel|>analysis<|message|><tool_call>{CALL}</tool_call><|end|><|channel|>final<|message|>It is 5.",
    ],
)
def test_calls_that_an_answer_only_mentions_are_none(toolkit: Toolkit, answer: str) -> None:
    assert toolkit.extract_code(answer) is None


def test_written_call_runs_once_in_a_conversation() -> None:
    provider = ScriptedProvider(f"<tool_call>\n{CALL}\n</tool_call>", "It is 5.")
    with Toolkit([add]) as toolkit:
        messages, last = llm().toolkit(toolkit, mode="prompt").provider(provider).converse("What is 4 + 1?")

    assert last.text == "It is 5."
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert "5" in str(messages[2])
    assert "each call became a line that prints what it returns" in str(messages[2])


def test_result_of_written_calls_says_what_was_made_of_them(toolkit: Toolkit) -> None:
    program = toolkit.extract_code(f"<tool_call>{CALL}</tool_call>") or ""
    note = "[Your program's source was repaired before it ran: each call became a line that prints what it returns.]"
    with toolkit.session() as session:
        for run in (toolkit.execute, session.execute):
            result = run(program)
            assert result.notes == [note]
            assert toolkit.answer(program, result) == f"5\n{note}"
    assert toolkit.execute("print(add(4))").notes == []


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5), VALUES, max_size=4))
def test_arguments_arrive_as_they_are_written(arguments: dict[str, object]) -> None:
    received: dict[str, object] = {}

    def receive(**given: object) -> None:
        received.update(given)

    exec(f"receive({render_arguments(arguments)})", {"receive": receive})

    assert received == arguments


TOKENS = """<tool_call> </tool_call> { } " ' [ ] "name":"add" , "arguments": [TOOL_CALLS] [ARGS] add <function=add>
</function> <parameter=a> </parameter> ``` ```json <|python_tag|> 4 <think> </think> <|message|> add.call(a=4)"""
PIECES = st.sampled_from([*TOKENS.split(), CALL, "\n", "\\", "<|channel|>commentary to=functions.add<|message|>"])


@given(st.lists(PIECES, max_size=12).map("".join))
def test_pieces_of_calls_never_raise(answer: str) -> None:
    with Toolkit([add]) as toolkit:
        program = toolkit.extract_code(answer)

    assert program is None or program.strip()


@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>",
        '<tool_call>{"a": "',
        "<function=add>\n<parameter=a>\n",
        "[TOOL_CALLS]add[ARGS]{",
        "<tool_call>{",
        "\n<tool_call>[",
        "```xml\n",
        "<|start|>assistant<|channel|>commentary to=functions.add<|message|>{}<|call|>",
    ],
)
def test_long_row_of_marks_is_read_in_one_pass(toolkit: Toolkit, piece: str) -> None:
    toolkit.extract_code(piece * (100_000 // len(piece)))
