"""Prices of tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.messages import Answer, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ez_ptc.messages import Entry

__all__ = ["PRICES", "PRICES_DATE", "Price", "TurnUsage", "cost", "total_cost", "turn_usages"]

# The date of `PRICES`.
PRICES_DATE: Final = date(2026, 10, 24)

_MILLION: Final = 1_000_000
# The version at the end of a model's name: a date, or `-001`, `-latest`.
_VERSION: Final = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3}|latest)$")


@explain_calls
@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, in US dollars.

    Attributes:
        input: The price of input tokens.
        cached_input: The price of input tokens from the provider's cache.
        output: The price of output tokens, reasoning included.
        longest: The longest input, in tokens, with this price; None for any.
        beyond: The price for a longer input, or None if it is unknown.
    """

    input: Decimal
    cached_input: Decimal
    output: Decimal
    longest: int | None = None
    beyond: Price | None = None

    @classmethod
    def of(cls, input: str, cached_input: str, output: str) -> Price:  # noqa: A002 - the providers' word
        """Return a price from text, as in `Price.of("2.50", "0.25", "15")`."""
        return cls(Decimal(input), Decimal(cached_input), Decimal(output))

    def up_to(self, longest: int, beyond: Price | None) -> Price:
        """Return this price for inputs of at most `longest` tokens, and another for longer ones."""
        return Price(self.input, self.cached_input, self.output, longest, beyond)


_OPUS: Final = Price.of("5", "0.50", "25")
_SONNET: Final = Price.of("3", "0.30", "15")
_FABLE: Final = Price.of("10", "1", "50")
_FABLE_1: Final = Price.of("10", "0.25", "50")
_GPT_5: Final = Price.of("1.25", "0.125", "10")

# The list prices of well-known models on `PRICES_DATE`.
PRICES: Final[Mapping[str, Price]] = {
    # platform.claude.com/docs/en/about-claude/pricing
    "claude-fable-5-1": _FABLE_1,
    "claude-mythos-5-1": _FABLE_1,
    "claude-fable-5": _FABLE,
    "claude-mythos-5": _FABLE,
    "claude-opus-5-5": Price.of("4", "0.20", "20"),
    "claude-opus-5": _OPUS,
    "claude-opus-4-8": _OPUS,
    "claude-opus-4-7": _OPUS,
    "claude-opus-4-6": _OPUS,
    "claude-opus-4-5": _OPUS,
    "claude-sonnet-5-5": Price.of("2", "0.10", "10"),
    "claude-sonnet-5": Price.of("2", "0.20", "10"),
    "claude-sonnet-4-6": _SONNET,
    "claude-sonnet-4-5": _SONNET,
    "claude-haiku-5-5": Price.of("0.10", "0.01", "0.50").up_to(100_000, Price.of("0.50", "0.05", "2.50")),
    "claude-haiku-4-5": Price.of("1", "0.10", "5"),
    # developers.openai.com/api/docs/pricing
    "gpt-6.1-sol": Price.of("2", "0.10", "10").up_to(272_000, Price.of("4", "0.20", "15")),
    "gpt-6-sol": Price.of("2", "0.20", "10").up_to(272_000, Price.of("4", "0.40", "15")),
    "gpt-6-luna": Price.of("0.10", "0.01", "0.50").up_to(272_000, Price.of("0.20", "0.02", "0.75")),
    "gpt-5.4": Price.of("2.50", "0.25", "15").up_to(272_000, None),
    "gpt-5.4-mini": Price.of("0.75", "0.075", "4.50"),
    "gpt-5.2": Price.of("1.75", "0.175", "14"),
    "gpt-5.1": _GPT_5,
    "gpt-5": _GPT_5,
    "gpt-5-mini": Price.of("0.25", "0.025", "2"),
    "gpt-5-nano": Price.of("0.05", "0.005", "0.40"),
    "gpt-4.1": Price.of("2", "0.50", "8"),
    "gpt-4.1-mini": Price.of("0.40", "0.10", "1.60"),
    "gpt-4.1-nano": Price.of("0.10", "0.025", "0.40"),
    "gpt-4o": Price.of("2.50", "1.25", "10"),
    "gpt-4o-mini": Price.of("0.15", "0.075", "0.60"),
    "o3": Price.of("2", "0.50", "8"),
    "o4-mini": Price.of("1.10", "0.275", "4.40"),
    # ai.google.dev/gemini-api/docs/pricing
    "gemini-3.8-flash": Price.of("0.75", "0.075", "3.75"),  # until the end of 2026
    "gemini-3.1-pro-preview": Price.of("2", "0.20", "12").up_to(200_000, Price.of("4", "0.40", "18")),
    "gemini-2.5-pro": Price.of("1.25", "0.125", "10").up_to(200_000, Price.of("2.50", "0.25", "15")),
    "gemini-2.5-flash": Price.of("0.30", "0.03", "2.50"),
    "gemini-2.5-flash-lite": Price.of("0.10", "0.01", "0.40"),
}


def cost(usage: Usage, model: str, prices: Mapping[str, Price] | None = None) -> Decimal | None:
    """Return the cost of one answer in US dollars, or None if the model's price is unknown.

    This is the list price: tokens written to a cache count as input, and discounts, searches and the provider's own
    tools are ignored.

    Args:
        usage: The tokens of one answer; some models' prices depend on the length of the input.
        model: The provider's name of the model. A table may list it without the date of its version, and without a
            prefix that ends in "/".
        prices: Prices that override `PRICES`.
    """
    known = {**PRICES, **(prices or {})}
    short_name = model.rpartition("/")[2]
    names = (model, short_name, _VERSION.sub("", short_name))
    price = next((known[name] for name in names if name in known), None)
    while price is not None and price.longest is not None and usage.input_tokens > price.longest:
        price = price.beyond
    if price is None:
        return None
    cached = min(usage.cached_tokens, usage.input_tokens)
    read = (usage.input_tokens - cached) * price.input + cached * price.cached_input
    return (read + usage.output_tokens * price.output) / _MILLION


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """The model, tokens and cost of one answer; the cost in US dollars, or None if the price is unknown."""

    model: str
    usage: Usage
    cost: Decimal | None


def turn_usages(entries: Iterable[Entry], prices: Mapping[str, Price] | None = None) -> list[TurnUsage]:
    """Return the usage of each answer of a conversation, in order."""
    answers = [entry for entry in entries if isinstance(entry, Answer)]
    return [TurnUsage(answer.model, answer.usage, cost(answer.usage, answer.model, prices)) for answer in answers]


def total_cost(entries: Iterable[Entry], prices: Mapping[str, Price] | None = None) -> Decimal | None:
    """Return the cost of all answers of a conversation, or None if one price is unknown."""
    costs = [turn.cost for turn in turn_usages(entries, prices)]
    if None in costs:
        return None
    return sum(filter(None, costs), Decimal(0))
