"""The pages of conversations: their messages, and the tokens and the cost of each answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from ez_ptc.messages import Answer
from ez_ptc.view.markup import draw_pictures, element, indented_json, markup_text, moment_text
from ez_ptc.view.objects.messages import entry_parts
from ez_ptc.view.objects.parts import NotePart, PicturesPart, TextPart, ValuePart
from ez_ptc.view.run_list import run_link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.messages import Entry
    from ez_ptc.view.objects.parts import ViewPart

__all__ = [
    "CONVERSATIONS_PATH",
    "CONVERSATION_PREFIX",
    "ConversationEntry",
    "TurnView",
    "conversation_body",
    "conversations_body",
]

CONVERSATIONS_PATH: Final = "/conversations"
CONVERSATION_PREFIX: Final = "/conversation/"
_MAX_SHORT: Final = 200
_MAX_ENTRIES: Final = 500
_MAX_ALL: Final = 2_000_000
_HEADS: Final = ("Answer", "Model", "Input", "Cached", "Output", "Cost")


class ConversationEntry(NamedTuple):
    """A conversation in a list; `changed` is in seconds since 1970."""

    id: str
    title: str
    changed: float
    messages: int


class TurnView(NamedTuple):
    """The model, the tokens and the cost of an answer, or of all."""

    model: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: str


def conversations_body(entries: Sequence[ConversationEntry]) -> str:
    """Return the list of conversations as HTML."""
    header = element("header", element("h1", "Conversations"))
    if not entries:
        return header + "<p>No conversations.</p>"
    rows = [_row("th", ("Conversation", "Changed", "Messages"))]
    for entry in entries:
        address = f"{CONVERSATION_PREFIX}{quote(entry.id, safe='')}"
        title = element("a", markup_text(entry.title, _MAX_SHORT), href=address)
        cells = title, moment_text(entry.changed), f"{entry.messages:,}"
        rows.append(element("tr", "".join(element("td", cell) for cell in cells)))
    return header + element("section", element("table", "".join(rows), class_="runs"))


def conversation_body(
    conversation_id: str, entries: Sequence[Entry], turns: Sequence[TurnView], total: TurnView
) -> str:
    """Return a conversation as HTML: the tokens and the cost of its answers, and its last 500 entries."""
    parts = [element("header", element("h1", f"Conversation {markup_text(conversation_id, _MAX_SHORT)}"))]
    numbered = [(f"{number:,}", turn) for number, turn in enumerate(turns, 1)]
    rows = [_turn_row(name, turn) for name, turn in [*numbered[-_MAX_ENTRIES:], ("all", total)]]
    table = element("table", _row("th", _HEADS) + "".join(rows), class_="runs")
    parts.append(element("section", element("h2", "Tokens and cost") + table, id="cost"))
    start = max(len(entries) - _MAX_ENTRIES, 0)
    drawn = [element("h2", "Messages")]
    if start:
        drawn.append(element("p", f"… {start:,} entries before these", class_="note"))
    most = _MAX_ALL // max(len(entries) - start, 1)
    drawn += [_draw_entry(entry, most) for entry in entries[start:]]
    parts.append(element("section", "".join(drawn), id="messages"))
    return "".join(parts)


def _turn_row(name: str, turn: TurnView) -> str:
    numbers = [f"{number:,}" for number in (turn.input_tokens, turn.cached_tokens, turn.output_tokens)]
    return _row("td", (name, turn.model, *numbers, turn.cost))


def _row(tag: str, cells: Sequence[str]) -> str:
    return element("tr", "".join(element(tag, markup_text(cell, _MAX_SHORT)) for cell in cells))


def _draw_entry(entry: Entry, most: int) -> str:
    drawn = [_draw_part(entry_part) for entry_part in entry_parts(entry, most)]
    if not isinstance(entry, Answer) and entry.program is not None and entry.program.run_id is not None:
        drawn.append(element("p", element("a", "The run of this program", href=run_link(entry.program.run_id))))
    return element("article", "".join(drawn), class_="entry")


def _draw_part(part: ViewPart) -> str:
    match part:
        case NotePart(text):
            return element("p", markup_text(text, _MAX_SHORT), class_="note")
        case TextPart(text, most) if text:
            return element("pre", markup_text(text, most), tabindex=0)
        case ValuePart(value, _, most):
            return element("pre", markup_text(indented_json(value, most), most), tabindex=0)
        case PicturesPart(images):
            return draw_pictures(images)
        case _:
            return ""
