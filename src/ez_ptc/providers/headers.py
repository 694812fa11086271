"""HTTP headers of providers' responses."""

import math

__all__ = ["seconds_in"]


def seconds_in(header: str | None) -> float | None:
    """Return the seconds in a `retry-after` header; None if it is missing or a date, which no provider sends."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    if math.isfinite(seconds) and seconds >= 0:
        return seconds
    return None
