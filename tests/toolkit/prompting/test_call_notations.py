"""Calls in notations of models' templates, as test suites of model servers have them."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.toolkit.prompting.program_extraction import extract_code

if TYPE_CHECKING:
    from collections.abc import Iterator


@ez_tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@ez_tool(read_only=True)
def look(
    city: str = "Oslo", days: int = 1, tags: list[str] | None = None, more: dict[str, object] | None = None
) -> str:
    """Look up the weather."""
    return f"{city} {days} {tags} {more}"


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([add, look]) as opened:
        yield opened


CALL = '{"name": "add", "arguments": {"a": 4}}'
LOOK = '{"name": "look", "arguments": {}}'
# DeepSeek's own signs.
WIDE = str.maketrans("|_", "\uff5c▁")
READ = {
    "deepseek 3.1": (
        "<|tool_calls_begin|><|tool_call_begin|>add<|tool_sep|>".translate(WIDE)
        + '{"a": 4}'
        + "<|tool_call_end|><|tool_calls_end|><|end_of_sentence|>".translate(WIDE)
    ),
    "step": (
        "<\uff5ctool_calls_begin\uff5c>\n<\uff5ctool_call_begin\uff5c>function<\uff5ctool_sep\uff5c>"
        '<steptml:invoke name="add">\n<steptml:parameter name="a">4</steptml:parameter>\n</steptml:invoke>'
        "<\uff5ctool_call_end\uff5c>\n<\uff5ctool_calls_end\uff5c>"
    ),
    "gemma": "<start_function_call>call:add{a:4}<end_function_call>",
    "gemma's later form": "<|tool_call>call:add{a:4}<tool_call|>",
    "internlm": '<|action_start|><|plugin|>{"name": "add", "parameters": {"a": 4}}<|action_end|>',
    "command": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "add", "parameters": {"a": 4}}]<|END_ACTION|>',
    "nemotron": f"<TOOLCALL> [{CALL}] </TOOLCALL>",
    "longcat": f"<longcat_tool_call>{CALL}</longcat_tool_call>",
    "apertus": '<|tools_prefix|>[{"add": {"a": 4}}]<|tools_suffix|>',
    "gigachat": f"I add.<|message_sep|>\n\nfunction call<|role_sep|>\n{CALL}",
    "minicpm": '<function name="add"><param name="a">4</param></function>',
    "hunyuan": (
        "<tool_calls>\n<tool_call>add<tool_sep>\n<arg_key>a</arg_key>\n<arg_value>4</arg_value>\n</tool_call>\n"
        "</tool_calls>"
    ),
    "qwen's tools": f"<tools>\n{CALL}\n</tools>",
    "qwen agent": '✿FUNCTION✿: add\n✿ARGS✿: {"a": 4}\n✿RESULT✿: 9',
    "other slashes": f"<|tool_call|>{CALL}<|/tool_call|>",
    "another key for the name": '<tool_call>{"tool": "add", "args": {"a": 4}}</tool_call>',
    "one brace too many": f"<tool_call>\n{CALL}}}\n</tool_call>",
    "spaces in the tag": "<tool_call>\n<function = add>\n<parameter = a>\n4\n</parameter>\n</function>\n</tool_call>",
    "gpt-oss without the first tokens": 'to=functions.add <|constrain|>json<|message|>{"a": 4}<|call|>',
    "gpt-oss in the channel of reasoning": '<|channel|>analysis to=functions.add code<|message|>{"a": 4}<|call|>',
    "gpt-oss's recipient first": '<|start|>assistant to=functions.add<|channel|>commentary json<|message|>{"a": 4}',
}


@pytest.mark.parametrize("answer", READ.values(), ids=READ)
def test_each_notation_makes_its_call(toolkit: Toolkit, answer: str) -> None:
    result = toolkit.execute(toolkit.extract_code(answer) or "")

    assert result.output.strip() == "5"
    assert [call["name"] for call in result.tool_calls] == ["add"]


@pytest.mark.parametrize(
    ("answer", "program"),
    [
        ("<tool_call>look</tool_call>", "print(look())"),
        (f"<tool_call>look\n</tool_call>\n<tool_call>{CALL}</tool_call>", "print(look())\nprint(add(a=4))"),
        (f"{CALL}; {LOOK}", "print(add(a=4))\nprint(look())"),
        (f"{CALL}\n{LOOK}<|eot_id|>", "print(add(a=4))\nprint(look())"),
        (
            (
                '<|tool_call>call:look{city:<|"|>a, {b}: "c"\n<|"|>,tags:[<|"|>1<|"|>,x],days:-3,'
                'more:{k:null,<|"|>2<|"|>:true}}'
            ),
            "print(look(city='a, {b}: \"c\"\\n', tags=['1', 'x'], days=-3, more={'k': None, '2': True}))",
        ),
        ("<|tool_call_start|>[look(city='x'), add(4)]<|tool_call_end|>Looking.", "[look(city='x'), add(4)]"),
        ("<function_calls>look(city='x')\nadd(4)</function_calls>", "look(city='x')\nadd(4)"),
        ("[add(4)]<|eot|>", "[add(4)]"),
        ("```python\nadd(4)\n```<|im_end|>\n", "add(4)"),
        ("print('</s>')", "print('</s>')"),
        ("<|thought_start|>\nadd(9)\n<|thought_end|>\n```python\nadd(4)\n```", "add(4)"),
    ],
)
def test_notation_becomes_this_program(toolkit: Toolkit, answer: str, program: str) -> None:
    assert toolkit.extract_code(answer) == program


MARKED = [
    f"<tool_call>{CALL}</tool_call>",
    f"[TOOL_CALLS][{CALL}]",
    '[TOOL_CALLS]add{"a": 4}',
    '<function=add>{"a": 4}</function>',
    '<|tool_calls_section_begin|><|tool_call_begin|>add:0<|tool_call_argument_begin|>{"a": 4}<|tool_call_end|>',
]


@pytest.mark.parametrize("call", MARKED)
@pytest.mark.parametrize("words", ["Let me add.", "I will add: ", "Sure!  ", "加一下。"])
def test_call_after_a_sentence_is_made_if_it_comes_last(toolkit: Toolkit, words: str, call: str) -> None:
    assert toolkit.extract_code(words + call) == "print(add(a=4))"
    for quoted in (f"{words}{call} is a call.", f"Write {call}", f"The format is `{call}`.", f'He wrote: "{call}"'):
        assert toolkit.extract_code(quoted) is None, quoted


def test_call_after_a_sentence_that_is_cut_off_says_so(toolkit: Toolkit) -> None:
    for answer in ('Let me add.<tool_call>{"name": "add", "argu', 'Let me add.[TOOL_CALLS]add{"a": }'):
        assert "its JSON is cut off, or not valid" in str(toolkit.execute(toolkit.extract_code(answer) or "").error)
    assert toolkit.extract_code('The form is: <tool_call>{"name": ...}</tool_call> for all of them.') is None


@pytest.mark.parametrize(
    "answer", [f"I add:\n```json\n{CALL}\n```", f"I add:\n\n```\n[{CALL}]\n```\n", f"I add:\n{CALL}"]
)
def test_json_call_below_words_is_refused_with_advice(toolkit: Toolkit, answer: str) -> None:
    result = toolkit.execute(toolkit.extract_code(answer) or "")

    assert "words stand above it, so it may be a quotation" in str(result.error)
    assert result.tool_calls == []


@pytest.mark.parametrize(
    "code",
    ["print(add(a=4))", "x = add(4)\n\nprint(x)", "[add(a=4)]", "import math\nfor i in range(3):\n    print(add(i))"],
)
def test_code_below_words_is_refused_with_advice(toolkit: Toolkit, code: str) -> None:
    result = toolkit.execute(toolkit.extract_code(f"I will add, for example.\nIt is easy:\n{code}\n") or "")

    assert "got code below words, which may be a quotation. Write one ```python block" in str(result.error)
    assert result.tool_calls == []
    others = [f"I add:\n{code}\nand so on.", f"I add:\n```text\n{code}\n```"]
    others += [indent(f"I add:\n{code}", "> "), f"I add:\n{indent(code, '    ')}"]
    for other in others:
        assert toolkit.extract_code(other) is None, other


def test_code_below_words_without_a_tool_is_an_answer(toolkit: Toolkit) -> None:
    for code in ("x = total(4)", "numbers.add(4)", "add(4) = 5", "def add(a): ..."):
        assert toolkit.extract_code(f"Write:\n{code}") is None


@pytest.mark.parametrize(
    "answer",
    [
        f"An example:\n```text\n{CALL}\n```",
        'Two rows:\n```json\n[{"name": "Ada", "arguments": {}}]\n```',
        f"I add:\n{CALL}\nand so on.",
        '{"add": {"a": 4}}',
        "to=functions.add is what a model writes.",
    ],
)
def test_json_that_may_be_data_is_no_call(toolkit: Toolkit, answer: str) -> None:
    assert toolkit.extract_code(answer) is None


@pytest.mark.parametrize(
    "piece",
    [
        "x:<tool_call>{",
        f"x:<tool_call>{CALL}</tool_call>",
        "<start_function_call>call:add{a:<escape>",
        f"{CALL};",
        "```json\n{\n",
        "<eos>",
        "for x in add(\n",
        "<|start|>assistant to=functions.add<|channel|>",
    ],
)
@pytest.mark.sampled(every=2)
def test_long_row_of_notations_is_read_in_one_pass(piece: str) -> None:
    extract_code(piece * (100_000 // len(piece)) + "x", [add])


@pytest.mark.parametrize(
    "tag", ["<function=add>}", "<function name=>", "<function = >", "<x:invoke name=>", "<invoke name="]
)
@pytest.mark.parametrize("before", ["", "Sure.", "Sure: ", "So.\n"])
def test_tag_without_a_call_is_passed_once(toolkit: Toolkit, before: str, tag: str) -> None:
    for number in (1, 20):
        program = toolkit.extract_code(f"{before}{tag}" * number)
        assert program is None or program.startswith("raise ValueError")
