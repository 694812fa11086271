"""A real model on this machine: single calls, programs, structured answers, streaming, and plain talk."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from examples.demo.local import QWEN_CODER, LocalServer, cache_directory, ensure_model
from ez_ptc import LLMPromptBuilder, OpenAIChatProvider, TextDelta, Toolkit, ez_tool, llm
from ez_ptc._sync import run_coroutine
from ez_ptc.messages import ToolCallMessage, ToolResultMessage
from tests.seeds.documents import read


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenAIChatProvider]:
    path = ensure_model(QWEN_CODER, cache_directory())
    with LocalServer(QWEN_CODER, path, calls_tools=True) as server:
        yield OpenAIChatProvider(QWEN_CODER.name, base_url=server.url, api_key=server.key)


@pytest.fixture
def asked(provider: OpenAIChatProvider) -> LLMPromptBuilder:
    return llm().provider(provider).options(temperature=0, max_tokens=400).limits(turns=6)


# Single calls ---------------------------------------------------------------------------------------------------------


@dataclass
class Shop:
    """What the tools work on; the tests look at what has become of it."""

    stock: dict[str, int]
    mails: list[tuple[str, str]]

    def tools(self) -> list[Callable[..., Any]]:
        def stock_of(product: str) -> int:
            """Return how many pieces of a product are in stock.

            Args:
                product: The product's name, e.g. "lamp"
            """
            return self.stock[product]

        def order(product: str, pieces: int) -> str:
            """Order more pieces of a product from the supplier."""
            self.stock[product] += pieces
            return f"ordered {pieces} pieces of {product}"

        def send_mail(to: str, subject: str) -> str:
            """Send a mail.

            Args:
                to: An address
                subject: What it is about
            """
            self.mails.append((to, subject))
            return "sent"

        return [stock_of, order, send_mail]


def new_shop() -> Shop:
    return Shop(stock={"lamp": 3, "desk": 7, "chair": 12}, mails=[])


CALLS: list[tuple[str, Callable[[Shop, str, list[str]], bool]]] = [
    ("How many lamps are in stock? The product is called 'lamp'.", lambda _, text, __: "3" in text),
    ("Order 5 pieces of the product 'desk'.", lambda shop, _, __: shop.stock["desk"] == 12),
    (
        "Send a mail to ada@example.org with the subject 'Your lamp'.",
        lambda shop, _, __: shop.mails == [("ada@example.org", "Your lamp")],
    ),
    ("How many pieces of the product 'chair' are in stock?", lambda _, text, __: "12" in text),
    (
        "Find out how many pieces of 'lamp' are in stock, and then order 2 pieces of 'lamp'.",
        lambda shop, _, calls: shop.stock["lamp"] == 5 and "stock_of" in calls,
    ),
    ("Order 1 piece of the product 'chair'.", lambda shop, _, __: shop.stock["chair"] == 13),
]


def test_tool_loop_completes_the_task(asked: LLMPromptBuilder) -> None:
    outcomes: list[tuple[str, bool, str]] = []
    for question, is_right in CALLS:
        shop = new_shop()
        messages, continuation = asked.tools(shop.tools()).converse(question)
        calls = [each.tool_name for each in messages if isinstance(each, ToolCallMessage)]
        outcomes.append((question, is_right(shop, continuation.text, calls), f"{calls} {continuation.text}"))
    assert sum(right for _, right, _ in outcomes) >= 5, outcomes


def test_the_first_example_of_conversations_holds(asked: LLMPromptBuilder, shared_folder: Path) -> None:
    printed = read(shared_folder, "004").python("Example Test Scenario").replace("def test_", "async def test_", 1)
    names: dict[str, Any] = {
        "llm": lambda: asked,
        "ToolCallMessage": ToolCallMessage,
        "ToolResultMessage": ToolResultMessage,
    }
    exec(compile(printed, "<seed>", "exec", dont_inherit=True), names)
    run_coroutine(names["test_tool_calling_conversation"])


def test_plain_talk_leads_to_no_call(asked: LLMPromptBuilder) -> None:
    for said in ("Hello!", "Thank you, that is all.", "What is your favourite colour?"):
        shop = new_shop()
        messages, continuation = asked.tools(shop.tools()).converse(said)
        assert not any(isinstance(each, ToolCallMessage) for each in messages), messages
        assert continuation.text.strip()


def test_streamed_text_equals_the_answer(asked: LLMPromptBuilder) -> None:
    shop = new_shop()
    with asked.tools(shop.tools()).stream("How many pieces of 'desk' are in stock?") as stream:
        told = list(stream)
    text = "".join(each.text for each in told if isinstance(each, TextDelta))
    assert any(isinstance(each, ToolResultMessage) and each.result == 7 for each in told)
    assert "7" in text
    assert stream.continuation.text in text


def test_an_answer_is_a_value_of_a_type(asked: LLMPromptBuilder) -> None:
    @dataclass
    class Person:
        name: str
        age: int

    assert asked.prompt_for_type(Person, "Ada is 36 years old. Who is it?") == Person("Ada", 36)


# Programs -------------------------------------------------------------------------------------------------------------

ORDERS = [
    {"id": 1, "customer": "Ada", "product": "lamp", "pieces": 2, "paid": True},
    {"id": 2, "customer": "Bob", "product": "desk", "pieces": 1, "paid": False},
    {"id": 3, "customer": "Ada", "product": "chair", "pieces": 4, "paid": False},
    {"id": 4, "customer": "Eve", "product": "lamp", "pieces": 1, "paid": True},
]
PRICES = {"lamp": 40, "desk": 240, "chair": 60}


@dataclass
class Office:
    """The same for programs."""

    reminders: list[str]

    def toolkit(self) -> Toolkit:
        @ez_tool(
            return_schema={
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "integer"},
                        "customer": {"type": "string"},
                        "product": {"type": "string"},
                        "pieces": {"type": "integer"},
                        "paid": {"type": "boolean"},
                    },
                },
            }
        )
        def list_orders() -> list[dict[str, Any]]:
            """List all orders."""
            return ORDERS

        @ez_tool
        def price_of(product: str) -> int:
            """Return the price of one piece of a product, in euros."""
            return PRICES[product]

        @ez_tool
        def remind(customer: str) -> str:
            """Send one customer a reminder to pay."""
            self.reminders.append(customer)
            return "sent"

        return Toolkit([list_orders, price_of, remind], assist_tool_chaining=True)


PROGRAMS: list[tuple[str, str | list[str]]] = [
    ("How many orders are there?", "4"),
    ("How many orders are not paid?", "2"),
    ("How many pieces did Ada order in all?", "6"),
    ("What does one desk cost?", "240"),
    ("How many pieces of the product 'lamp' were ordered in all?", "3"),
    ("What is the total price of all orders, with price times pieces for each?", "600"),
    ("Which customer has the order with id 4?", "Eve"),
    ("What is the total price of the orders that are not paid?", "480"),
    ("Send a reminder to the customer of each order that is not paid.", ["Bob", "Ada"]),
    ("How many different products were ordered?", "3"),
]


def test_programs_complete_task_with_one_repair(asked: LLMPromptBuilder) -> None:
    outcomes: list[tuple[str, bool, str]] = []
    for question, wanted in PROGRAMS:
        office = Office(reminders=[])
        with office.toolkit() as toolkit:
            answer = asked.agent(toolkit.prompt()).prompt(question)
            program = toolkit.extract_code(answer) or ""
            result = toolkit.execute(program)
            if not result.success or not (result.output.strip() or office.reminders):
                office.reminders.clear()
                told = toolkit.answer(program, result)
                answer = asked.agent(toolkit.prompt()).request(question).assistant(answer).prompt(told)
                program = toolkit.extract_code(answer) or ""
                result = toolkit.execute(program)
        right = sorted(office.reminders) == sorted(wanted) if isinstance(wanted, list) else wanted in result.output
        outcomes.append((question, right, f"{program}\n{result.to_string()}"))
    assert sum(right for _, right, _ in outcomes) >= 9, "\n\n".join(map(str, outcomes))
