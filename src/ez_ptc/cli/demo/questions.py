"""The demo's questions, and whether an answer to one is right: the database says so, not the model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.cli.demo.shop import Shop

__all__ = ["QUESTIONS", "Question"]

_NUMBER: Final = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w])")
# Half a cent: sums of prices are no exact numbers.
_TOLERANCE: Final = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something that a person would ask of the shop.

    The query `facts` gives the right answer as rows of `name` and `number`; the query `names` gives all the names that
    an answer could have in it.
    """

    text: str
    facts: str
    names: str

    def expected(self, shop: Shop) -> dict[str, float]:
        """Return the right answer: names, each with its number."""
        return {str(row["name"]): float(str(row["number"])) for row in shop.query(self.facts)}

    def is_answered(self, answer: str, shop: Shop) -> bool:
        """Tell whether a text gives the right names and no others, each with its number after it, or each before."""
        expected = self.expected(shop)
        found = [name for row in shop.query(self.names) if (name := str(row["name"])) in answer]
        if not found or set(found) != set(expected):
            return False
        pieces = re.split(f"({'|'.join(map(re.escape, found))})", answer)
        before, after = zip(pieces[1::2], pieces[::2], strict=False), zip(pieces[1::2], pieces[2::2], strict=True)
        return any(_has_all([*sides], expected) for sides in (before, after))


def _has_all(sides: Sequence[tuple[str, str]], expected: dict[str, float]) -> bool:
    """Tell whether the number of each name is in one of the texts beside it."""
    return all(
        any(name == wanted and abs(found - number) <= _TOLERANCE for name, text in sides for found in _numbers(text))
        for wanted, number in expected.items()
    )


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in _NUMBER.findall(text)]


QUESTIONS: Final = (
    Question(
        text="Which customer from Porto has spent the most, and how much?",
        facts="""
            select customers.name, sum(quantity * price) as number
            from customers join orders using (customer_id) join order_lines using (order_id)
            join products using (product_id)
            where city = 'Porto' group by customer_id order by number desc limit 1
        """,
        names="select name from customers",
    ),
    Question(
        text="Which furniture products have a higher demand than we have in stock? "
        "Give the name and the number of missing units.",
        facts="""
            select name, sum(quantity) - stock as number
            from products join order_lines using (product_id) join orders using (order_id)
            where category = 'furniture' and status = 'open' group by product_id having number > 0
        """,
        names="select name from products",
    ),
    Question(
        text="Which products did customers from Milan order, and how many units of each in total?",
        facts="""
            select products.name, sum(quantity) as number
            from customers join orders using (customer_id) join order_lines using (order_id)
            join products using (product_id)
            where city = 'Milan' group by product_id
        """,
        names="select name from products",
    ),
)
