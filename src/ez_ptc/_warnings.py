"""Warnings at the line of the user's code."""

import sys
import warnings
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["warn_caller"]

_PACKAGE: Final = __file__[: __file__.rindex("_warnings")]


def warn_caller(message: str, category: type[UserWarning] = UserWarning) -> None:
    """Give a warning for the innermost line on the stack outside this package."""
    level = 1
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the frames of callers
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
