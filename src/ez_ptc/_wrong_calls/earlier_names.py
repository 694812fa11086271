"""Names that users of ez-ptc 0.4 or of similar libraries type, and what to write here."""

from collections.abc import Iterable, Mapping
from typing import Final, NoReturn

__all__ = ["ATTRIBUTES", "KEYWORDS", "PUBLIC_NAMES", "install_advice", "unknown_public_name"]

# Keyword arguments, of any function.
KEYWORDS: Final[Mapping[str, str]] = {
    "api_key": "pass it to the provider, as in OpenAIProvider(api_key=...)",
    "client": "leave it out: the provider makes its own client of model, api_key and base_url",
    "limits": "write Toolkit(tools, limits=Limits(...)); a single program takes timeout=...",
    "max_tokens": "write llm().options(max_tokens=...)",
    "memory": "write limits=Limits(memory=...)",
    "temperature": "write llm().options(temperature=...)",
    "top_p": "write llm().options(top_p=...)",
    "approved_calls": "pass journal='runs.db' to the Toolkit, and write resume(run_id, {call_id: True})",
    "max_retries": "write repair=..., a function that returns a corrected program, and max_attempts=...",
    "retry_handler": "write repair=..., a function that returns a corrected program",
    "validate": "leave it out: each program is checked before it runs, and toolkit.check(code) only checks",
}
# Attributes, by class. A class with an entry here suggests the nearest of its own names for any other.
ATTRIBUTES: Final[Mapping[str, Mapping[str, str]]] = {
    "Toolkit": {
        "as_tool_sync": "write as_tool(); its asynchronous form is as_async_tool()",
        "call": "write execute(code) for a program, or get_tool(name).call({...}) for one tool",
        "execute_streaming": "write astream(code)",
        "execute_streaming_sync": "write stream(code)",
        "execute_sync": "write execute(code); its asynchronous form is aexecute(code)",
        "filter": "write Toolkit(ToolRegistry([...]).filtered(names=[...]))",
        "from_mcp_sync": "write Toolkit.from_mcp(...) with a command, a URL or a client's JSON",
        "run": "write execute(code)",
        "validate_code": "write check(code)",
    },
    "ToolRegistry": {
        "add": "write register(function)",
        "call": "write execute(name, ...)",
        "names": "write [tool.name for tool in registry]",
        "tools": "write list(registry)",
    },
    "LLMPromptBuilder": {
        "achat": "write await prompt_conversation('...')",
        "aconverse": "write await prompt_conversation('...')",
        "arun": "write await aprompt('...')",
        "ask": "write prompt('...') for a text, or converse('...') to go on with the conversation",
        "chat": "write converse('...')",
        "max_tokens": "write options(max_tokens=...)",
        "on_text": "write stream('...'), whose TextDelta events have the text",
        "temperature": "write options(temperature=...)",
        "run": "write prompt('...')",
        "save": "write History(path).save(conversation)",
        "send": "write converse('...')",
        "system": "write agent('...')",
        "to_json": "write History(path).save(conversation)",
        "user": "write request('...')",
    },
    "Journal": {"list": "write runs()"},
    "History": {"get": "write load(id)"},
}
PUBLIC_NAMES: Final[Mapping[str, str]] = {
    "Conversation": "write llm()",
    "ExecutionEvent": "write CallStarted, CallEnded, OutputDelta, ApprovalNeeded or ProgramEnded",
    "LocalSandbox": "leave it out: programs run behind a kernel sandbox, or write ProcessSandbox",
    "PendingToolCall": "write PendingCall",
    "SandboxBackend": "write Sandbox",
    "ToolCallRecord": "write CallRecord",
    "ValidationResult": "write Mistake, as in the list that toolkit.check(code) returns",
    "function_to_schema": "write function_to_tool or generate_tool_schema",
    "validate_code": "write toolkit.check(code)",
}


def install_advice(cls: type[object]) -> None:
    """Let a class say what to write instead of an attribute that it does not have."""

    def __getattr__(self: object, name: str) -> NoReturn:  # noqa: N807 - the class's
        message = f"{cls.__name__!r} object has no attribute {name!r}"
        if not name.startswith("_"):
            names = [known for known in dir(type(self)) if not known.startswith("_")]
            message += _advice(name, ATTRIBUTES[cls.__name__], names)
        raise AttributeError(message)

    cls.__getattr__ = __getattr__  # pyright: ignore[reportAttributeAccessIssue] - so that type checkers do not see it


def unknown_public_name(name: str, known: Iterable[str]) -> str:
    """Return what to write instead of a name that the package does not have, after a colon; "" without an idea."""
    return _advice(name, PUBLIC_NAMES, known)


def _advice(name: str, earlier: Mapping[str, str], known: Iterable[str]) -> str:
    if name in earlier:
        return f": {earlier[name]}"
    from difflib import get_close_matches  # few calls are wrong

    near = get_close_matches(name, [*known, *earlier], 1)
    if not near:
        return ""
    return f": {earlier[near[0]]}" if near[0] in earlier else f": did you mean {near[0]!r}?"
