"""The diagrams of the documentation: drawn from the text beside them."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from scripts.make_diagrams import FOLDER, read_diagram


@pytest.mark.parametrize("text", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_committed_diagram_is_drawn_from_its_text(text: Path) -> None:
    """Draw it with `python scripts/make_diagrams.py`, or `make format`."""
    drawn = read_diagram(text.read_text(encoding="utf-8")).draw()
    assert text.with_suffix(".svg").read_text(encoding="utf-8") == drawn
    assert ET.fromstring(drawn).get("role") == "img"


def test_arrow_leads_from_source_to_target() -> None:
    diagram = read_diagram("Title\nA | B\nA -> B: x < y\nB: thinks\n--- later\n")
    assert diagram.steps == (("A", "B", "x < y"), ("B", None, "thinks"), (None, None, "later"))
    assert "x &lt; y" in diagram.draw()


@pytest.mark.parametrize("line", ["A -> C: text", "C: text", "A - B: text", ""])
def test_line_without_a_known_role_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="expected 'A -> B: text'"):
        read_diagram(f"Title\nA | B\n{line}\nA: end")
