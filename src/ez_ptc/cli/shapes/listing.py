"""`ez-ptc shapes list` and `ez-ptc shapes forget`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ez_ptc.cli.run import CommandError, json_text
from ez_ptc.cli.terminal import printable
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.toolkit.shapes.file import ShapeFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["forget_shapes", "list_shapes"]


def list_shapes(path: Path, *, as_json: bool) -> int:
    """Print each tool with the shape of its results, and return 0.

    Raises CommandError if there is no file, and ShapesError if it is not one of shapes.
    """
    stored = _open(path).read()
    rows = [
        {"tool": key.tool, "digest": key.digest, "count": observed.count, "shape": observed.type_text}
        for key, observed in stored.items()
        if observed is not None and observed.shape
    ]
    if as_json:
        print(json_text(rows))
    elif rows:
        for row in rows:
            print(printable(f"{row['tool']} (observed {row['count']:,}): {row['shape']}"))
    else:
        print("no shapes")
    unreadable = [key.tool for key, observed in stored.items() if observed is None]
    if unreadable:
        message = (
            f"not readable: {len(unreadable):,} of {len(stored):,} rows, the first of {unreadable[0]}; "
            f"ez-ptc shapes forget removes them"
        )
        print(printable(message), file=sys.stderr)
    return 0


def forget_shapes(path: Path, tools: Sequence[str], *, is_for_all: bool) -> int:
    """Remove the shapes of some tools, or of all, and return 0.

    Raises CommandError if no tool is named, or one has no shape in the file, and ShapesError as `list_shapes` does.
    """
    if bool(tools) == is_for_all:
        message = "expected the names of tools, or --all for all of them"
        raise CommandError(message)
    file = _open(path)
    known = {key.tool for key in file.read()}
    unknown = [tool for tool in tools if tool not in known]
    if unknown:
        message = (
            f"no shape of {safe_repr(unknown[0])} in {path}: ez-ptc shapes list shows the tools; nothing was removed"
        )
        raise CommandError(message)
    count = file.forget(None if is_for_all else tools)
    print(f"{count:,} {'shape was' if count == 1 else 'shapes were'} removed")
    return 0


def _open(path: Path) -> ShapeFile:
    try:
        path.stat()
    except OSError as error:
        message = f"no shapes at {path}: {error.strerror}; pass the file with --shapes, or set EZ_PTC_SHAPES"
        raise CommandError(message) from error
    return ShapeFile(path)
