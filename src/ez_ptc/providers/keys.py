"""Validating API keys."""

from ez_ptc.errors import AuthenticationError

__all__ = ["usable_key"]


def usable_key(key: str | None, variable: str) -> str | None:
    """Return a key without surrounding white space, such as a file's last newline; None if nothing is left.

    Raises AuthenticationError, without the key in its message, if a header cannot carry it.
    """
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()):
        message = f"the key has a character in it that no key has: is {variable} right?"
        raise AuthenticationError(message)
    return key or None
