"""Give any language model your Python functions, as tool calls or as whole programs run in a sandbox.

Every public name is here and is resolved on its first use, so that `import ez_ptc` costs next to nothing.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ez_ptc.errors import (
        ArgumentsError,
        AuthenticationError,
        CodeError,
        ConnectionFailedError,
        DuplicateToolError,
        EzPtcError,
        IsolationUnavailableError,
        JournalCorruptError,
        JournalError,
        MissingExtraError,
        OutcomeUnknownError,
        ProtocolError,
        ProviderError,
        RateLimitError,
        ReplayDivergedError,
        SandboxError,
        SchemaError,
        ToolError,
        ToolNotFoundError,
        TurnLimitError,
        WorkerDiedError,
    )
    from ez_ptc.messages import ToolCall, ToolResult
    from ez_ptc.sandbox.execution import ExecutionResult, Limits
    from ez_ptc.sandbox.process.backend import ProcessSandbox
    from ez_ptc.schema.context import Context
    from ez_ptc.schema.conversion import function_to_tool, type_to_json_schema
    from ez_ptc.toolkit.toolkit import Toolkit
    from ez_ptc.tools.builtin import create_calculator_tool, create_datetime_tool
    from ez_ptc.tools.decorators import ez_tool, tool
    from ez_ptc.tools.objects import tools_from
    from ez_ptc.tools.parameters import ParameterType, ToolParameter
    from ez_ptc.tools.registry import ToolRegistry
    from ez_ptc.tools.tool import Tool

__all__ = [
    "ArgumentsError",
    "AuthenticationError",
    "CodeError",
    "ConnectionFailedError",
    "Context",
    "DuplicateToolError",
    "ExecutionResult",
    "EzPtcError",
    "IsolationUnavailableError",
    "JournalCorruptError",
    "JournalError",
    "Limits",
    "MissingExtraError",
    "OutcomeUnknownError",
    "ParameterType",
    "ProcessSandbox",
    "ProtocolError",
    "ProviderError",
    "RateLimitError",
    "ReplayDivergedError",
    "SandboxError",
    "SchemaError",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolNotFoundError",
    "ToolParameter",
    "ToolRegistry",
    "ToolResult",
    "Toolkit",
    "TurnLimitError",
    "WorkerDiedError",
    "__version__",
    "create_calculator_tool",
    "create_datetime_tool",
    "ez_tool",
    "function_to_tool",
    "tool",
    "tools_from",
    "type_to_json_schema",
]

__version__ = "1.0.0.dev0"

_HOMES: Final = {
    "Context": "ez_ptc.schema.context",
    "ExecutionResult": "ez_ptc.sandbox.execution",
    "Limits": "ez_ptc.sandbox.execution",
    "ParameterType": "ez_ptc.tools.parameters",
    "ProcessSandbox": "ez_ptc.sandbox.process.backend",
    "Tool": "ez_ptc.tools.tool",
    "ToolCall": "ez_ptc.messages",
    "ToolParameter": "ez_ptc.tools.parameters",
    "ToolRegistry": "ez_ptc.tools.registry",
    "ToolResult": "ez_ptc.messages",
    "Toolkit": "ez_ptc.toolkit.toolkit",
    "create_calculator_tool": "ez_ptc.tools.builtin",
    "create_datetime_tool": "ez_ptc.tools.builtin",
    "ez_tool": "ez_ptc.tools.decorators",
    "function_to_tool": "ez_ptc.schema.conversion",
    "tool": "ez_ptc.tools.decorators",
    "tools_from": "ez_ptc.tools.objects",
    "type_to_json_schema": "ez_ptc.schema.conversion",
}
_HOME_OF_ERRORS: Final = "ez_ptc.errors"


def __getattr__(name: str) -> object:
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    value: object = getattr(import_module(_HOMES.get(name, _HOME_OF_ERRORS)), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
