"""The isolation report: the layers of isolation, and whether each one holds."""

from __future__ import annotations

from dataclasses import dataclass

from ez_ptc.errors import IsolationUnavailableError

__all__ = ["Layer", "Report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer of isolation."""

    name: str
    required: bool
    held: bool
    detail: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The layers, as probed when the sandbox started."""

    layers: tuple[Layer, ...]
    backend: str = "process"
    """What runs programs: processes that the kernel confines, "wasm" in this process, or another package's sandbox."""

    @property
    def enforced(self) -> list[Layer]:
        """The layers that hold."""
        return [layer for layer in self.layers if layer.held]

    @property
    def missing(self) -> list[Layer]:
        """The layers that do not hold."""
        return [layer for layer in self.layers if not layer.held]

    @property
    def sufficient(self) -> bool:
        """Whether all required layers hold."""
        return all(layer.held for layer in self.layers if layer.required)

    def require(self) -> None:
        """Raise IsolationUnavailableError, with the missing layers and what to do, unless all required ones hold."""
        required = [layer for layer in self.missing if layer.required]
        if required:
            problems = [f"{layer.name}: {layer.detail}. What to do: {layer.advice}." for layer in required]
            message = "programs cannot be isolated here, so none is run. " + " ".join(problems)
            if self.backend == "process":
                message += f" Or run programs in WebAssembly, which needs no feature of a kernel: {_wasm_advice()}"
            raise IsolationUnavailableError(message)


def _wasm_advice() -> str:
    from ez_ptc._component import install_advice, is_component_installed

    return "pass sandbox=WasmSandbox()" if is_component_installed() else install_advice()
