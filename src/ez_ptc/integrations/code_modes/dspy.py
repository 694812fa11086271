"""Our sandbox as DSPy's code interpreter."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ez_ptc.errors import SandboxError
from ez_ptc.integrations.code_modes.functions import (
    FunctionSession,
    ProgramFinished,
    describe_failure,
    describe_output,
    describe_value,
)
from ez_ptc.integrations.frameworks import import_framework

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["SandboxInterpreter"]

_interpreters: Any = import_framework("dspy.primitives.code_interpreter", package="dspy")


class SandboxInterpreter:
    """Run a module's code in our sandbox: `dspy.RLM(..., interpreter_factory=SandboxInterpreter)`.

    Variables survive from one execution to the next.
    """

    execution_instructions = "Code runs in an isolated CPython process without files and network; print what you need."

    def __init__(self, tools: Mapping[str, Callable[..., Any]] | None = None, **options: Any) -> None:
        """Use tools, by name, and the options of `Toolkit`, such as `timeout` and `allow_imports`."""
        self.tools: dict[str, Callable[..., Any]] = dict(tools or {})
        self.output_fields: list[dict[str, Any]] | None = None
        self._session = FunctionSession(options)

    def start(self) -> None:
        """Do nothing: the first execution starts the session."""

    def execute(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        """Run code, and return what it printed, the value of its last expression, or a `FinalOutput`.

        Raises SyntaxError for invalid code, CodeExecutionError if it fails, and CodeInterpreterError if the sandbox
        does.
        """
        try:
            result = self._session.execute(code, {**self.tools, "SUBMIT": self._make_submit()}, variables or {})
        except ProgramFinished as finished:
            return _interpreters.FinalOutput(finished.value)
        except SandboxError as error:
            raise _interpreters.CodeInterpreterError(str(error)) from error
        if not result.success and str(result.error).startswith(("SyntaxError", "IndentationError")):
            raise SyntaxError(result.error)
        if not result.success:
            raise _interpreters.CodeExecutionError(describe_failure(result))
        return describe_output(result) or describe_value(result)

    def shutdown(self) -> None:
        """End the session."""
        self._session.close()

    def _make_submit(self) -> Callable[..., object]:
        """Return a function that takes the output fields, by position or name, and ends the program."""
        names = [str(output["name"]) for output in self.output_fields or [{"name": "output"}]]

        def submit(**fields: object) -> object:
            """Submit the final output."""
            raise ProgramFinished(fields)

        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        submit.__signature__ = inspect.Signature(parameters)
        return submit
