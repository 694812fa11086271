"""Adapting names to a provider's rules."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

__all__ = ["NameRules", "fit_name"]

_HASH_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class NameRules:
    """A provider's rules for names.

    Attributes:
        characters: The allowed characters, as the inside of a character class.
        first: The allowed first characters.
        longest: The maximum length.
    """

    characters: str
    first: str
    longest: int

    def allow(self, name: str) -> bool:
        """Return whether a name may stay unchanged."""
        return re.fullmatch(f"[{self.first}][{self.characters}]{{0,{self.longest - 1}}}", name) is not None


def fit_name(name: str, rules: NameRules) -> str:
    """Return a name a provider accepts: the name itself, or the nearest one.

    Letters lose their accents, other characters become `_`, and a name that is too long ends with a hash of the whole.
    A name without usable characters becomes empty.
    """
    if rules.allow(name):
        return name
    bare = "".join(item for item in unicodedata.normalize("NFKD", name) if not unicodedata.combining(item))
    near = re.sub(f"[^{rules.characters}]", "_", bare)
    if not re.search("[A-Za-z0-9]", near):
        return ""
    if not re.match(f"[{rules.first}]", near):
        near = f"_{near}"
    if len(near) <= rules.longest:
        return near
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:_HASH_DIGITS]
    return f"{near[: rules.longest - _HASH_DIGITS - 1]}_{digest}"
