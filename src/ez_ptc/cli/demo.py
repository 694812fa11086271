"""`ez-ptc demo`: starts `examples/demo`, which a clone of the repository has and an installed package does not."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ez_ptc._distribution import DISTRIBUTION
from ez_ptc.cli.run import CommandError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["run_demo"]

_NOT_IN_A_CLONE: Final = (
    f"the demo is in the repository of {DISTRIBUTION}, in examples/demo, and not in the installed package: clone the "
    "repository and run `make demo` there; or try your own tools here: ez-ptc chat --tools MODULE:TOOLKIT"
)


def run_demo(*, base_url: str | None = None, model: str | None = None, record: Path | None = None) -> int:
    """Run the demo of the clone that this package is imported from; return 0 if all its answers are correct, else 1.

    Raises:
        CommandError: The package is installed without its repository.
        EzPtcError: The server or the model fails, or programs cannot run here.
    """
    return _import_demo().run_demo(base_url=base_url, model=model, record=record)


def _import_demo() -> ModuleType:
    clone = Path(__file__).resolve().parents[3]
    # Any project may have a folder `examples/demo` beside its packages: only ours has the source beside it.
    if not (clone / "examples/demo/command.py").is_file() or not (clone / "src/ez_ptc/cli/demo.py").is_file():
        raise CommandError(_NOT_IN_A_CLONE)
    sys.path.insert(0, str(clone))
    try:
        return importlib.import_module("examples.demo.command")
    finally:
        sys.path.remove(str(clone))
