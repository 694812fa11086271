"""`print` of messages, calls and results: what happened, in a line, instead of a dump of fields."""

from typing import Any

from ez_ptc import (
    ImageMessage,
    ScriptedProvider,
    TextMessage,
    ToolCall,
    ToolCallMessage,
    Toolkit,
    ToolRegistry,
    ToolResultMessage,
    ez_tool,
    llm,
)


@ez_tool
def price_of(product: str) -> dict[str, float]:
    """Look up a price."""
    return {"price": {"lamp": 39.5}[product]}


class Unprintable:
    """A value whose `repr` fails."""

    def __repr__(self) -> str:
        raise ValueError


def test_printed_conversation_reads_as_what_happened() -> None:
    provider = ScriptedProvider(ToolCall("1", "price_of", {"product": "lamp"}), "It costs 39.50.")
    messages, conversation = llm().tools(price_of).provider(provider).converse("What does a lamp cost?")
    lines = [
        "What does a lamp cost?",
        "price_of(product='lamp')",
        "price_of returned: {'price': 39.5}",
        "It costs 39.50.",
    ]
    assert [str(message) for message in messages] == lines
    assert [str(entry) for entry in conversation.entries] == lines


def test_printed_results_are_outputs_or_errors() -> None:
    registry = ToolRegistry([price_of])
    assert str(registry.execute("price_of", product="lamp")) == "{'price': 39.5}"
    assert str(registry.execute("price_of", produkt="lamp")).startswith("price_of: unknown argument 'produkt'")
    with Toolkit([price_of]) as toolkit:
        assert str(toolkit.execute("print(price_of('lamp'))")) == "{'price': 39.5}\n"
        assert str(toolkit.execute("x = 1")) == "done, without output or a value"
        assert str(toolkit.execute("1 / 0")).rstrip().endswith("ZeroDivisionError: division by zero")


def test_printed_message_is_bounded_and_never_raises() -> None:
    unprintable: Any = Unprintable()
    texts = {
        ToolResultMessage("1", "x" * 100_000, tool_name="f"): "f returned: xxx",
        ToolResultMessage("1", "gone", success=False): "tool failed: gone",
        ToolResultMessage("1", unprintable, tool_name="f"): "f returned: <",
        ToolResultMessage("1", (TextMessage("A cat:"), ImageMessage(b"1"))): "tool returned: A cat:\n[image",
        ToolCallMessage("f", "1", '{"broken'): 'f({"broken)',
        ToolCallMessage("f", "1", '{"n": 1}'): "f(n=1)",
        ImageMessage(url="https://a.example/b.png"): "[image: https://a.example/b.png]",
    }
    for message, text in texts.items():
        assert str(message).startswith(text)
        assert len(str(message)) <= 30_000
