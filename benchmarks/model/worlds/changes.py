"""What has changed in a state: its parts before and after, without the ids and times that the tools make up."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, cast

__all__ = ["list_changes"]

_MADE_UP: Final = frozenset({"generated_ids", "id", "id_", "message_count", "order_counter", "timestamp"})
_DIGITS: Final = 4


def list_changes(before: object, after: object) -> list[list[object]]:
    """Return a list `["lost" or "new", path, value]` for each part that one of the two JSON-like states has alone.

    The order of a list's elements does not matter, nor does a number used as a key.
    """
    old, new = Counter(_parts(before)), Counter(_parts(after))
    return [
        [change, path, value]
        for change, parts in (("lost", old - new), ("new", new - old))
        for path, value in sorted(parts.elements())
    ]


def _parts(state: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(state, Mapping):
        for key, value in cast("Mapping[object, object]", state).items():
            if key not in _MADE_UP:
                yield from _parts(value, f"{path}.{'*' if str(key).isdecimal() else key}")
    elif isinstance(state, list) and not path.endswith("*"):
        for element in cast("list[object]", state):
            yield f"{path}[]", json.dumps(sorted(_parts(element)))
    elif isinstance(state, float):
        yield path, str(round(state, _DIGITS))
    else:
        yield path, str(cast("object", state))
