"""Names spelt as a provider takes them."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

__all__ = ["NameRules", "fit_name"]

_HASH_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class NameRules:
    """What a provider takes as a name.

    Attributes:
        characters: The characters it may have, as the inside of a character class.
        first: Those that it may begin with.
        longest: How many characters it may have.
    """

    characters: str
    first: str
    longest: int

    def allow(self, name: str) -> bool:
        """Say whether a name may stay as it is."""
        return re.fullmatch(f"[{self.first}][{self.characters}]{{0,{self.longest - 1}}}", name) is not None


def fit_name(name: str, rules: NameRules) -> str:
    """Return a name as a provider takes it: itself where that can be, or the nearest that is allowed.

    Letters lose their accents, other characters become `_`, and a name that is too long ends in a hash of the whole. A
    name of which nothing is left is empty.
    """
    if rules.allow(name):
        return name
    bare = "".join(item for item in unicodedata.normalize("NFKD", name) if not unicodedata.combining(item))
    near = re.sub(f"[^{rules.characters}]", "_", bare)
    if not re.search("[A-Za-z0-9]", near):
        return ""
    near = near if re.match(f"[{rules.first}]", near) else f"_{near}"
    if len(near) <= rules.longest:
        return near
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:_HASH_DIGITS]
    return f"{near[: rules.longest - _HASH_DIGITS - 1]}_{digest}"
