"""`ez-ptc doctor`: what the kernel enforces here, what is missing, and what to do."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from ez_ptc.cli.terminal import harmless
from ez_ptc.cli.version import installed_version
from ez_ptc.sandbox.process.isolation import check

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ez_ptc.sandbox.isolation import Layer, Report

__all__ = ["print_report", "show_report"]

_NEEDED: Final = "required"
_WANTED: Final = "wanted"


def show_report(*, as_json: bool) -> int:
    """Print what was found by starting a sandbox, and return 0 when all that is required holds, else 1.

    Raises:
        SandboxError: A sandbox cannot even be started.
    """
    report = check()
    if as_json:
        print(json.dumps(_as_data(report), indent=2))
    else:
        from rich.console import Console

        print_report(report, Console(highlight=False))
    return 0 if report.sufficient else 1


def _versions() -> dict[str, str]:
    return {
        "ez_ptc": installed_version(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }


def _as_data(report: Report) -> dict[str, object]:
    layers = [asdict(layer) for layer in report.layers]
    return {"sufficient": report.sufficient, "layers": layers, "versions": _versions()}


def print_report(report: Report, console: Console) -> None:
    """Write what holds and what is missing, with what to do, to a console."""
    from rich.table import Table

    console.print("What the kernel enforces around each program here", style="bold")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for layer in report.layers:
        table.add_row(_verdict(layer), layer.name, _NEEDED if layer.required else _WANTED, _about(layer))
    console.print(table)
    console.print(harmless(", ".join(f"{name} {value}" for name, value in _versions().items())), style="dim")
    if report.sufficient:
        console.print("All that is required holds: programs can be run here.", style="green")
    else:
        console.print("Something required is missing: no program is run here.", style="bold red")


def _verdict(layer: Layer) -> Text:
    from rich.text import Text

    if layer.held:
        return Text("enforced", "green")
    return Text("MISSING", "bold red") if layer.required else Text("not here", "yellow")


def _about(layer: Layer) -> Text:
    from rich.text import Text

    text = Text(harmless(layer.detail))
    if not layer.held and layer.advice:
        text.append(f"\nWhat to do: {harmless(layer.advice)}", "bold")
    return text
