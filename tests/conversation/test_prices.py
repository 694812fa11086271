from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc import Price, ScriptedProvider, TurnUsage, llm
from ez_ptc.conversation.prices import PRICES, PRICES_DATE, cost, total_cost
from ez_ptc.errors import TurnLimitError
from ez_ptc.messages import Answer, MessageRole, TextMessage, ToolCallMessage, Usage

_MILLION = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
_COUNT = st.integers(0, 10**7)


def test_input_cached_and_output_have_separate_prices() -> None:
    usage = Usage(input_tokens=1000, output_tokens=200, cached_tokens=600, reasoning_tokens=150)
    assert cost(usage, "claude-sonnet-4-5") == Decimal("0.00438")
    assert cost(Usage(), "gpt-4.1") == 0


@pytest.mark.parametrize(
    ("model", "same"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("gpt-4.1-2025-04-14", "gpt-4.1"),
        ("models/gemini-2.5-flash-001", "gemini-2.5-flash"),
        ("anthropic/claude-opus-4-5", "claude-opus-4-5"),
    ],
)
def test_version_has_price_of_its_model(model: str, same: str) -> None:
    assert cost(_MILLION, model) == cost(_MILLION, same) != None  # noqa: E711 - neither may be None


@pytest.mark.parametrize("model", ["", "gpt-99", "gpt-4o-audio-preview", "qwen", "claude-sonnet-4-5-thinking"])
def test_unknown_model_has_no_price(model: str) -> None:
    assert cost(_MILLION, model) is None


def test_own_prices_override_table() -> None:
    own = {"qwen": Price.of("0", "0", "0"), "gpt-4o": Price.of("1", "1", "2")}
    assert cost(_MILLION, "qwen", own) == 0
    assert cost(_MILLION, "gpt-4o-2024-11-20", own) == 3
    assert cost(_MILLION, "gpt-4o") == Decimal("12.50")
    assert cost(_MILLION, "gpt-4o-mini", own) == Decimal("0.75")


def test_a_long_input_may_cost_more() -> None:
    short, long = Usage(input_tokens=100_000), Usage(input_tokens=100_001, output_tokens=100)
    assert cost(short, "claude-haiku-5-5") == Decimal("0.01")
    assert cost(long, "claude-haiku-5-5") == (100_001 * Decimal("0.5") + 100 * Decimal("2.5")) / 1_000_000
    assert cost(Usage(input_tokens=300_000), "gpt-5.4") is None


def test_cost_is_sum_of_answers() -> None:
    said = Answer(messages=(), usage=Usage(input_tokens=1000), model="gpt-4.1")
    assert total_cost([TextMessage("Hello"), said, said]) == Decimal("0.004")
    assert total_cost([TextMessage("Hello")]) == 0
    assert total_cost([said, Answer(messages=(), model="unknown")]) is None


def test_each_turn_has_usage_and_cost() -> None:
    said = (TextMessage("Hm.", role=MessageRole.ASSISTANT),)
    one = Answer(messages=said, usage=Usage(1000, 100), model="gpt-4.1")
    two = Answer(messages=said, usage=Usage(500, 50), model="own")
    begun = llm().provider(ScriptedProvider(one, two)).converse("Hi")[1]
    asked = begun.converse("And?")[1]
    first = TurnUsage("gpt-4.1", Usage(1000, 100), Decimal("0.0028"))
    assert begun.turns == [first]
    assert asked.turns == [first, TurnUsage("own", Usage(500, 50), None)]
    assert (asked.usage, asked.cost) == (Usage(1500, 150), None)
    priced = asked.prices({"own": Price.of("2", "1", "4")})
    assert (priced.turns[1].cost, priced.cost) == (Decimal("0.0012"), Decimal("0.004"))
    assert asked.cost is None
    assert priced.prices({"gpt-4.1": Price.of("0", "0", "0")}).cost == Decimal("0.0012")


def test_own_prices_count_for_limit() -> None:
    call = Answer(messages=(ToolCallMessage("look", "c", {}),), usage=Usage(1_000_000), model="own", stop_reason="?")

    def look() -> str:
        """Look."""
        return "seen"

    asking = llm().tool(look).limits(cost=1)
    with pytest.raises(TurnLimitError, match=r"unknown price of 'own': give it with \.prices"):
        asking.provider(ScriptedProvider(call, "Done.")).prompt("Go.")
    cheap, dear = Price.of("0.5", "0", "0"), Price.of("2", "0", "0")
    assert asking.prices({"own": cheap}).provider(ScriptedProvider(call, "Done.")).prompt("Go.") == "Done."
    with pytest.raises(TurnLimitError, match="2 were spent"):
        asking.prices({"own": dear}).provider(ScriptedProvider(call, "Done.")).prompt("Go.")


def test_table_prices_are_ordered() -> None:
    for price in (*PRICES.values(), *[each.beyond for each in PRICES.values() if each.beyond]):
        assert 0 < price.cached_input <= price.input <= price.output
        assert (price.beyond is None) or price.longest is not None
    assert PRICES_DATE.year >= 2026


@given(st.builds(Usage, _COUNT, _COUNT, _COUNT, _COUNT), st.sampled_from(sorted(PRICES)))
def test_no_price_is_negative(usage: Usage, model: str) -> None:
    price = cost(usage, model)
    assert price is None or price >= 0
