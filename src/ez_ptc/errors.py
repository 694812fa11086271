"""Every exception that this library raises.

    EzPtcError
    ├── SchemaError (TypeError)              a function cannot be described as a tool
    ├── DuplicateToolError (ValueError)      two tools have one name
    ├── ToolNotFoundError (LookupError)      no tool has that name
    ├── ArgumentsError (ValueError)          what a model sent does not fit the tool's parameters
    ├── ToolError                            raise it in a tool to tell the model
    │   └── ToolTimeoutError (TimeoutError)  a tool took longer than its `timeout`
    ├── CodeError                            the model's program failed
    ├── SandboxError
    │   ├── WorkerDiedError                  the process that ran the program is gone
    │   ├── ProtocolError                    a frame from the sandbox broke the rules
    │   ├── IsolationUnavailableError        the kernel does not give what is required
    │   └── Overloaded                       too many programs wait for their turn, or one waited too long
    ├── JournalError
    │   ├── ReplayDivergedError              a program took another way than its journal
    │   ├── OutcomeUnknownError              a tool was started, and nobody knows how it ended
    │   └── JournalCorruptError              the journal's rows do not hold together
    ├── ProviderError
    │   ├── AuthenticationError              the key is missing or refused
    │   ├── RateLimitError                   too many requests; `retry_after` says how long to wait
    │   └── ConnectionFailedError            the provider could not be reached
    ├── TurnLimitError                       a conversation took more turns than it may
    ├── HistoryError (ValueError)            a saved conversation cannot be read, or one not be saved
    └── MissingExtraError (ImportError)      an optional dependency is not installed

Each takes its message first: what happened, to what, and what to do next. What a program may want to read apart from
the message is an attribute.
"""

from collections.abc import Iterable

__all__ = [
    "ArgumentsError",
    "AuthenticationError",
    "CodeError",
    "ConnectionFailedError",
    "DuplicateToolError",
    "EzPtcError",
    "HistoryError",
    "IsolationUnavailableError",
    "JournalCorruptError",
    "JournalError",
    "MissingExtraError",
    "OutcomeUnknownError",
    "Overloaded",
    "ProtocolError",
    "ProviderError",
    "RateLimitError",
    "ReplayDivergedError",
    "SandboxError",
    "SchemaError",
    "ToolError",
    "ToolNotFoundError",
    "ToolTimeoutError",
    "TurnLimitError",
    "WorkerDiedError",
]


class EzPtcError(Exception):
    """The root of every error of this library.

    Where it leaves a conversation, `continuation` is the builder that goes on with what was said and done before,
    tools' results included; `continuation.converse()` asks once more. Exceptions that are not of this library, as those
    of a listener or of an SDK, get the same attribute.
    """

    continuation: object = None


class SchemaError(EzPtcError, TypeError):
    """A function cannot be described as a tool.

    The message names the function and the parameter, and says what to write instead.
    """


class DuplicateToolError(EzPtcError, ValueError):
    """Two tools have one name."""


class ToolNotFoundError(EzPtcError, LookupError):
    """No tool has the name that was asked for; the message lists the names there are, nearest first."""


class ArgumentsError(EzPtcError, ValueError):
    """What a model sent does not fit the tool's parameters.

    `problems` has one sentence for each field that is wrong; the message is all of them after the tool's name.
    """

    def __init__(self, message: str, *, problems: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class ToolError(EzPtcError):
    """Raise it in a tool to tell the model what went wrong; its message is what the model reads."""


class ToolTimeoutError(ToolError, TimeoutError):
    """A tool took longer than its `timeout`."""


class CodeError(EzPtcError):
    """The model's program failed; raised by `ExecutionResult.raise_for_error()` only."""


class SandboxError(EzPtcError):
    """The sandbox could not do its work; never the program's own mistake."""


class WorkerDiedError(SandboxError):
    """The process that ran the program is gone."""


class ProtocolError(SandboxError):
    """A frame from the sandbox broke the rules, and its worker was killed."""


class IsolationUnavailableError(SandboxError):
    """The kernel does not give an isolation that is required; nothing runs without it."""


class Overloaded(SandboxError):  # noqa: N818 - the name that the design gives it; nothing is wrong but the moment
    """More programs were to run than the sandbox takes: run fewer at a time, later, or in a larger sandbox."""


class JournalError(EzPtcError):
    """The durable record of an execution cannot be used."""


class ReplayDivergedError(JournalError):
    """A program took another way than its journal says, before anything ran a second time."""


class OutcomeUnknownError(JournalError):
    """A tool was started and nobody knows how it ended: a person must decide."""


class JournalCorruptError(JournalError):
    """The journal's rows do not hold together."""


class ProviderError(EzPtcError):
    """A provider of models answered with an error, or not at all."""


class AuthenticationError(ProviderError):
    """The provider's key is missing or refused."""


class RateLimitError(ProviderError):
    """The provider has had too many requests; `retry_after` is the number of seconds to wait, where it says."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ConnectionFailedError(ProviderError):
    """The provider could not be reached."""


class TurnLimitError(EzPtcError):
    """A conversation took more turns, calls or tokens than it may.

    `entries` are what was said so far, in a form that can be continued; `continuation` is the builder that does so.
    """

    def __init__(self, message: str, *, entries: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.entries = entries


class HistoryError(EzPtcError, ValueError):
    """What was saved of a conversation cannot be read, or what is to be saved is nothing that can be."""


class MissingExtraError(EzPtcError, ImportError):
    """An optional dependency is not installed; the message has the install command."""
