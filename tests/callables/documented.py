"""What docstrings say of parameters, in every style."""

from typing import Annotated, Final

from pydantic import Field

from tests.callables.cases import Case

__all__ = ["CASES"]


def google(city: str, days: int = 1) -> object:
    """Say what the weather will be.

    Args:
        city: Where, in any language,
            on two lines.
        days (int, optional): How far ahead.

    Returns:
        Words.
    """
    return city, days


def numpy(city: str, days: int = 1) -> object:
    """Say what the weather will be.

    Parameters
    ----------
    city : str
        Where, in any language,
        on two lines.
    days : int, optional
        How far ahead.

    Returns
    -------
    str
        Words.
    """
    return city, days


def sphinx(city: str, days: int = 1) -> object:
    """Say what the weather will be.

    :param city: Where, in any language,
        on two lines.
    :param int days: How far ahead.
    :returns: Words.
    """
    return city, days


def epydoc(city: str, days: int = 1) -> object:
    """Say what the weather will be.

    @param city: Where, in any language, on two lines.
    @param days: How far ahead.
    """
    return city, days


def stronger(
    city: Annotated[str, "Where, in any language, on two lines."], days: int = Field(1, description="How far ahead.")
) -> object:
    """Say what the weather will be.

    Args:
        city: Somewhere else.
        days: Never mind.
    """
    return city, days


CITY = {"type": "string", "description": "Where, in any language, on two lines."}
DAYS = {"type": "integer", "description": "How far ahead.", "default": 1}

CASES: Final[list[Case]] = [
    Case(
        f"documented as {function.__name__}",
        function,
        {"city": CITY, "days": DAYS},
        ("city",),
        valid=[({"city": "Rome"}, ("Rome", 1)), ({"city": "Rome", "days": 2}, ("Rome", 2))],
        invalid=[({"days": "x"}, "city", "days"), ({"city": "Rome", "day": 1}, "day")],
    )
    for function in (google, numpy, sphinx, epydoc, stronger)
]
