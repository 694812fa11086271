"""Programs that a model sends to `execute_tools` in another form than asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ez_ptc import ScriptedProvider, ToolCall, Toolkit, ToolResultMessage, ez_tool, llm
from ez_ptc.integrations.offers.offers import offers_of
from ez_ptc.integrations.offers.programs import ProgramOffer
from ez_ptc.toolkit.prompting.sent_programs import find_sent_program

if TYPE_CHECKING:
    from collections.abc import Iterator


@ez_tool(read_only=True)
def price(product: str) -> float:
    """Look up a price."""
    return len(product) * 1.5


PROGRAM = "x = price('lamp')\nprint(x)"
QUOTED = 'print(price("lamp"))'
SENT: list[dict[str, Any] | str] = [
    PROGRAM,
    f"```python\n{PROGRAM}\n```",
    json.dumps(PROGRAM),
    {"program": PROGRAM},
    {"python": PROGRAM},
    json.dumps({"input": PROGRAM}),
    {"code": PROGRAM.split("\n")},
    {"code": PROGRAM, "language": "python"},
    {"code": PROGRAM, "thought": "I need the price."},
    {"code": {"code": PROGRAM}},
    f'{{"code": "{QUOTED}"}}',
    '{"code": "x = price("lamp")\\nprint(x)"}',
    f'{{"code": """{PROGRAM}"""}}',
    f"{{code: `{PROGRAM}`}}",
]
OTHERS: list[dict[str, Any] | str] = [
    f'{{"code": "{QUOTED}',
    {"input": "the price of a lamp"},
    {"program": PROGRAM, "code": PROGRAM},
    {"code": PROGRAM, "to": "Bo"},
    {"code": PROGRAM, "after": "x1"},
    {"code": 5},
    {},
    "5",
    "[1]",
    '{"code": "a", "to": "b", x}',
    "Look up the price.",
]


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([price]) as opened:
        yield opened


def test_program_in_another_form_is_found() -> None:
    for arguments in SENT:
        program = find_sent_program(arguments)
        assert program in {PROGRAM, QUOTED, PROGRAM.replace("'", '"')}, arguments
    for arguments in OTHERS:
        assert find_sent_program(arguments) is None, arguments


def test_conversations_and_agents_run_programs_in_other_forms(toolkit: Toolkit) -> None:
    (offer,) = offers_of(toolkit, context=None, approve=None, principal=None)
    assert isinstance(offer, ProgramOffer)
    for arguments in (SENT[0], SENT[7], SENT[10]):
        model = ScriptedProvider(ToolCall("1", "execute_tools", arguments), "Done.")
        llm().toolkit(toolkit).provider(model).prompt("What does a lamp cost?")
        results = [entry for entry in model.prompts[-1].entries if isinstance(entry, ToolResultMessage)]
        assert [entry.result for entry in results] == ["6.0\n"], arguments
        assert offer.program_of(arguments).code == find_sent_program(arguments)


def test_long_unreadable_arguments_cost_time_in_proportion() -> None:
    """With the square of their length each of these would take minutes."""
    for text in ('{"code": ""' + " " * 300_000 + "x", '{"code": "' + '" , ' * 60_000, "{" + " " * 300_000):
        assert find_sent_program(text) is None
