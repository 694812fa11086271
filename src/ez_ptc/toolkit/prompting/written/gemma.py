"""Arguments as Gemma writes them: `{city:<escape>Oslo<escape>,days:3}`, as JSON text."""

import json
import re
from typing import Final

__all__ = ["json_of_gemma"]

_TOKEN: Final = re.compile(
    r"(?P<open>[{\[])|(?P<close>[}\]])|(?P<sign>[,:]|\s++)"
    r"|(?P<mark><escape>|<\|\"\|>)(?P<text>.*?)(?P=mark)|(?P<json>\"(?:[^\"\\]|\\.)*+\")"
    r"|(?P<word>[^\s{}\[\],:<\"][^{}\[\],:<\"\n]*+)",
    re.DOTALL,
)
_LITERAL: Final = re.compile(r"true|false|null|-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][+-]?\d++)?")


def json_of_gemma(text: str, start: int) -> tuple[str, int]:
    """Return the JSON text of the object that begins at `start`, and the position after it.

    The JSON of text that is cut off, or no such object, is not valid.
    """
    pieces: list[str] = []
    depth, position = 0, start
    while token := _TOKEN.match(text, position):
        position = token.end()
        piece = token[0]
        if token["mark"]:
            piece = json.dumps(token["text"])
        elif (word := token["word"]) and (text[position : position + 1] == ":" or not _LITERAL.fullmatch(word.strip())):
            piece = json.dumps(word.strip())
        pieces.append(piece)
        depth += bool(token["open"]) - bool(token["close"])
        if depth == 0:
            break
    return "".join(pieces), position
