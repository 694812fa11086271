"""Give any language model your Python functions, as tool calls or as whole programs run in a sandbox.

Each public name is imported on first use, so `import ez_ptc` is cheap.
"""

from typing import TYPE_CHECKING

from ez_ptc import _distribution
from ez_ptc._lazy import install_lazy_importer

__version__ = _distribution.VERSION
_distribution.warn_about_namesake()

# The one list of public names: type checkers read it, and so does the lazy importer.
if TYPE_CHECKING or not install_lazy_importer(globals()):
    from ez_ptc.conversation.builder import LLMPromptBuilder as LLMPromptBuilder
    from ez_ptc.conversation.builder import llm as llm
    from ez_ptc.conversation.contents import ConversationState as ConversationState
    from ez_ptc.conversation.loop.stream import BlockingStream as BlockingStream
    from ez_ptc.conversation.loop.stream import ConversationStream as ConversationStream
    from ez_ptc.conversation.prices import Price as Price
    from ez_ptc.conversation.prices import TurnUsage as TurnUsage
    from ez_ptc.conversation.saving.history import History as History
    from ez_ptc.conversation.saving.history import HistoryRecord as HistoryRecord
    from ez_ptc.errors import ArgumentsError as ArgumentsError
    from ez_ptc.errors import AuthenticationError as AuthenticationError
    from ez_ptc.errors import ClusterError as ClusterError
    from ez_ptc.errors import CodeError as CodeError
    from ez_ptc.errors import ConnectionFailedError as ConnectionFailedError
    from ez_ptc.errors import ContinuationError as ContinuationError
    from ez_ptc.errors import DecisionError as DecisionError
    from ez_ptc.errors import DuplicateToolError as DuplicateToolError
    from ez_ptc.errors import EzPtcError as EzPtcError
    from ez_ptc.errors import HistoryError as HistoryError
    from ez_ptc.errors import IsolationUnavailableError as IsolationUnavailableError
    from ez_ptc.errors import JournalCorruptError as JournalCorruptError
    from ez_ptc.errors import JournalError as JournalError
    from ez_ptc.errors import McpServerError as McpServerError
    from ez_ptc.errors import MissingExtraError as MissingExtraError
    from ez_ptc.errors import NotApprovedError as NotApprovedError
    from ez_ptc.errors import OutcomeUnknownError as OutcomeUnknownError
    from ez_ptc.errors import Overloaded as Overloaded
    from ez_ptc.errors import PausedError as PausedError
    from ez_ptc.errors import ProtocolError as ProtocolError
    from ez_ptc.errors import ProviderError as ProviderError
    from ez_ptc.errors import RateLimitError as RateLimitError
    from ez_ptc.errors import RedirectRefusedError as RedirectRefusedError
    from ez_ptc.errors import ReplayDivergedError as ReplayDivergedError
    from ez_ptc.errors import RunInProgressError as RunInProgressError
    from ez_ptc.errors import SandboxError as SandboxError
    from ez_ptc.errors import SchemaError as SchemaError
    from ez_ptc.errors import ShapeDriftWarning as ShapeDriftWarning
    from ez_ptc.errors import ShapesError as ShapesError
    from ez_ptc.errors import ToolError as ToolError
    from ez_ptc.errors import ToolkitImportError as ToolkitImportError
    from ez_ptc.errors import ToolNotFoundError as ToolNotFoundError
    from ez_ptc.errors import ToolTimeoutError as ToolTimeoutError
    from ez_ptc.errors import TurnLimitError as TurnLimitError
    from ez_ptc.errors import WorkerDiedError as WorkerDiedError
    from ez_ptc.formats.prompt import Prompt as Prompt
    from ez_ptc.formats.prompt import TextDelta as TextDelta
    from ez_ptc.integrations.notebooks.magic import load_ipython_extension as load_ipython_extension
    from ez_ptc.integrations.notebooks.magic import unload_ipython_extension as unload_ipython_extension
    from ez_ptc.journal.journal import Journal as Journal
    from ez_ptc.journal.run import Run as Run
    from ez_ptc.mcp.client.connect import amcp_tools as amcp_tools
    from ez_ptc.mcp.client.connect import mcp_tools as mcp_tools
    from ez_ptc.mcp.client.settings import Elicitation as Elicitation
    from ez_ptc.mcp.client.settings import McpChange as McpChange
    from ez_ptc.mcp.client.settings import McpLog as McpLog
    from ez_ptc.mcp.client.settings import McpProgress as McpProgress
    from ez_ptc.mcp.client.tools import McpPrompt as McpPrompt
    from ez_ptc.mcp.client.tools import McpTools as McpTools
    from ez_ptc.messages import Answer as Answer
    from ez_ptc.messages import AudioMessage as AudioMessage
    from ez_ptc.messages import DocumentMessage as DocumentMessage
    from ez_ptc.messages import ImageMessage as ImageMessage
    from ez_ptc.messages import MediaMessage as MediaMessage
    from ez_ptc.messages import Message as Message
    from ez_ptc.messages import MessageList as MessageList
    from ez_ptc.messages import MessageRole as MessageRole
    from ez_ptc.messages import PendingCall as PendingCall
    from ez_ptc.messages import TextMessage as TextMessage
    from ez_ptc.messages import ToolCall as ToolCall
    from ez_ptc.messages import ToolCallMessage as ToolCallMessage
    from ez_ptc.messages import ToolResult as ToolResult
    from ez_ptc.messages import ToolResultMessage as ToolResultMessage
    from ez_ptc.messages import Usage as Usage
    from ez_ptc.messages import VideoMessage as VideoMessage
    from ez_ptc.openapi.tools import openapi_tools as openapi_tools
    from ez_ptc.providers.anthropic import AnthropicProvider as AnthropicProvider
    from ez_ptc.providers.gemini import GeminiProvider as GeminiProvider
    from ez_ptc.providers.mistral import MistralProvider as MistralProvider
    from ez_ptc.providers.openai_chat import OpenAIChatProvider as OpenAIChatProvider
    from ez_ptc.providers.openai_responses import OpenAIProvider as OpenAIProvider
    from ez_ptc.providers.provider import LLMProvider as LLMProvider
    from ez_ptc.providers.scripted import ScriptedProvider as ScriptedProvider
    from ez_ptc.ray.session import RaySession as RaySession
    from ez_ptc.ray.toolkit import RayToolkit as RayToolkit
    from ez_ptc.sandbox.host.backend import ProcessSandbox as ProcessSandbox
    from ez_ptc.sandbox.protocol.events import ApprovalNeeded as ApprovalNeeded
    from ez_ptc.sandbox.protocol.events import CallEnded as CallEnded
    from ez_ptc.sandbox.protocol.events import CallProgress as CallProgress
    from ez_ptc.sandbox.protocol.events import CallStarted as CallStarted
    from ez_ptc.sandbox.protocol.events import OutputDelta as OutputDelta
    from ez_ptc.sandbox.protocol.events import ProgramEnded as ProgramEnded
    from ez_ptc.sandbox.protocol.execution import ExecutionResult as ExecutionResult
    from ez_ptc.sandbox.protocol.execution import Limits as Limits
    from ez_ptc.sandbox.protocol.interfaces import Sandbox as Sandbox
    from ez_ptc.sandbox.protocol.records.call_record import CallRecord as CallRecord
    from ez_ptc.sandbox.wasm.backend import WasmSandbox as WasmSandbox
    from ez_ptc.schema.annotations.context import Context as Context
    from ez_ptc.schema.published_form import function_to_tool as function_to_tool
    from ez_ptc.schema.published_form import type_to_json_schema as type_to_json_schema
    from ez_ptc.schema.sensitive import Sensitive as Sensitive
    from ez_ptc.schema.tool_schema import generate_tool_schema as generate_tool_schema
    from ez_ptc.telemetry.settings import configure_telemetry as configure_telemetry
    from ez_ptc.toolkit.checking import Mistake as Mistake
    from ez_ptc.toolkit.execution.session import Session as Session
    from ez_ptc.toolkit.toolkit import Toolkit as Toolkit
    from ez_ptc.tools.approvals.approval import Approver as Approver
    from ez_ptc.tools.builtin import create_calculator_tool as create_calculator_tool
    from ez_ptc.tools.builtin import create_datetime_tool as create_datetime_tool
    from ez_ptc.tools.conversion import tools_from as tools_from
    from ez_ptc.tools.decisions import Approve as Approve
    from ez_ptc.tools.decisions import Deny as Deny
    from ez_ptc.tools.decisions import DidNotHappen as DidNotHappen
    from ez_ptc.tools.decisions import Happened as Happened
    from ez_ptc.tools.decisions import Pause as Pause
    from ez_ptc.tools.decorators import ToolOptions as ToolOptions
    from ez_ptc.tools.decorators import ez_tool as ez_tool
    from ez_ptc.tools.decorators import tool as tool
    from ez_ptc.tools.definitions.parameters import ParameterType as ParameterType
    from ez_ptc.tools.definitions.parameters import ToolParameter as ToolParameter
    from ez_ptc.tools.registry import ToolRegistry as ToolRegistry
    from ez_ptc.tools.tool import Tool as Tool
