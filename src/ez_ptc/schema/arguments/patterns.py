"""Regular expressions on a model's text, limited to those with linear time."""

import re
from typing import Final

from pydantic_core import PydanticCustomError, SchemaValidator, core_schema
from pydantic_core import SchemaError as CoreSchemaError

from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["UnboundedPatternError", "check_expression", "linear_pattern"]

_MAX_LENGTH: Final = 1_000
_MAX_FOLDED_SETS: Final = 10
_FOLDS_CASE: Final = re.compile(r"\(\?[a-z]*i")
_FLAGS: Final = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}


class UnboundedPatternError(ValueError):
    """A pattern may take exponential time."""


def linear_pattern(pattern: str | re.Pattern[str]) -> str:
    """Return a pattern of Python's `re` for Rust's `regex`, which matches in linear time.

    As with `re.match`, a match begins at the start. Raises UnboundedPatternError for features that need backtracking:
    look-around and backreferences.
    """
    text = pattern if isinstance(pattern, str) else pattern.pattern
    flags = 0 if isinstance(pattern, str) else pattern.flags
    letters = "".join(letter for flag, letter in _FLAGS.items() if flags & flag)
    ascii_only = ""
    if flags & re.ASCII:
        ascii_only = "-u"
    # A comment at the end of a verbose pattern needs a line end.
    if flags & re.VERBOSE:
        linear = f"^(?{letters}{ascii_only}:{text}\n)"
    else:
        linear = f"^(?{letters}{ascii_only}:{text})"
    try:
        SchemaValidator(core_schema.str_schema(pattern=linear))
    except CoreSchemaError as error:
        reason = str(error).strip().rpartition("\n")[2].strip().removeprefix("error: ")
        message = (
            f"the pattern {safe_repr(text)} needs an engine that may take exponential time on a hostile text "
            f"({reason}): write it without look-around and references to groups, or check the text in the function"
        )
        raise UnboundedPatternError(message) from None
    return linear


def check_expression(value: object) -> object:
    """Return the text of a model's regular expression, to be compiled; refuse one that compiles slowly."""
    if isinstance(value, str | bytes) and len(value) > _MAX_LENGTH:
        context = {"most": _MAX_LENGTH}
        msg = "expression_length"
        raise PydanticCustomError(msg, "should have at most {most} characters", context)
    # CPython goes through all characters of a set one by one to find their cases.
    if isinstance(value, str) and value.count("[") > _MAX_FOLDED_SETS and _FOLDS_CASE.search(value):
        context = {"most": _MAX_FOLDED_SETS}
        msg = "expression_sets"
        raise PydanticCustomError(msg, "should have at most {most} sets with the flag i", context)
    return value
