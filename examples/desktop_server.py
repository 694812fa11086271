"""An MCP server for a desktop client: notes in a folder, which the client's model reads and adds to.

ez-ptc serve desktop_server:toolkit --folder examples --print-config     # for the client's configuration file
python examples/desktop_server.py                                        # what the client starts
"""

import os
from pathlib import Path

from ez_ptc import ToolError, Toolkit, ez_tool

NOTES = Path(os.environ.get("NOTES", Path.home() / "notes"))


def path_of(title: str) -> Path:
    """Return the file of a note, which lies in the folder and nowhere else."""
    path = NOTES / f"{title}.md"
    if path.parent != NOTES or title.startswith("."):
        message = f"expected a title without slashes, got {title!r}"
        raise ToolError(message)
    return path


@ez_tool(read_only=True)
def list_notes() -> list[str]:
    """List the titles of all notes."""
    return sorted(path.stem for path in NOTES.glob("*.md"))


@ez_tool(read_only=True)
def read_note(title: str) -> str:
    """Read a note."""
    if title not in list_notes():
        message = f"no note is called {title!r}; the notes are: {', '.join(list_notes())}"
        raise ToolError(message)
    return path_of(title).read_text(encoding="utf-8")


@ez_tool(requires_approval=True)
def append_note(title: str, text: str) -> None:
    """Add a paragraph to a note, or begin a new one."""
    NOTES.mkdir(parents=True, exist_ok=True)
    with path_of(title).open("a", encoding="utf-8") as file:
        file.write(f"{text}\n\n")


toolkit = Toolkit([list_notes, read_note, append_note])

if __name__ == "__main__":
    toolkit.as_mcp_server(mode="both").run()
