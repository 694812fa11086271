"""`ez-ptc doctor`: the isolation on this machine, missing features, and remedies."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from ez_ptc.cli.terminal import printable_lines
from ez_ptc.cli.version import installed_version
from ez_ptc.sandbox.process.isolation import check

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ez_ptc.sandbox.isolation import Layer, Report

__all__ = ["print_report", "show_report"]

_REQUIRED: Final = "required"
_OPTIONAL: Final = "wanted"


def show_report(*, as_json: bool) -> int:
    """Start a sandbox, print its report, and return 0 if all requirements are met, else 1.

    Raises:
        SandboxError: No sandbox can be started.
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
    """Print the enforced and the missing layers, with remedies."""
    from rich.table import Table

    console.print("Isolation of each program on this machine", style="bold")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for layer in report.layers:
        table.add_row(_status(layer), layer.name, _REQUIRED if layer.required else _OPTIONAL, _details(layer))
    console.print(table)
    console.print(printable_lines(", ".join(f"{name} {value}" for name, value in _versions().items())), style="dim")
    if report.sufficient:
        console.print("All requirements are met: programs can run here.", style="green")
    else:
        console.print("A requirement is not met: programs cannot run here.", style="bold red")


def _status(layer: Layer) -> Text:
    from rich.text import Text

    if layer.held:
        return Text("enforced", "green")
    if layer.required:
        return Text("MISSING", "bold red")
    return Text("unavailable", "yellow")


def _details(layer: Layer) -> Text:
    from rich.text import Text

    text = Text(printable_lines(layer.detail))
    if not layer.held and layer.advice:
        text.append(f"\nWhat to do: {printable_lines(layer.advice)}", "bold")
    return text
