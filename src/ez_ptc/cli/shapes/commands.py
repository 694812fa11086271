"""The commands of `ez-ptc shapes` and their options, for cyclopts; another module runs them."""

from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Parameter

__all__ = ["forget", "list_", "shapes_app"]

_ShapesFile = Annotated[Path, Parameter(name="--shapes", env_var="EZ_PTC_SHAPES", help="The file of the shapes.")]
_Flag = Annotated[bool, Parameter(negative=())]

_DEFAULT_FILE: Final = Path("shapes.db")


def shapes_app() -> App:
    """Return the commands of `ez-ptc shapes`."""
    app = App(name="shapes", help="Show or remove the shapes of results that a toolkit has seen.")
    app.command(list_, name="list")
    app.command(forget)
    return app


def list_(*, json: _Flag = False, shapes: _ShapesFile = _DEFAULT_FILE) -> int:
    """List the tools with the shapes of their results.

    Parameters
    ----------
    json
        Print them as JSON.
    """
    from ez_ptc.cli.shapes.listing import list_shapes

    return list_shapes(shapes, as_json=json)


def forget(
    tool: Annotated[list[str] | None, Parameter(help="The names of the tools.")] = None,
    /,
    *,
    all: _Flag = False,  # noqa: A002 - the name of the option
    shapes: _ShapesFile = _DEFAULT_FILE,
) -> int:
    """Remove the shapes of some tools' results.

    Parameters
    ----------
    all
        Those of all tools.
    """
    from ez_ptc.cli.shapes.listing import forget_shapes

    return forget_shapes(shapes, tool or [], is_for_all=all)
