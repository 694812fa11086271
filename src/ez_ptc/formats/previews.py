"""What a sketch of a large value looks into: substitutes for values of any class, or for parts of large ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, cast

from ez_ptc.formats.encoding import SCALAR_TEXTS, NotEncodableError, TooManyError, plain_value
from ez_ptc.formats.media import part_text
from ez_ptc.messages import MediaMessage
from ez_ptc.results.json_writer import type_text

__all__ = ["Previews"]

# The rows that are converted at either end of a table.
_MAX_ROWS: Final = 100


class Previews:
    """Substitutes for the values in a sketch of at most `max_length` characters.

    A value with more parts than characters is not converted as a whole, but described: its class, its size and some of
    its parts.
    """

    def __init__(self, max_length: int) -> None:
        self._most = max(max_length, 1)

    def __call__(self, value: object) -> object:
        """Return the substitute of a value; its parts may be of any class. Never raises."""
        if isinstance(value, MediaMessage):
            return part_text(value)
        write_text = SCALAR_TEXTS.get(type(value))
        if write_text is not None:
            return write_text(value)
        try:
            return self._describe(value) or plain_value(value, self._most)
        except (NotEncodableError, TooManyError):
            return type_text(value)
        except Exception:  # noqa: BLE001 - foreign code: a table or a collection may raise anything when it is read
            return type_text(value)

    def _describe(self, value: Any) -> object:  # noqa: ANN401 - a value of any class
        """Return the description of a value with too many parts, or None for another."""
        cls = cast("type[Any]", type(value))
        if hasattr(cls, "__pydantic_serializer__"):
            return dict(cast("dict[str, object]", vars(value)))
        if not hasattr(cls, "__len__") or (count := len(value)) == 0:
            return None
        size = value.size if hasattr(cls, "shape") else count
        if size <= self._most:
            return None
        described: dict[str, object] = {"type": cls.__name__, "length": count}
        rows = max(min(self._most // (4 * (size // count)), _MAX_ROWS), 1)
        if hasattr(cls, "shape"):
            described["shape"] = list(value.shape)
            table = getattr(value, "iloc", value)
            if size // count <= self._most:
                described |= {"first": plain_value(table[:rows]), "last": plain_value(table[-rows:])}
        elif isinstance(value, Mapping):
            described["first"] = dict(islice(cast("Mapping[object, object]", value).items(), rows))
        else:
            described["first"] = [*islice(cast("Iterable[object]", value), rows)]
        return described
