"""Give any language model your Python functions, as tool calls or as whole programs run in a sandbox.

Every public name is here and is resolved on its first use, so that `import ez_ptc` costs next to nothing.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ez_ptc.conversation.builder import LLMPromptBuilder, llm
    from ez_ptc.conversation.prices import Price, TurnUsage
    from ez_ptc.conversation.saving.history import History
    from ez_ptc.conversation.state import ConversationState
    from ez_ptc.errors import (
        ArgumentsError,
        AuthenticationError,
        CodeError,
        ConnectionFailedError,
        DuplicateToolError,
        EzPtcError,
        HistoryError,
        IsolationUnavailableError,
        JournalCorruptError,
        JournalError,
        MissingExtraError,
        OutcomeUnknownError,
        Overloaded,
        ProtocolError,
        ProviderError,
        RateLimitError,
        ReplayDivergedError,
        SandboxError,
        SchemaError,
        ToolError,
        ToolNotFoundError,
        ToolTimeoutError,
        TurnLimitError,
        WorkerDiedError,
    )
    from ez_ptc.formats.prompt import Prompt, TextDelta
    from ez_ptc.messages import (
        Answer,
        AudioMessage,
        DocumentMessage,
        ImageMessage,
        MediaMessage,
        Message,
        MessageList,
        MessageRole,
        TextMessage,
        ToolCall,
        ToolCallMessage,
        ToolResult,
        ToolResultMessage,
        Usage,
        VideoMessage,
    )
    from ez_ptc.providers.anthropic import AnthropicProvider
    from ez_ptc.providers.gemini import GeminiProvider
    from ez_ptc.providers.mistral import MistralProvider
    from ez_ptc.providers.openai_chat import OpenAIChatProvider
    from ez_ptc.providers.openai_responses import OpenAIProvider
    from ez_ptc.providers.provider import LLMProvider
    from ez_ptc.providers.scripted import ScriptedProvider
    from ez_ptc.sandbox.execution import ExecutionResult, Limits
    from ez_ptc.sandbox.process.backend import ProcessSandbox
    from ez_ptc.schema.annotations.context import Context
    from ez_ptc.schema.published_form import function_to_tool, type_to_json_schema
    from ez_ptc.schema.tool_schema import generate_tool_schema
    from ez_ptc.toolkit.session import Session
    from ez_ptc.toolkit.toolkit import Toolkit
    from ez_ptc.tools.builtin import create_calculator_tool, create_datetime_tool
    from ez_ptc.tools.decorators import ez_tool, tool
    from ez_ptc.tools.definitions.parameters import ParameterType, ToolParameter
    from ez_ptc.tools.objects import tools_from
    from ez_ptc.tools.registry import ToolRegistry
    from ez_ptc.tools.tool import Tool

__all__ = [
    "Answer",
    "AnthropicProvider",
    "ArgumentsError",
    "AudioMessage",
    "AuthenticationError",
    "CodeError",
    "ConnectionFailedError",
    "Context",
    "ConversationState",
    "DocumentMessage",
    "DuplicateToolError",
    "ExecutionResult",
    "EzPtcError",
    "GeminiProvider",
    "History",
    "HistoryError",
    "ImageMessage",
    "IsolationUnavailableError",
    "JournalCorruptError",
    "JournalError",
    "LLMPromptBuilder",
    "LLMProvider",
    "Limits",
    "MediaMessage",
    "Message",
    "MessageList",
    "MessageRole",
    "MissingExtraError",
    "MistralProvider",
    "OpenAIChatProvider",
    "OpenAIProvider",
    "OutcomeUnknownError",
    "Overloaded",
    "ParameterType",
    "Price",
    "ProcessSandbox",
    "Prompt",
    "ProtocolError",
    "ProviderError",
    "RateLimitError",
    "ReplayDivergedError",
    "SandboxError",
    "SchemaError",
    "ScriptedProvider",
    "Session",
    "TextDelta",
    "TextMessage",
    "Tool",
    "ToolCall",
    "ToolCallMessage",
    "ToolError",
    "ToolNotFoundError",
    "ToolParameter",
    "ToolRegistry",
    "ToolResult",
    "ToolResultMessage",
    "ToolTimeoutError",
    "Toolkit",
    "TurnLimitError",
    "TurnUsage",
    "Usage",
    "VideoMessage",
    "WorkerDiedError",
    "__version__",
    "create_calculator_tool",
    "create_datetime_tool",
    "ez_tool",
    "function_to_tool",
    "generate_tool_schema",
    "llm",
    "tool",
    "tools_from",
    "type_to_json_schema",
]

__version__ = "1.0.0.dev0"

_HOMES: Final = {
    "Answer": "ez_ptc.messages",
    "AnthropicProvider": "ez_ptc.providers.anthropic",
    "AudioMessage": "ez_ptc.messages",
    "Context": "ez_ptc.schema.annotations.context",
    "ConversationState": "ez_ptc.conversation.state",
    "DocumentMessage": "ez_ptc.messages",
    "ExecutionResult": "ez_ptc.sandbox.execution",
    "GeminiProvider": "ez_ptc.providers.gemini",
    "History": "ez_ptc.conversation.saving.history",
    "ImageMessage": "ez_ptc.messages",
    "LLMPromptBuilder": "ez_ptc.conversation.builder",
    "LLMProvider": "ez_ptc.providers.provider",
    "Limits": "ez_ptc.sandbox.execution",
    "MediaMessage": "ez_ptc.messages",
    "Message": "ez_ptc.messages",
    "MessageList": "ez_ptc.messages",
    "MessageRole": "ez_ptc.messages",
    "MistralProvider": "ez_ptc.providers.mistral",
    "OpenAIChatProvider": "ez_ptc.providers.openai_chat",
    "OpenAIProvider": "ez_ptc.providers.openai_responses",
    "ParameterType": "ez_ptc.tools.definitions.parameters",
    "Price": "ez_ptc.conversation.prices",
    "ProcessSandbox": "ez_ptc.sandbox.process.backend",
    "Prompt": "ez_ptc.formats.prompt",
    "ScriptedProvider": "ez_ptc.providers.scripted",
    "Session": "ez_ptc.toolkit.session",
    "TextDelta": "ez_ptc.formats.prompt",
    "TextMessage": "ez_ptc.messages",
    "Tool": "ez_ptc.tools.tool",
    "ToolCall": "ez_ptc.messages",
    "ToolCallMessage": "ez_ptc.messages",
    "ToolParameter": "ez_ptc.tools.definitions.parameters",
    "ToolRegistry": "ez_ptc.tools.registry",
    "ToolResult": "ez_ptc.messages",
    "ToolResultMessage": "ez_ptc.messages",
    "Toolkit": "ez_ptc.toolkit.toolkit",
    "TurnUsage": "ez_ptc.conversation.prices",
    "Usage": "ez_ptc.messages",
    "VideoMessage": "ez_ptc.messages",
    "create_calculator_tool": "ez_ptc.tools.builtin",
    "create_datetime_tool": "ez_ptc.tools.builtin",
    "ez_tool": "ez_ptc.tools.decorators",
    "function_to_tool": "ez_ptc.schema.published_form",
    "generate_tool_schema": "ez_ptc.schema.tool_schema",
    "llm": "ez_ptc.conversation.builder",
    "tool": "ez_ptc.tools.decorators",
    "tools_from": "ez_ptc.tools.objects",
    "type_to_json_schema": "ez_ptc.schema.published_form",
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
