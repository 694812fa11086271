"""The module that the actors of this benchmark import."""

from ez_ptc import Toolkit, ez_tool

__all__ = ["price_of", "toolkit"]


@ez_tool(read_only=True)
def price_of(product: str) -> float:
    """Look up a price."""
    return float(len(product))


toolkit = Toolkit([price_of])
