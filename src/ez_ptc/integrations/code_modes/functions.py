"""Programs that share their variables and call plain functions: what frameworks expect of a code interpreter."""

from __future__ import annotations

import inspect
import threading
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.errors import SandboxError
from ez_ptc.results.bounds import fit_text
from ez_ptc.results.json_writer import extent
from ez_ptc.results.robust_repr import robust_repr
from ez_ptc.sandbox.protocol.output_text import add_lines
from ez_ptc.schema.annotations.partials import open_signature
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.toolkit.execution.session import Session

__all__ = [
    "FunctionSession",
    "ProgramFinished",
    "describe_failure",
    "describe_output",
    "describe_value",
    "function_tool",
]

_VARIABLES: Final = "ez_ptc_variables"


class ProgramFinished(Exception):  # noqa: N818 - no error: a function has ended its program
    """A function raises it to end its program with a `value`; `FunctionSession.execute` raises it."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


class FunctionSession:
    """A session of programs that call functions by name. The session starts with its first program.

    `options` are those of `Toolkit`, such as `timeout` and `allow_imports`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._functions: dict[str, Callable[..., object]] = {}
        self._granted: frozenset[str] = frozenset()
        self._variables: dict[str, object] = {}
        self._toolkit: Toolkit | None = None
        self._session: Session | None = None
        self._busy = threading.Lock()

    def execute(
        self, code: str, functions: Mapping[str, Callable[..., object]], variables: Mapping[str, object]
    ) -> ExecutionResult:
        """Run a program that may call `functions`, after setting `variables`.

        Variables survive unless there are functions with other names than in the previous programs.

        Raises:
            ProgramFinished: A function has ended the program.
            SandboxError: The sandbox failed, a variable cannot be passed to programs, or another program is running.
        """
        # Without waiting: a function that runs a program in its own session would wait for itself.
        if not self._busy.acquire(blocking=False):
            message = "this session is running a program: give each agent and each request a session of its own"
            raise SandboxError(message)
        try:
            return self._execute(code, functions, variables)
        finally:
            self._busy.release()

    def _execute(
        self, code: str, functions: Mapping[str, Callable[..., object]], variables: Mapping[str, object]
    ) -> ExecutionResult:
        self._functions = dict(functions)
        # A session keeps the tools it started with.
        if self._session is None or not functions.keys() <= self._granted:
            self.close()
            self._granted = frozenset(functions)
            tools = [function_tool(name, function, self._find) for name, function in functions.items()]
            tools.append(Tool(_VARIABLES, "Return the variables.", {"type": "object"}, lambda: self._variables))
            self._toolkit = Toolkit(tools, **self._options, reraise=(ProgramFinished,))
            self._session = self._toolkit.session()
        session = self._session
        if variables:
            # A program of its own, so that the line numbers of errors are those of the code.
            self._variables = dict(variables)
            result = session.execute(f"globals().update({_VARIABLES}())", after=None)
            if not result.success:
                message = f"the variables {', '.join(variables)} could not be set: {result.error}"
                raise SandboxError(message)
        # What a function of a name does may have changed since the last program.
        return session.execute(code, after=None)

    def close(self) -> None:
        """End the session. The next program starts another one."""
        session, toolkit = self._session, self._toolkit
        self._session = self._toolkit = None
        if session is not None and toolkit is not None:
            session.close()
            toolkit.close()

    def _find(self, name: str) -> Callable[..., object]:
        # Later programs may bring another function of the same name, or withdraw one.
        if name not in self._functions:
            message = f"name {name!r} is not defined"
            raise NameError(message)
        return self._functions[name]


def describe_output(result: ExecutionResult) -> str:
    """Return what a program has printed as text for a model; "" for nothing."""
    if not result.output and not result.cut_text():
        return ""
    return fit_text(add_lines(result.output_text(result.max_text), result.cut_text()), result.max_text)


def describe_value(result: ExecutionResult) -> object:
    """Return the value of a program's last expression, or a text for a model that shows a part of a large one."""
    value, most = result.return_value, result.max_text
    if extent(value, most) <= most and len(robust_repr(value)) <= most:
        return value
    return result.value_text()


def describe_failure(result: ExecutionResult) -> str:
    """Return what a failed program has printed, and its error, as text for a model."""
    error = result.failure_text(result.max_text * 3 // 4).strip()
    if result.error and result.error not in error:
        error = add_lines(error, fit_text(result.error, result.max_text // 8))
    room = max(result.max_text - len(error) - 1, 0)
    if not result.output:
        return error
    return fit_text(add_lines(result.output_text(room), error), result.max_text)


def function_tool(
    name: str, function: Callable[..., object], find: Callable[[str], Callable[..., object]]
) -> Tool[..., Any]:
    """Return a tool that calls `find(name)`, and takes what `function` takes, of any type."""
    try:
        parameters = dict(open_signature(function).parameters)
    except (TypeError, ValueError):  # a built-in without a signature
        parameters = {"arguments": inspect.Parameter("arguments", inspect.Parameter.VAR_KEYWORD)}
    named = {key: item for key, item in parameters.items() if item.kind not in {item.VAR_POSITIONAL, item.VAR_KEYWORD}}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: {} for key in named},
        "required": [key for key, item in named.items() if item.default is item.empty],
        "additionalProperties": any(item.kind is item.VAR_KEYWORD for item in parameters.values()),
    }

    def call(**arguments: object) -> object:
        return find(name)(**arguments)

    async def acall(**arguments: object) -> object:
        result: Any = find(name)(**arguments)
        return await result if inspect.isawaitable(result) else result

    documentation = inspect.getdoc(function) or name
    # An object with an asynchronous __call__ is meant, too.
    called = (function, getattr(function, "__call__", None))  # noqa: B004 - not to know whether it can be called
    is_async = any(map(inspect.iscoroutinefunction, called))
    return Tool.from_schema(name, documentation, schema, acall if is_async else call)
