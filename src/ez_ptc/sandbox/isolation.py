"""What is enforced around programs, as a list of layers that hold or do not."""

from __future__ import annotations

from dataclasses import dataclass

from ez_ptc.errors import IsolationUnavailableError

__all__ = ["Layer", "Report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One thing that the kernel can enforce."""

    name: str
    required: bool
    held: bool
    detail: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What was found by trying, when the sandbox started."""

    layers: tuple[Layer, ...]

    @property
    def enforced(self) -> list[Layer]:
        """The layers that hold."""
        return [layer for layer in self.layers if layer.held]

    @property
    def missing(self) -> list[Layer]:
        """The layers that do not."""
        return [layer for layer in self.layers if not layer.held]

    @property
    def sufficient(self) -> bool:
        """Whether everything required holds."""
        return all(layer.held for layer in self.layers if layer.required)

    def require(self) -> None:
        """Raise IsolationUnavailableError, with what is missing and what to do, unless everything required holds."""
        lacking = [layer for layer in self.missing if layer.required]
        if lacking:
            parts = [f"{layer.name}: {layer.detail}. What to do: {layer.advice}." for layer in lacking]
            message = "programs cannot be isolated here, so none is run. " + " ".join(parts)
            raise IsolationUnavailableError(message)
