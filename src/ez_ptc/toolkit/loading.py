"""Loading the Toolkit that a reference such as `shop:toolkit` names."""

from __future__ import annotations

import importlib
import sys
from contextlib import redirect_stdout
from pathlib import Path

from ez_ptc._private_files import path_problem
from ez_ptc.errors import ToolkitImportError
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.toolkit.toolkit import Toolkit

__all__ = ["load_toolkit", "split_reference"]


def split_reference(reference: object) -> tuple[str, str]:
    """Return the module and the name in `module:name`. Raises ToolkitImportError for any other form."""
    module, _, name = reference.partition(":") if isinstance(reference, str) else ("", "", "")
    if not (module and name):
        message = f"expected the tools as module:name, such as shop:toolkit, got {safe_repr(reference)}"
        raise ToolkitImportError(message)
    if module.endswith(".py") or "/" in module:
        module_name = module.removesuffix(".py").strip("./").replace("/", ".")
        message = f"expected the name of a module, got a file: write {module_name} instead of {module}"
        raise ToolkitImportError(message)
    return module, name


def load_toolkit(reference: str, folder: Path) -> Toolkit:
    """Return the Toolkit at `module:name`; `folder` is searched last.

    Raises ToolkitImportError if it is missing, or not a Toolkit. Errors of the module itself pass through.
    """
    module_name, name = split_reference(reference)
    problem = path_problem(folder, "tools are imported from a folder")
    if problem is not None:
        raise ToolkitImportError(problem)
    module = _import_module(module_name, folder.absolute())
    if not hasattr(module, name):
        names = [key for key, value in vars(module).items() if isinstance(value, Toolkit)]
        message = f"{module_name} has no {safe_repr(name)}; its Toolkits: {', '.join(names) or 'none'}"
        raise ToolkitImportError(message)
    toolkit: object = getattr(module, name)
    if not isinstance(toolkit, Toolkit):
        message = (
            f"expected {reference} to be a Toolkit, got {type(toolkit).__name__}: write toolkit = Toolkit([...]) with "
            f"your tools in {module_name}, and name it as {module_name}:toolkit"
        )
        raise ToolkitImportError(message)
    return toolkit


def _import_module(name: str, folder: Path) -> object:
    # Last, and not before our own imports: no file of the folder replaces a module that is installed.
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        # Its own prints would mix with an answer, a configuration or, for an MCP server, with the protocol.
        with redirect_stdout(sys.stderr):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        message = f"no module {error.name!r} in {folder}, and none is installed"
        # A package of the same name hides the folder's.
        installed = getattr(sys.modules.get(error.name.rpartition(".")[0]), "__file__", None)
        if installed is not None and not Path(installed).is_relative_to(folder):
            message = f"no module {error.name!r} in {Path(installed).parent}, which is found first: rename yours"
        raise ToolkitImportError(message) from error
