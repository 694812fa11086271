"""The check of programs: in their own worker before they run, or in a checker, a worker without a program.

A checker keeps nothing between two programs but the shapes of the tools, made by the host.
"""

from __future__ import annotations

import linecache
import sys
import warnings
from typing import TYPE_CHECKING

from ...check.check import find_mistakes
from ...check.reading.program import file_name, read_program
from ...check.signatures import Shapes
from ...check.type_names import type_names

if TYPE_CHECKING:
    import ast
    from collections.abc import Collection, Mapping

    from ...check.mistakes import ProgramMistake
    from .link import Link
    from .tools import Tools

__all__ = ["check_program", "check_programs", "find_shapes", "is_known"]

# The maximum characters of a program that is checked: longer ones are mostly data, not written by a model at once.
_MAX_CHECKED = 12_000
_WARM_UP = "rows = [{0} for i in range(3)]\nfor row in rows:\n    if row:\n        print(f'{{row}}')\n"


def is_known(name: str, namespace: Collection[str]) -> bool:
    """Return whether a name is bound before a program runs."""
    return name in namespace or name in vars(sys.modules["builtins"])


def find_shapes(tools: Tools, namespace: Mapping[str, object]) -> Shapes:
    """Return the shapes of the tools whose names have not been rebound."""
    described = tools.described
    return Shapes({name: described[name] for name in described if tools.has(name, namespace)}, tools.unnamed)


def check_program(tree: ast.Module, text: str, shapes: Shapes, namespace: Collection[str]) -> list[ProgramMistake]:
    """Return the mistakes in a program; none for one that is too long to check."""
    if len(text) > _MAX_CHECKED:
        return []
    return find_mistakes(tree, shapes, namespace)


def check_programs(link: Link, tools: Tools, namespace: Mapping[str, object]) -> None:
    """Answer each program with a letter, for whether it may run unchecked, and its number.

    Raises HostGoneError when the host closes the socket. Any other exception ends this process, and the host has the
    program checked in its worker.
    """
    # The worker of the program prints those of the compiler.
    warnings.simplefilter("ignore")
    shapes = find_shapes(tools, namespace)
    # Its page faults happen before a caller waits.
    _may_run(_WARM_UP.format(f"{next(iter(tools.described))}()"), tools, shapes, namespace)
    while True:
        frame = link.receive()
        letter = b"p" if _may_run(frame["code"], tools, shapes, namespace) else b"r"
        link.pipe.write(b"%b%d" % (letter, frame["number"]))


def _may_run(text: str, tools: Tools, shapes: Shapes, namespace: Mapping[str, object]) -> bool:
    try:
        text, tree, _ = read_program(text)
        names = dict(namespace)
        names["__file__"] = file_name(1)
        names.update(type_names(tree, text, tools.type_texts, lambda name: is_known(name, namespace)))
        return not check_program(tree, text, shapes, names)
    except RecursionError:
        return False
    except (SyntaxError, ValueError):
        # Its worker cannot read it either, and says why.
        return True
    finally:
        linecache.cache.pop(file_name(1), None)
