"""What tokens cost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from ez_ptc.messages import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ez_ptc.messages import Entry, Usage

__all__ = ["PRICES", "PRICES_DATE", "Price", "TurnUsage", "cost", "total_cost", "turn_usages"]

PRICES_DATE: Final = date(2026, 10, 24)
"""The day for which `PRICES` holds."""

_MILLION: Final = 1_000_000
# What stands behind a model's name for one of its versions: a date, or `-001`, `-latest`.
_VERSION: Final = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3}|latest)$")


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in US dollars.

    Attributes:
        input: Those that are read.
        cached_input: Those that are read from the provider's cache.
        output: Those that are written, thoughts among them.
        longest: The longest input, in tokens, that this holds for; None for any.
        beyond: The price of an answer to a longer input, or None where that is not known.
    """

    input: Decimal
    cached_input: Decimal
    output: Decimal
    longest: int | None = None
    beyond: Price | None = None

    @classmethod
    def of(cls, input: str, cached_input: str, output: str) -> Price:  # noqa: A002 - what it is the price of
        """Return the price that is written so, as in `Price.of("2.50", "0.25", "15")`."""
        return cls(Decimal(input), Decimal(cached_input), Decimal(output))

    def up_to(self, longest: int, beyond: Price | None) -> Price:
        """Return the same price for inputs of at most so many tokens, with another for longer ones."""
        return Price(self.input, self.cached_input, self.output, longest, beyond)


_OPUS: Final = Price.of("5", "0.50", "25")
_SONNET: Final = Price.of("3", "0.30", "15")
_FABLE: Final = Price.of("10", "1", "50")
_FABLE_1: Final = Price.of("10", "0.25", "50")
_GPT_5: Final = Price.of("1.25", "0.125", "10")

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
"""The prices of well-known models, as their providers listed them on `PRICES_DATE`; of others there is none here."""


def cost(usage: Usage, model: str, prices: Mapping[str, Price] | None = None) -> Decimal | None:
    """Return what one answer has cost, in US dollars, or None where the model's price is not known.

    It is the list price: what is written to a cache counts as what is read, and there are no discounts, no searches and
    no tools that the provider runs.

    Args:
        usage: The tokens of one answer; some models' prices depend on how long its input was.
        model: The model, as the provider names it; a version's date, and what stands before a "/", may be left out of
            a table.
        prices: Prices that go before those of `PRICES`.
    """
    price = _price(model, {**PRICES, **(prices or {})})
    while price is not None and price.longest is not None and usage.input_tokens > price.longest:
        price = price.beyond
    if price is None:
        return None
    cached = min(usage.cached_tokens, usage.input_tokens)
    read = (usage.input_tokens - cached) * price.input + cached * price.cached_input
    return (read + usage.output_tokens * price.output) / _MILLION


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """What one answer has taken: the model, its tokens, and US dollars, or None where the price is not known."""

    model: str
    usage: Usage
    cost: Decimal | None


def turn_usages(entries: Iterable[Entry], prices: Mapping[str, Price] | None = None) -> list[TurnUsage]:
    """Return what each answer of a conversation has taken, in order."""
    answers = [each for each in entries if isinstance(each, Answer)]
    return [TurnUsage(each.model, each.usage, cost(each.usage, each.model, prices)) for each in answers]


def total_cost(entries: Iterable[Entry], prices: Mapping[str, Price] | None = None) -> Decimal | None:
    """Return what all answers of a conversation have cost, or None where the price of one is not known."""
    costs = [each.cost for each in turn_usages(entries, prices)]
    return None if None in costs else sum(filter(None, costs), Decimal(0))


def _price(model: str, prices: Mapping[str, Price]) -> Price | None:
    name = model.rpartition("/")[2]
    names = (model, name, _VERSION.sub("", name))
    return next((prices[each] for each in names if each in prices), None)
