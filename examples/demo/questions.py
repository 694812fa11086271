"""The demo's questions, with their answers according to the database."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from examples.demo.shop import Shop

__all__ = ["QUESTIONS", "Question"]

_NUMBER: Final = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w])")
# Half a cent: sums of prices are floats.
_TOLERANCE: Final = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about the shop.

    The query `facts` returns the correct answer as rows of `name` and `number`; the query `names` returns all possible
    names in an answer.
    """

    text: str
    facts: str
    names: str

    def expected(self, shop: Shop) -> dict[str, float]:
        """Return the correct answer: numbers by name."""
        return {str(row["name"]): float(str(row["number"])) for row in shop.query(self.facts)}

    def is_answered(self, answer: str, shop: Shop) -> bool:
        """Return whether a text contains the correct names and no others, each next to its number on the same side."""
        expected = self.expected(shop)
        names = [name for row in shop.query(self.names) if (name := str(row["name"])) in answer]
        if not names or set(names) != set(expected):
            return False
        pieces = re.split(f"({'|'.join(map(re.escape, names))})", answer)
        before, after = zip(pieces[1::2], pieces[::2], strict=False), zip(pieces[1::2], pieces[2::2], strict=True)
        return any(_has_all([*sides], expected) for sides in (before, after))


def _has_all(sides: Sequence[tuple[str, str]], expected: dict[str, float]) -> bool:
    """Return whether the number of each name is in one of the texts next to it."""
    numbers = [(name, float(number.replace(",", ""))) for name, text in sides for number in _NUMBER.findall(text)]
    return all(
        any(name == expected_name and abs(number - expected_number) <= _TOLERANCE for name, number in numbers)
        for expected_name, expected_number in expected.items()
    )


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
