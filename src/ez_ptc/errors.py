"""All exceptions of this library.

    EzPtcError
    ├── SchemaError (TypeError)              a function cannot be described as a tool
    ├── DuplicateToolError (ValueError)      two tools have one name
    ├── ToolNotFoundError (LookupError)      no tool has that name
    ├── ArgumentsError (ValueError)          a model's arguments do not fit the tool's parameters
    ├── ToolError                            raise it in a tool to send the model an error message
    │   ├── NotApprovedError                 a call required approval, and did not get it
    │   ├── ToolTimeoutError (TimeoutError)  a tool took longer than its `timeout`
    │   └── McpServerError                   an MCP server cannot be started, reached or understood
    ├── CodeError                            the model's program failed
    ├── SandboxError
    │   ├── WorkerDiedError                  the worker process died
    │   ├── ProtocolError                    the worker sent an invalid frame
    │   ├── IsolationUnavailableError        the kernel lacks a required isolation feature
    │   ├── Overloaded                       the queue of programs is full, or one waited too long
    │   └── ClusterError                     a Ray cluster cannot be reached, or one of its nodes cannot run programs
    ├── ProviderError
    │   ├── AuthenticationError              the key is missing or refused
    │   ├── RateLimitError                   too many requests; `retry_after` is the time to wait
    │   ├── ConnectionFailedError            the provider could not be reached
    │   └── RedirectRefusedError             the provider redirected a request to another server
    ├── TurnLimitError                       a conversation reached its limit
    ├── PausedError                          a conversation waits for a decision, and the caller wants its answer
    ├── HistoryError (ValueError)            a conversation could not be loaded or saved
    ├── JournalError                         a run could not be recorded, read or continued
    │   ├── RunInProgressError               a run is being executed by another caller or process
    │   ├── DecisionError (ValueError)       a decision does not fit a pending call
    │   ├── ContinuationError (ValueError)   a program cannot continue that failed program
    │   ├── ReplayDivergedError              a program or its tools differ from the recorded run
    │   ├── OutcomeUnknownError              a call may have taken effect; a person has to say whether it did
    │   └── JournalCorruptError              the journal was damaged or changed
    ├── ShapesError                          a file of result shapes cannot be read or written
    ├── ToolkitImportError (ImportError)     no toolkit can be imported by that name
    └── MissingExtraError (ImportError)      an optional dependency is not installed

`ShapeDriftWarning` (UserWarning) says that a tool's results have changed.

Messages say what happened and what to do next. Data that code may need is in attributes.
"""

from collections.abc import Iterable
from typing import Any

__all__ = [
    "ArgumentsError",
    "AuthenticationError",
    "ClusterError",
    "CodeError",
    "ConnectionFailedError",
    "ContinuationError",
    "DecisionError",
    "DuplicateToolError",
    "EzPtcError",
    "HistoryError",
    "IsolationUnavailableError",
    "JournalCorruptError",
    "JournalError",
    "McpServerError",
    "MissingExtraError",
    "NotApprovedError",
    "OutcomeUnknownError",
    "Overloaded",
    "PausedError",
    "ProtocolError",
    "ProviderError",
    "RateLimitError",
    "RedirectRefusedError",
    "ReplayDivergedError",
    "RunInProgressError",
    "SandboxError",
    "SchemaError",
    "ShapeDriftWarning",
    "ShapesError",
    "ToolError",
    "ToolNotFoundError",
    "ToolTimeoutError",
    "ToolkitImportError",
    "TurnLimitError",
    "WorkerDiedError",
]


class EzPtcError(Exception):
    """Base class of this library's exceptions.

    When an exception leaves a conversation, its `continuation` is a builder with everything up to the failure, tool
    results included; `continuation.converse()` tries again. Foreign exceptions, as of a listener or an SDK, get the
    attribute too.
    """

    continuation: Any = None  # an LLMPromptBuilder, whose layer is above this one


class SchemaError(EzPtcError, TypeError):
    """A function cannot be described as a tool.

    The message names the function and the parameter, and says what to write instead.
    """


class DuplicateToolError(EzPtcError, ValueError):
    """Two tools have one name."""


class ToolNotFoundError(EzPtcError, LookupError):
    """No tool has that name; the message lists the available names, nearest first."""


class ArgumentsError(EzPtcError, ValueError):
    """A model's arguments do not fit the tool's parameters.

    `problems` has one sentence for each wrong field; the message is the tool's name and all of them.
    """

    def __init__(self, message: str, *, problems: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class ToolError(EzPtcError):
    """Raise it in a tool to send the model an error message."""


class NotApprovedError(ToolError):
    """A call required approval, and did not get it: it was refused, or no one answered, or there was no one to ask.

    It is also raised where the function in `requires_approval` says neither True nor False of a call.
    The tool did not run, and no other program would make it run.
    """


class ToolTimeoutError(ToolError, TimeoutError):
    """A tool took longer than its `timeout`."""


class McpServerError(ToolError):
    """An MCP server cannot be started, reached or understood; the message says which, and why."""


class CodeError(EzPtcError):
    """The model's program failed; raised by `ExecutionResult.raise_for_error()` only."""


class SandboxError(EzPtcError):
    """The sandbox failed, not the program."""


class WorkerDiedError(SandboxError):
    """The worker process died."""


class ProtocolError(SandboxError):
    """The worker sent an invalid frame, and was killed."""


class IsolationUnavailableError(SandboxError):
    """The kernel lacks a required isolation feature; nothing runs without it."""


class Overloaded(SandboxError):  # noqa: N818 - a temporary condition, as in the name of HTTP's 529
    """The sandbox's queue is full: run fewer programs at a time, retry later, or use a larger sandbox."""


class ClusterError(SandboxError):
    """A Ray cluster cannot be reached, or one of its nodes cannot run the programs of a toolkit; nothing was run."""


class ProviderError(EzPtcError):
    """A provider of models answered with an error, or not at all."""


class AuthenticationError(ProviderError):
    """The provider's key is missing or refused."""


class RateLimitError(ProviderError):
    """The provider received too many requests; `retry_after` is the seconds to wait, or None if it does not say."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ConnectionFailedError(ProviderError):
    """The provider could not be reached."""


class RedirectRefusedError(ProviderError):
    """The provider redirected a request to another server, which got neither the key nor the conversation."""


class TurnLimitError(EzPtcError):
    """A conversation reached its limit of turns, calls or tokens.

    `entries` is the conversation so far; `continuation` is the builder that continues it.
    """

    def __init__(self, message: str, *, entries: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.entries = entries


class PausedError(EzPtcError):
    """A conversation waits for a decision, so there is no answer yet.

    `continuation.pending` has the calls that wait, and `continuation.resume(decisions)` goes on.
    """


class HistoryError(EzPtcError, ValueError):
    """A conversation could not be loaded or saved."""


class JournalError(EzPtcError):
    """A run could not be recorded, read or continued.

    `run_id` names it once it may have been recorded, as if its start was not acknowledged, or its program was ended:
    look at it before a new run.
    """

    def __init__(self, message: str = "", *, run_id: str | None = None) -> None:
        super().__init__(message)
        self.run_id = run_id


class RunInProgressError(JournalError):
    """A run, or a correction of a failed one, is being executed; nothing was run or decided.

    `owner` names the live process of a run.
    """

    def __init__(self, message: str, *, run_id: str | None = None, owner: str | None = None) -> None:
        super().__init__(message, run_id=run_id)
        self.owner = owner


class DecisionError(JournalError, ValueError):
    """A decision does not fit the call that it is about; nothing was decided."""


class ContinuationError(JournalError, ValueError):
    """A program cannot continue another: that one has not failed, or belongs to another caller; nothing was run."""


class ReplayDivergedError(JournalError):
    """The program, its tools or its interpreter differ from those of the recorded run; no call was made."""


class OutcomeUnknownError(JournalError):
    """Calls may have taken effect, and only a person can say whether they did.

    `pending` has a `PendingCall` for each; `resume` takes `Happened(result)` or `DidNotHappen()` for its id.
    """

    def __init__(self, message: str, *, pending: Iterable[object] = ()) -> None:
        super().__init__(message)
        self.pending = tuple(pending)


class JournalCorruptError(JournalError):
    """The journal was damaged or changed by something else; the message names the row."""


class ShapesError(EzPtcError):
    """A file with the shapes of results cannot be read or written."""


class ShapeDriftWarning(UserWarning):
    """A tool has returned a result that contradicts the results before, so programs written for those may fail."""


class ToolkitImportError(EzPtcError, ImportError):
    """No toolkit can be imported by a name such as `shop:toolkit`; the message says why, and where."""


class MissingExtraError(EzPtcError, ImportError):
    """An optional dependency is not installed; the message has the install command."""
