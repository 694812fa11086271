"""The size of a regular expression once its counted repetitions are written out.

Rust's engine takes time in proportion to the length of a text, times this size: `(?:a{0,200}){0,200}` has 20 characters
and 40,000 parts. A text of 2,000 characters takes seconds, and no other thread of the process runs meanwhile.
"""

import math
import re
from functools import lru_cache
from typing import Final

__all__ = ["expanded_size"]

_TOKEN: Final = re.compile(
    r"\((?:\?(?:P?<\w+>|[a-zA-Z-]*:))?"  # the beginning of a group
    r"|\\(?:[pPxuU]\{[^}]*\}|.)"  # an escape
    r"|\[\^?\]?(?:\\.|[^\]\\\[])*\]"  # a set
    r"|\{\s*(?P<least>\d*)\s*,?\s*(?P<most>\d*)\s*\}|.",
    re.DOTALL,
)
# With this flag, blanks and comments may stand anywhere.
_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z]*x")


# Asked for each check.
@lru_cache(maxsize=4096)
def expanded_size(pattern: str) -> int:
    """Return an upper estimate of the parts of a pattern of Rust's `regex`, with each as often as it is repeated."""
    tokens = [*_TOKEN.finditer(pattern)]
    counts = [max(int(token["least"] or 0), int(token["most"] or 0), 1) for token in tokens if _is_count(token)]
    if _VERBOSE.search(pattern) or any(token[0] == "[" for token in tokens):
        # Comments, and sets within sets, are not followed.
        return len(pattern) * math.prod(counts)
    sizes, last = [0], 0
    for token in tokens:
        if _is_count(token):
            count = counts.pop(0)
            sizes[-1] += last * (count - 1)
            last *= count
        elif token[0] == ")" and len(sizes) > 1:
            last = sizes.pop() + 1
            sizes[-1] += last
        elif token[0].startswith("("):
            sizes.append(0)
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)


def _is_count(token: re.Match[str]) -> bool:
    return bool(token["least"] or token["most"])
