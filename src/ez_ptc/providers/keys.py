"""Keys as they can be sent."""

from ez_ptc.errors import AuthenticationError

__all__ = ["usable_key"]


def usable_key(key: str | None, variable: str) -> str | None:
    """Return a key without the white space around it, which files end in; None where nothing is left.

    Raises AuthenticationError for one that no header can carry. It does not show the key, as the HTTP client would.
    """
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()):
        message = f"the key has a character in it that no key has: is {variable} right?"
        raise AuthenticationError(message)
    return key or None
