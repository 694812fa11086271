"""Draw the diagrams of the documentation: each docs/diagrams/NAME.txt becomes NAME.svg beside it.

The first line is the title, the second has the roles, with bars between. The others are arrows, ``A -> B: text``,
notes at a role, ``A: text``, and pauses, ``--- text``.

    python scripts/make_diagrams.py
"""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

__all__ = ["FOLDER", "Diagram", "main", "read_diagram"]

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "diagrams"
_COLUMN: Final = 260
_ROW: Final = 46
_HEAD: Final = 74
_MARGIN: Final = 14
_LINE: Final = 16
_NOTE_WIDTH: Final = 30
_ROLE_WIDTH: Final = 26
_STYLE: Final = """
svg { background: #f8fafc; border-radius: 8px; font: 13px system-ui, sans-serif }
text { fill: #1e293b; text-anchor: middle }
text.over { stroke: #f8fafc; stroke-width: 5px; paint-order: stroke }
text.title { font-weight: 600; font-size: 15px }
rect.role { fill: #dbe4ff; stroke: #5c7cfa }
rect.note { fill: #fff3bf; stroke: #e0a800 }
line { stroke: #64748b }
line.life, line.pause { stroke-dasharray: 4 4 }
polygon { fill: #64748b }
@media (prefers-color-scheme: dark) {
  svg { background: #1f2430 }
  text { fill: #e5e7eb }
  text.over { stroke: #1f2430 }
  rect.role { fill: #2b3a67 }
  rect.note { fill: #574a1c }
  line { stroke: #94a3b8 }
  polygon { fill: #94a3b8 }
}
"""


@dataclass(frozen=True, slots=True)
class Diagram:
    """A sequence of steps between roles; a step has a source, a target or None for a note, and a text."""

    title: str
    roles: tuple[str, ...]
    steps: tuple[tuple[str | None, str | None, str], ...]

    def draw(self) -> str:
        """Return the diagram as SVG."""
        width = _COLUMN * len(self.roles) + 2 * _MARGIN
        height = _HEAD + _ROW * len(self.steps) + 2 * _MARGIN
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            f"<title>{escape(self.title)}</title><style>{_STYLE}</style>",
            f'<text class="title" x="{width // 2}" y="26">{escape(self.title)}</text>',
        ]
        for role in self.roles:
            x = self._position(role)
            parts.append(f'<line class="life" x1="{x}" y1="{_HEAD}" x2="{x}" y2="{height - _MARGIN}"/>')
            parts += _box("role", x, 58, textwrap.wrap(role, _ROLE_WIDTH))
        for number, step in enumerate(self.steps):
            parts += self._draw_step(step, _HEAD + _ROW * number + _ROW // 2 + _MARGIN)
        return "\n".join([*parts, "</svg>", ""])

    def _position(self, role: str) -> int:
        return _MARGIN + _COLUMN * self.roles.index(role) + _COLUMN // 2

    def _draw_step(self, step: tuple[str | None, str | None, str], y: int) -> Iterator[str]:
        source, target, text = step
        if source is None:
            right = _COLUMN * len(self.roles) + _MARGIN
            yield f'<line class="pause" x1="{_MARGIN}" y1="{y + 8}" x2="{right}" y2="{y + 8}"/>'
            yield f'<text class="over" x="{(right + _MARGIN) // 2}" y="{y}">{escape(text)}</text>'
        elif target is None:
            yield from _box("note", self._position(source), y, textwrap.wrap(text, _NOTE_WIDTH))
        else:
            start, end = self._position(source), self._position(target)
            back = 8 if end > start else -8
            yield f'<line x1="{start}" y1="{y + 6}" x2="{end}" y2="{y + 6}"/>'
            yield f'<polygon points="{end},{y + 6} {end - back},{y + 2} {end - back},{y + 10}"/>'
            yield f'<text class="over" x="{(start + end) // 2}" y="{y}">{escape(text)}</text>'


def _box(style: str, x: int, y: int, lines: list[str]) -> Iterator[str]:
    """Draw lines of text in a box around a point."""
    height = _LINE * len(lines) + 8
    width = _COLUMN - 30
    yield (
        f'<rect class="{style}" x="{x - width // 2}" y="{y - height // 2}" width="{width}" height="{height}" rx="6"/>'
    )
    for number, line in enumerate(lines):
        yield f'<text x="{x}" y="{y - height // 2 + _LINE * (number + 1)}">{escape(line)}</text>'


def read_diagram(text: str) -> Diagram:
    """Read a diagram. Raises ValueError for a line that names no role."""
    title, roles_line, *lines = text.strip().splitlines()
    roles = tuple(role.strip() for role in roles_line.split("|"))
    return Diagram(title, roles, tuple(_read_step(line, roles) for line in lines))


def _read_step(line: str, roles: tuple[str, ...]) -> tuple[str | None, str | None, str]:
    if line.startswith("--- "):
        return None, None, line.removeprefix("--- ")
    for source in roles:
        if line.startswith(f"{source}: "):
            return source, None, line.removeprefix(f"{source}: ")
        for target in roles:
            if line.startswith(head := f"{source} -> {target}: "):
                return source, target, line.removeprefix(head)
    message = f"expected 'A -> B: text', 'A: text' or '--- text' with roles of {roles}, got {line!r}"
    raise ValueError(message)


def main() -> None:
    """Write the SVG of each diagram beside its text."""
    for path in sorted(FOLDER.glob("*.txt")):
        path.with_suffix(".svg").write_text(read_diagram(path.read_text(encoding="utf-8")).draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
