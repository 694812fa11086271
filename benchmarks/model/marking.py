"""Whether an answer is right: what a program printed and changed, beside what the right program does."""

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["is_right"]

_NUMBER: Final = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])")
_CLOSE: Final = 0.006


def is_right(
    printed: str, effects: Sequence[object], wanted: str, wanted_effects: Sequence[object], kin: Sequence[str]
) -> bool:
    """Return whether `printed` says what `wanted` says and the effects are the same, in any order.

    Each word wanted must be printed, and no other of its `kin`, the names of the same kind; a single number wanted must
    be in the last line. What is printed beside effects does not matter.
    """
    if sorted(map(repr, effects)) != sorted(map(repr, wanted_effects)):
        return False
    if wanted_effects:
        return True
    lines = [line for line in printed.splitlines() if line.strip()]
    words = wanted.split()
    if len(words) == 1 and _NUMBER.fullmatch(words[0]):
        return any(
            abs(float(number) - float(words[0])) < _CLOSE for number in _NUMBER.findall(lines[-1] if lines else "")
        )
    others = [name for name in kin if name not in wanted and name in printed]
    texts = [line for line in wanted.splitlines() if line.strip()]
    return not others and all(_says(printed, text) for text in texts)


def _says(printed: str, text: str) -> bool:
    """Return whether the parts of a line are printed, on one line where there are several."""
    parts = text.split() if any(map(_NUMBER.fullmatch, text.split())) else [text]
    lines = printed.splitlines() if len(parts) > 1 else [printed]
    return any(all(re.search(rf"(?<!\w){re.escape(part)}(?!\w)", line) for part in parts) for line in lines)
