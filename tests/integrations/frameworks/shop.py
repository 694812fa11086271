"""The tools that the tests of all frameworks give to agents."""

from typing import Any

from ez_ptc import Context, ez_tool

# As a plain name, for type checkers know only that it marks parameters.
any_context: Any = Context
Effects = list[tuple[object, ...]]

TWO_REFUNDS = "a = price('tea')\nprint(refund('Ada', a))\nprint(refund('Bob', 2 * a))"


def shop(effects: Effects) -> list[Any]:
    """Return a tool that anyone may call, and one that requires approval and has context."""

    @ez_tool(read_only=True)
    def price(item: str) -> float:
        """Look up a price."""
        any_context.progress(1, message=item)
        return float(len(item))

    @ez_tool(requires_approval=True)
    async def refund(customer: str, amount: float, user: Context[str]) -> str:
        """Refund a customer."""
        effects.append((customer, amount, user))
        return f"refunded {amount}"

    return [price, refund]
