"""smolagents' CodeAgent from the registry: its prompt, its parsing, its interpreter and its words about errors."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.model.subject import Outcome, Subject

__all__ = ["start"]


def start(functions: Sequence[Callable[..., object]]) -> Subject:
    """Return an agent over the functions."""
    return _Smol(functions)


class _Smol:
    def __init__(self, functions: Sequence[Callable[..., object]]) -> None:
        self._library: Any = importlib.import_module("smolagents")
        self._utils: Any = importlib.import_module("smolagents.utils")
        tools = [self._library.tool(each) for each in functions]
        self._agent: Any = self._library.CodeAgent(tools=tools, model=self._library.Model())
        self.system: str = self._agent.system_prompt
        self.tools: list[dict[str, Any]] = []
        self.stop = ["Observation:", "Calling tools:", self._agent.code_block_tags[1]]
        self.begin()

    def question(self, text: str) -> str:
        return f"New task:\n{text}"

    def begin(self) -> None:
        executor = self._agent.python_executor = self._agent.create_python_executor()
        executor.send_variables(variables=self._agent.state)
        executor.send_tools({**self._agent.tools, **self._agent.managed_agents})

    def run(self, answer: str) -> Outcome:
        tags = self._agent.code_block_tags
        if not answer.strip().endswith(tags[1]):
            answer += tags[1]
        try:
            code = self._utils.parse_code_blobs(answer, tags)
            code = importlib.import_module("smolagents.local_python_executor").fix_final_answer_code(code)
        except Exception as error:  # noqa: BLE001 - a peer is foreign code
            return self._failed(f"Error in code parsing:\n{error}\nMake sure to provide correct code blobs.")
        executor = self._agent.python_executor
        try:
            done = executor(code)
        except Exception as error:  # noqa: BLE001 - what a program raises there is what its model is told
            return self._failed(str(error), str(executor.state.get("_print_outputs", "")))
        printed = f"{done.logs}\n{done.output if done.is_final_answer else ''}"
        return Outcome(printed, success=True, told=f"Observation:\nExecution logs:\n{printed}")

    def _failed(self, error: str, printed: str = "") -> Outcome:
        timing = importlib.import_module("smolagents.monitoring").Timing(start_time=0.0)
        wrong = importlib.import_module("smolagents.utils").AgentExecutionError
        step = self._library.ActionStep(step_number=1, timing=timing, error=wrong(error, self._agent.logger))
        if printed:
            step.observations = f"Execution logs:\n{printed}"
        told = "\n".join(part["text"] for message in step.to_messages() for part in message.content)
        return Outcome(printed, success=False, told=told)
