"""What notebooks show: results, tools, runs and journals as bounded, escaped HTML, and a text of several lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import (
    Answer,
    DocumentMessage,
    History,
    ImageMessage,
    Journal,
    Message,
    ScriptedProvider,
    TextMessage,
    ToolCall,
    ToolCallMessage,
    Toolkit,
    ToolResultMessage,
    ez_tool,
    llm,
)

_METHOD = "_repr_html_"
_HOSTILE = "</pre><script>alert(1)</script>\x1b[2J\u202e\" onload='"


@ez_tool
def price_of(product: str) -> float:
    """Look up the price of a product <b>.

    Args:
        product: Its name </td><script>.
    """
    return 39.5


@ez_tool(requires_approval=True)
def refund(customer: str) -> str:
    """Refund a customer."""
    return customer


def shown(thing: object) -> str:
    method: Any = getattr(thing, _METHOD)
    page: str = method()
    assert "<script" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert len(page) < 300_000
    return page


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolkit]:
    with Toolkit([price_of, refund], journal=tmp_path_factory.mktemp("runs") / "runs.db") as made:
        yield made


@pytest.mark.parametrize(
    ("program", "part"),
    [
        (f"print({_HOSTILE!r})", "&lt;/pre&gt;&lt;script&gt;"),
        (repr(_HOSTILE), "\\u202e"),
        (f"raise ValueError({_HOSTILE!r})", "Traceback (most recent call last)"),
        (f"price_of({_HOSTILE!r})", "<summary>calls: 1</summary>"),
        (f"refund({_HOSTILE!r})", "Allow refund (1)?"),
        (f"class C:\n    def __repr__(self): return {_HOSTILE!r}\nC()", "&lt;script&gt;"),
        (f"[{{{_HOSTILE!r}: {_HOSTILE!r}}}] * 1000", "1,000 rows × 1 columns"),
        ("print('<' * 1_000_000)", "characters are not shown here"),
        ("'<' * 1_000_000", "&lt;"),
        ("[price_of('a') for _ in range(200)]", "… 150 more"),
    ],
)
def test_result_is_bounded_and_escaped(toolkit: Toolkit, program: str, part: str) -> None:
    assert part in shown(toolkit.execute(program))


def test_records_are_a_table(toolkit: Toolkit) -> None:
    page = shown(toolkit.execute("[{'name': 'lamp', 'price': 39.5}, {'name': 'desk', 'price': None}]"))
    assert page.count("<tr>") == 3
    assert ">lamp</td>" in page
    assert "<tr>" not in shown(toolkit.execute("[{'name': 'lamp'}, {'price': 1}]"))


def test_tools_and_toolkits_are_tables(toolkit: Toolkit) -> None:
    page = shown(price_of)
    assert "price_of(product: str)" in page
    assert ">product</td>" in page
    assert ">string</td>" in page
    page = shown(toolkit)
    assert ">price_of</td>" in page
    assert "asks first" in page


def test_runs_and_journals_are_shown(toolkit: Toolkit) -> None:
    run_id = str(toolkit.execute(f"refund({_HOSTILE!r})").run_id)
    journal: Any = toolkit.journal
    with Journal(Path(journal.path) if isinstance(journal, Journal) else journal) as opened:
        page = shown(opened.run(run_id))
        assert "Allow refund (1)?" in page
        assert f"run {run_id}" in page
        assert run_id in shown(opened)


def test_conversations_and_messages_are_shown(toolkit: Toolkit) -> None:
    program = f"print(price_of({_HOSTILE!r}))\nprint('done')"
    model = ScriptedProvider(ToolCall("", "execute_tools", {"code": program}), _HOSTILE)
    messages, conversation = llm().toolkit(toolkit).provider(model).converse(_HOSTILE)
    page = shown(conversation)
    assert page.count("&lt;/pre&gt;&lt;script&gt;") == 3
    assert "39.5\ndone" in page
    assert "tokens: 0 in, 0 out, cost unknown" in page
    for message in messages:
        shown(message)
    assert "print(&#x27;done&#x27;)" in shown(messages[1])
    assert "answer, scripted" in shown(conversation.entries[-1])


def test_program_sent_as_json_text_keeps_its_lines() -> None:
    assert "total = 1\nprint(total)" in shown(
        ToolCallMessage("execute_tools", "1", r'{"code": "total = 1\nprint(total)"}')
    )


@pytest.mark.parametrize(
    "message",
    [
        ToolCallMessage(_HOSTILE, _HOSTILE, _HOSTILE),
        ToolCallMessage(_HOSTILE, _HOSTILE, {_HOSTILE: [_HOSTILE] * 10_000}),
        ToolResultMessage(_HOSTILE, _HOSTILE * 10_000, tool_name=_HOSTILE, success=False),
        ToolResultMessage("1", (TextMessage(_HOSTILE), ImageMessage(url=_HOSTILE)), tool_name="draw"),
        ToolResultMessage("1", [{_HOSTILE: _HOSTILE}] * 1000, tool_name="list"),
        DocumentMessage(b"%PDF", name=_HOSTILE, media_type=_HOSTILE),
        TextMessage(_HOSTILE * 10_000),
        Answer(messages=(TextMessage(_HOSTILE),), model=_HOSTILE, stop_reason=_HOSTILE),
    ],
)
def test_hostile_messages_stay_bounded_text(message: Message | Answer) -> None:
    shown(message)


class _Printer:
    """What IPython gives to `_repr_pretty_`: the objects being printed are in `stack`."""

    def __init__(self, *stack: int) -> None:
        self.stack = stack
        self.printed = ""

    def text(self, text: str) -> None:
        self.printed += text


def pretty(thing: object, *stack: int) -> str:
    printer = _Printer(*stack)
    method: Any = getattr(thing, "_repr_pretty_")  # noqa: B009 - as IPython finds it
    assert "_repr_pretty_" in vars(type(thing)), "IPython would take the `__repr__` of a class before it"
    method(printer, False)
    assert "\x1b" not in printer.printed
    return printer.printed


def test_text_has_several_lines_and_the_traceback(toolkit: Toolkit) -> None:
    lines = pretty(toolkit.execute(f"print('one', {_HOSTILE!r})\nprice_of('lamp')\n1 / 0"), 1).splitlines()
    assert lines[0].startswith("one </pre><script>alert(1)</script>\\x1b[2J")
    assert lines[1] == "Traceback (most recent call last):"
    assert "ZeroDivisionError: division by zero" in lines
    assert '1  price_of("lamp")  39.5' in lines
    assert lines[-1].startswith("failed in ")


def test_text_within_a_list_is_on_one_line() -> None:
    message = TextMessage("one\ntwo")
    assert pretty(message, 1, 2) == repr(message)
    assert pretty(message, 1) == "user\none\ntwo"
    assert pretty(price_of).startswith("price_of(product: str) -> float\nLook up the price")
    assert pretty(llm()) == "open, messages: 0"


def test_history_shows_its_conversations_and_creates_no_file(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    with History(path) as history:
        assert "no conversation is saved" in shown(history)
        assert not path.exists()
        saved = history.save([TextMessage(_HOSTILE)])
        page = shown(history)
    assert saved in page
    assert "&lt;script&gt;" in page


def test_result_shows_the_programs_before_a_repair(toolkit: Toolkit) -> None:
    result = toolkit.execute(
        f"price_of('a')\nraise ValueError({_HOSTILE!r})",
        repair=lambda code, error, done: "So:\n```python\nprint(5)\n```",
    )
    page = shown(result)
    assert "programs before: 1" in page
    assert "ValueError: &lt;/pre&gt;&lt;script&gt;" in page
    assert "only its code block was read" in page
