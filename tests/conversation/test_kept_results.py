"""Results too long for the model of a conversation: the next program and call have them, also after it was saved."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.conversation.saving.history import History
from ez_ptc.conversation.saving.serialization import from_json, to_json
from ez_ptc.errors import EzPtcError, ToolError
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, Message, TextMessage, ToolCall, ToolResultMessage
from ez_ptc.providers.scripted import Script, ScriptedProvider
from ez_ptc.results.store import KeptResult
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.decorators import ez_tool

TEXT = "".join(f"line {number}\n" for number in range(1_000))


@ez_tool(read_only=True)
def find(name: str) -> str:
    """Find somebody."""
    return name


@ez_tool(requires_approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


def kept_before(name: str = "r1", body: bytes = TEXT.encode()) -> tuple[Message, ...]:
    """Return the end of an earlier turn, in which a result was kept."""
    return (TextMessage("find it"), TextMessage("I have looked", kept={name: KeptResult(b"s", body, "find()")}))


def run(code: str) -> ToolCall:
    return ToolCall("", "execute_tools", {"code": code})


def ask(builder: LLMPromptBuilder, *answers: Script) -> tuple[LLMPromptBuilder, ScriptedProvider]:
    """Return a conversation after another question, and its provider."""
    provider = ScriptedProvider(*answers, "done")
    return builder.provider(provider).converse("go on")[1], provider


def results(builder: LLMPromptBuilder) -> list[Any]:
    return [entry.result for entry in builder.entries if isinstance(entry, ToolResultMessage)]


def test_program_of_the_conversation_reads_by_name() -> None:
    with Toolkit([find]) as toolkit:
        builder = llm().toolkit(toolkit).continued(*kept_before())
        after, provider = ask(builder, run("print(results['r1'].count('line'), read_result('r1', 5, 1))"))

    assert results(after) == ["1000 0\n"]
    # Programs have the tools of kept results without a word in the request.
    assert [tool.name for tool in provider.prompts[0].tools] == ["execute_tools"]


def test_written_program_reads_by_name() -> None:
    with Toolkit([find]) as toolkit:
        builder = llm().toolkit(toolkit, mode="prompt").continued(*kept_before())
        after, _ = ask(builder, "```python\nprint(len(results['r1'].splitlines()))\n```")

    assert [entry.text for entry in after.entries if isinstance(entry, TextMessage)][-1] == "1000\n"


def test_single_calls_read_and_search() -> None:
    builder = llm().tools(find).continued(*kept_before())
    after, provider = ask(
        builder,
        [
            ToolCall("", "read_result", {"name": "r1", "start": 5, "length": 8}),
            ToolCall("", "search_result", {"name": "r1", "pattern": "e 99[89]"}),
        ],
    )

    assert [tool.name for tool in provider.prompts[0].tools] == ["find", "read_result", "search_result"]
    part, found = results(after)
    assert part == "0\nline 1"
    assert [match["text"] for match in found["matches"]] == ["line 998", "line 999"]


def test_tools_for_results_come_with_the_first_one() -> None:
    _, provider = ask(llm().tools(find), ToolCall("", "read_result", {"name": "r1"}))

    assert [tool.name for tool in provider.prompts[0].tools] == ["find"]
    (result,) = [entry for entry in provider.prompts[1].entries if isinstance(entry, ToolResultMessage)]
    assert not result.success


def test_tool_of_the_same_name_stays() -> None:
    @ez_tool
    def read_result(name: str) -> str:
        """Read my result."""
        return f"my {name}"

    heard: list[str] = []
    builder = llm().tools(read_result).continued(*kept_before()).on_tool_call(lambda call: heard.append(call["name"]))
    after, provider = ask(
        builder,
        ToolCall("", "read_result", {"name": "r1"}),
        ToolCall("", "search_result", {"name": "r1", "pattern": "x"}),
    )

    assert [tool.name for tool in provider.prompts[0].tools] == ["read_result", "search_result"]
    assert results(after)[0] == "my r1"
    assert heard == ["read_result"]


@pytest.mark.parametrize("code", ["results['r2']", "results['r_00000000000000000000000000000000']", "read_result('')"])
def test_name_of_no_result_lists_those_there_are(code: str) -> None:
    with Toolkit([find]) as toolkit:
        after, _ = ask(llm().toolkit(toolkit).continued(*kept_before()), run(code))

    assert "expected one of r1" in results(after)[0]


def test_conversations_do_not_know_each_others_results() -> None:
    with Toolkit([find]) as toolkit:
        one = llm().toolkit(toolkit).continued(*kept_before("r1", b"one"))
        two = llm().toolkit(toolkit).continued(*kept_before("r1", b"two"))
        three = llm().toolkit(toolkit).request("nothing is kept")
        texts = [results(ask(builder, run("print(results['r1'])"))[0])[0] for builder in (one, two, three)]

    assert texts[:2] == ["one\n", "two\n"]
    assert "NameError" in texts[2]


def test_result_of_a_dropped_conversation_frees_its_bytes() -> None:
    with Toolkit([find]) as toolkit:
        builder = llm().toolkit(toolkit).continued(*kept_before())
        ask(builder, "nothing")
        assert toolkit.kept_results.used_bytes == len(TEXT)
        del builder
        gc.collect()

        assert toolkit.kept_results.used_bytes == 0


# Saved ----------------------------------------------------------------------------------------------------------------

OTHER_PROCESS = """
import sys
from ez_ptc import History, ScriptedProvider, Toolkit, ToolCall, llm

def find(name: str) -> str:
    "Find somebody."
    raise RuntimeError("never called")

with History(sys.argv[1]) as history, Toolkit([find]) as toolkit:
    call = ToolCall("", "execute_tools", {"code": "print(len(results['r1']), results['r1'][-9:])"})
    provider = ScriptedProvider(call, "done")
    after = llm().continued(*history.load(sys.argv[2])).toolkit(toolkit).provider(provider).converse("go on")[1]
    print(next(message.result for message in after.messages if type(message).__name__ == "ToolResultMessage"))
    history.save(after, id=sys.argv[2])
"""


@pytest.mark.sampled(every=0)
def test_another_process_has_the_values_of_a_saved_conversation(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        id_ = history.save(llm().continued(*kept_before()))
    command = [sys.executable, "-c", OTHER_PROCESS, str(tmp_path / "history.db"), id_]
    for _ in range(2):
        output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
        assert output.split() == [str(len(TEXT)), "line", "999"]


def test_saved_value_outlives_the_copy_in_memory(tmp_path: Path) -> None:
    entries = kept_before()
    with History(tmp_path / "history.db") as history, Toolkit([find]) as toolkit:
        id_ = history.save(entries)
        assert entries[1].kept is not None
        entries[1].kept["r1"].drop("newer results took its place")
        assert history.save(entries, id=id_) == id_
        after, _ = ask(llm().toolkit(toolkit).continued(*history.load(id_)), run("print(len(results['r1']))"))
        assert results(after) == [f"{len(TEXT)}\n"]
        history.delete(id_)
        gone, _ = ask(after, run("print(len(results['r1']))"))

    assert "the history file does not have it" in results(gone)[-1]


def test_value_without_its_bytes_says_so() -> None:
    with Toolkit([find]) as toolkit:
        loaded = from_json(to_json(kept_before()))
        after, _ = ask(llm().toolkit(toolkit).continued(*loaded), run("print(results['r1'])"))

    assert "the result of find() no longer exists, it was saved without its value" in results(after)[0]


def test_older_history_is_read_and_written(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        id_ = history.save(llm().request("hello"))
        assert history.load(id_) == (TextMessage("hello"),)
        again = history.save((TextMessage("hello"), *kept_before()), id=id_)
        assert again == id_
        assert [bool(entry.kept) for entry in history.load(id_) if not isinstance(entry, Answer)] == [
            False,
            False,
            True,
        ]


@pytest.mark.parametrize("kept", [1, [1], [{"name": 1, "kind": "s", "source": "find()"}], [{"name": "r1"}]])
def test_invalid_kept_result_is_refused(kept: object) -> None:
    text = to_json([TextMessage("hello")])
    with pytest.raises(EzPtcError, match="invalid conversation file"):
        from_json(text.replace('"text":"hello"', f'"text":"hello","kept":{str(kept).replace(chr(39), chr(34))}'))


def test_paused_program_reads_after_it_was_saved(tmp_path: Path) -> None:
    code = "before = len(results['r1'])\npay()\nprint(before, len(results['r1']), len(results['r2']), [*results])"
    with Toolkit([pay], journal=tmp_path / "runs.db") as toolkit, History(tmp_path / "history.db") as history:
        kept = (*kept_before(), *kept_before("r2", b"two"))
        paused, _ = ask(llm().toolkit(toolkit).continued(*kept), run(code))
        id_ = history.save(paused)
    with Toolkit([pay], journal=tmp_path / "runs.db") as toolkit, History(tmp_path / "history.db") as history:
        loaded = llm().toolkit(toolkit).continued(*history.load(id_)).provider(ScriptedProvider("done"))
        after = loaded.resume({loaded.pending[0].id: True})[1]

    assert results(after) == [f"{len(TEXT)} {len(TEXT)} 3 ['r1', 'r2']\n"]


# From the text of a result to its value -------------------------------------------------------------------------------

LONG = "".join(f"row {number}\n" for number in range(100_000))
NAME = re.compile(r'results\["(r\d+)"\]')
listed: list[str] = []


@ez_tool(read_only=True)
def list_rows(form: str) -> Any:  # noqa: ANN401 - text or rows
    """List rows."""
    listed.append(form)
    if form == "text":
        return LONG
    return [{"number": number} for number in range(100_000)]


SOURCES: list[tuple[str, Script, str, str]] = [
    ("printed", run("print(list_rows('text'))"), "len({})", str(len(LONG) + 1)),
    ("value", run("list_rows('rows')"), "len({}), {}[-1].number", "(100000, 99999)"),
    ("error", run("raise ValueError(list_rows('text'))"), "{}.count('row 99999')", "1"),
    ("text of a call", ToolCall("", "list_rows", {"form": "text"}), "len({})", str(len(LONG))),
    ("rows of a call", ToolCall("", "list_rows", {"form": "rows"}), "{}[99_999]['number']", "99999"),
]


@pytest.mark.sampled(every=4, first=2)
@pytest.mark.parametrize("mode", ["now", "next question", "saved"])
@pytest.mark.parametrize(("source", "first", "look", "expected"), SOURCES, ids=[source for source, *_ in SOURCES])
def test_value_of_a_long_text_is_used_without_a_call(
    source: str, first: Script, look: str, expected: str, mode: str, tmp_path: Path
) -> None:
    del source
    listed.clear()

    def second(prompt: Prompt) -> ToolCall:
        texts = [str(entry.result) for entry in prompt.entries if isinstance(entry, ToolResultMessage)]
        assert len(texts[0]) <= 30_000
        (name,) = set(NAME.findall(texts[0]))
        return run("print((" + look.replace("{}", f"results['{name}']") + "))")

    with Toolkit([list_rows]) as toolkit:
        builder = llm().tools(list_rows).toolkit(toolkit)
        if mode == "now":
            after, _ = ask(builder, first, second)
        else:
            after, _ = ask(builder, first)
            if mode == "saved":
                with History(tmp_path / "history.db") as history:
                    id_ = history.save(after)
                with History(tmp_path / "history.db") as history:
                    after = builder.continued(*history.load(id_))
                    after, _ = ask(after, second)
            else:
                after, _ = ask(after, second)

    # Without a journal, the record of the failed program is not in a history.
    assert results(after)[-1].partition("\n[This program made all of its calls")[0].strip() == expected
    assert len(listed) == 1


def test_name_of_two_values_in_joined_conversations_reads_neither() -> None:
    with Toolkit([find]) as toolkit:
        joined = llm().toolkit(toolkit).continued(*kept_before(), *kept_before(body=b"other"))
        after, _ = ask(joined, run("results['r1']"))
        same, _ = ask(llm().toolkit(toolkit).continued(*kept_before(), *kept_before()), run("len(results['r1'])"))

    assert "conversations were joined" in results(after)[0]
    assert results(same) == [str(len(TEXT))]


def test_saved_branch_with_equal_texts_keeps_its_own_values(tmp_path: Path) -> None:
    other = TEXT.replace("line 500", "LINE 500")
    with History(tmp_path / "history.db") as history, Toolkit([find]) as toolkit:
        names = [history.save(kept_before())]
        names += [history.save(kept_before(body=body.encode()), id=names[0]) for body in (TEXT, other)]
        assert names[0] == names[1] != names[2]
        for name, text in zip(names, (TEXT, TEXT, other), strict=True):
            builder = llm().toolkit(toolkit).continued(*history.load(name))
            after, _ = ask(builder, run("read_result('r1', 4380, 40)"))
            assert results(after)[0].strip("'").replace("\\n", "\n") == text[4380:4420]


@pytest.mark.parametrize("kind", [ValueError, KeyError, ToolError])
def test_long_error_of_a_call_is_read_back(kind: type[Exception]) -> None:
    @ez_tool
    def fail() -> str:
        """Fail."""
        raise kind(TEXT)

    builder = llm().tools(fail)
    after, _ = ask(builder, ToolCall("", "fail", {}), ToolCall("", "read_result", {"name": "r1", "length": 20_000}))
    error, whole = results(after)
    assert len(error) <= 4_000
    assert 'results["r1"]' in error
    assert TEXT in whole.replace("\\n", "\n")
