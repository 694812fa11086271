"""What the modules of agent frameworks share: importing one of a supported version, exporting, models of arguments."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from ez_ptc._extras import require_package
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.integrations.offers import Offer, offers_of
from ez_ptc.schema.annotations.context import NO_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel

    from ez_ptc.tools.approvals.approval import Approver

__all__ = [
    "SMALLEST_VERSIONS",
    "ExportTools",
    "ExportToolsOf",
    "any_model",
    "approving_exporter",
    "import_framework",
    "tools_exporter",
]

Exported_co = TypeVar("Exported_co", covariant=True)
_ExportT = TypeVar("_ExportT", bound="Callable[..., object]")

# By package. `make test-integrations` runs them, as a package index installs them today, and the newest ones.
SMALLEST_VERSIONS: Final[Mapping[str, str]] = {
    "chatlas": "0.21.1",
    "crewai": "1.15.20",
    "dspy": "3.4.0",
    "fastmcp": "4.0.0",
    "google-adk": "2.12.0",
    "langchain": "1.2.11",
    "langchain-core": "1.2.10",
    "langgraph": "1.1.5",
    "litellm": "1.60.0",
    "llama-index-core": "0.14.12",
    "llm": "0.32.1",
    "openai-agents": "0.23.1",
    "pydantic-ai-slim": "2.60.0",
    "smolagents": "1.23.0",
}

_ARGUMENTS: Final = """

    Args:
        tools: A `Toolkit`, which becomes the tool that runs programs; or a tool, a function, or a list of them.
        context: The value of `Context` parameters.
        approve: The approver{beside}.{principal}

    Raises:
        TypeError: It is neither a toolkit nor tools.
        ValueError: There are no tools{or_else}.
    """
_PRINCIPAL: Final = """
        principal: Returns for whom a program is, from its context: `lambda user: user.id`. Without it, a paused program
            goes on with an equal context only, as far as that is plain data."""


def import_framework(module: str, *, package: str) -> Any:
    """Import a module of a framework.

    Args:
        module: The module.
        package: The framework's name at a package index, a key of `SMALLEST_VERSIONS`.

    Raises:
        MissingExtraError: The framework is not installed, or has an earlier version.
    """
    # By its metadata, because an import would load seconds of code only to find that it is too old.
    require_package(package, version=SMALLEST_VERSIONS[package])
    return import_module(module)


def any_model(name: str, schema: dict[str, Any]) -> type[BaseModel]:
    """Return a model that shows `schema`, and accepts any arguments: we check them ourselves, and repair some."""
    from pydantic import BaseModel, ConfigDict

    class Arguments(BaseModel):
        model_config = ConfigDict(extra="allow", title=name)

        @classmethod
        def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
            del args, options
            return schema

    return Arguments


class ExportTools(Protocol[Exported_co]):
    """Exports a toolkit, or tools and functions, as tools of a framework."""

    def __call__(self, tools: object, *, context: object = NO_CONTEXT, approve: Approver | None = None) -> Exported_co:
        """Return the framework's tools: that of a toolkit, which runs programs, or those of tools and functions."""
        ...


class ExportToolsOf(Protocol[Exported_co]):
    """Exports tools as `ExportTools` does, for a framework that asks for approval by itself."""

    def __call__(
        self,
        tools: object,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        principal: Callable[[Any], str] | None = None,
    ) -> Exported_co:
        """Return the framework's tools; `principal` returns for whom a program is, from its context."""
        ...


def tools_exporter(
    framework: str, *, approval: str = ""
) -> Callable[[Callable[[list[Offer]], Exported_co]], ExportTools[Exported_co]]:
    """Return a decorator that makes a function of offers the `export_tools` of a framework without our approvals.

    Args:
        framework: The framework's name.
        approval: The approval that the framework has of its own, beside which ours is asked.
    """

    def decorate(export: Callable[[list[Offer]], Exported_co]) -> ExportTools[Exported_co]:
        def export_tools(
            tools: object, *, context: object = NO_CONTEXT, approve: Approver | None = None
        ) -> Exported_co:
            return export(offers_of(tools, context=context, approve=approve, framework=framework))

        beside = f", beside {approval}" if approval else f": {framework} has no approval of its own"
        or_else = "; or a tool requires approval, and there is no approver"
        return _named(export_tools, export, beside=beside, principal="", or_else=or_else)

    return decorate


def approving_exporter(export: Callable[[list[Offer]], Exported_co]) -> ExportToolsOf[Exported_co]:
    """Decorate a function of offers as the `export_tools` of a framework that asks for approval by itself."""

    def export_tools(
        tools: object,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        principal: Callable[[Any], str] | None = None,
    ) -> Exported_co:
        return export(offers_of(tools, context=context, approve=approve, principal=principal))

    or_else = ", or no one could approve the calls of a program"
    return _named(export_tools, export, beside="", principal=_PRINCIPAL, or_else=or_else)


def _named(export_tools: _ExportT, export: Callable[[list[Offer]], object], **words: str) -> _ExportT:
    export_tools.__module__, export_tools.__qualname__ = export.__module__, "export_tools"
    export_tools.__annotations__["return"] = export.__annotations__["return"]
    export_tools.__doc__ = f"{(export.__doc__ or '').rstrip()}{_ARGUMENTS.format(**words)}"
    return explain_calls(export_tools)
