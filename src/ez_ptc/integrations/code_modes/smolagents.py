"""Our sandbox as the executor of a smolagents `CodeAgent`."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from ez_ptc.integrations.code_modes.functions import FunctionSession, ProgramFinished, describe_output, describe_value
from ez_ptc.integrations.frameworks import import_framework

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["SandboxExecutor"]

_executors: Any = import_framework("smolagents.local_python_executor", package="smolagents")


class SandboxExecutor(_executors.PythonExecutor):
    """Run an agent's code in our sandbox: `CodeAgent(tools, model, executor=SandboxExecutor())`.

    The variables of one step are there in the next. Closing the agent (`agent.cleanup()`) closes the sandbox.
    """

    def __init__(self, **options: Any) -> None:
        """Use the options of `Toolkit`, such as `timeout` and `allow_imports`."""
        self._session = FunctionSession(options)
        self._tools: dict[str, Callable[..., object]] = {}
        self._variables: dict[str, object] = {}
        self.state: dict[str, str] = {}

    def send_tools(self, tools: Mapping[str, Any]) -> None:
        """Take an agent's tools. The agent calls it."""
        self._tools = {name: _function_of(tool) for name, tool in tools.items()}
        final = self._tools.get("final_answer")
        if final is not None:

            @functools.wraps(final)
            def finish(**arguments: object) -> object:
                raise ProgramFinished(final(**arguments))

            self._tools["final_answer"] = finish

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Take variables for the next code. The agent calls it."""
        self._variables.update(variables)

    def __call__(self, code_action: str) -> Any:
        """Run code, and return its output. Raises InterpreterError if it fails."""
        variables, self._variables = self._variables, {}
        try:
            result = self._session.execute(code_action, self._tools, variables)
        except ProgramFinished as finished:
            return _executors.CodeOutput(output=finished.value, logs="", is_final_answer=True)
        logs = describe_output(result)
        # The agent shows it to the model if the code has failed.
        self.state["_print_outputs"] = logs
        if not result.success:
            raise _executors.InterpreterError(result.failure_text(result.max_text).strip())
        return _executors.CodeOutput(output=describe_value(result), logs=logs, is_final_answer=False)

    def cleanup(self) -> None:
        """End the sandbox's session."""
        self._session.close()


def _function_of(tool: Any) -> Callable[..., object]:
    """Return a function with the signature that the model was shown."""

    def call(**arguments: object) -> object:
        return tool(**arguments)

    inputs: dict[str, dict[str, Any]] = getattr(tool, "inputs", {})
    by_position_or_name = inspect.Parameter.POSITIONAL_OR_KEYWORD
    defaults = {name: None if item.get("nullable") else inspect.Parameter.empty for name, item in inputs.items()}
    parameters = [inspect.Parameter(name, by_position_or_name, default=default) for name, default in defaults.items()]
    parameters.sort(key=lambda parameter: parameter.default is None)
    call.__signature__ = inspect.Signature(parameters)
    call.__doc__ = getattr(tool, "description", None)
    return call
