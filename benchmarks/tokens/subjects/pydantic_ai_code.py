"""Pydantic AI's code mode with its tool search: tools are deferred, and join `run_code` once they are found."""

import importlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.tokens.subjects import Peer, PeerTurn

__all__ = ["start"]


def start(functions: Sequence[Callable[..., object]]) -> Peer:
    """Return an agent over the functions."""
    return _Agent(functions)


class _Agent:
    def __init__(self, functions: Sequence[Callable[..., object]]) -> None:
        library: Any = importlib.import_module("pydantic_ai")
        harness: Any = importlib.import_module("pydantic_ai_harness.code_mode")
        models: Any = importlib.import_module("pydantic_ai.models.function")
        self._messages: Any = importlib.import_module("pydantic_ai.messages")
        tools = [library.Tool(function, takes_ctx=False, defer_loading=True) for function in functions]
        self._agent = library.Agent(models.FunctionModel(self._answer), tools=tools, capabilities=[harness.CodeMode()])

    def turns(self, question: str, names: Sequence[str], code: str, answer: str) -> list[PeerTurn]:
        self._turns = list[PeerTurn]()
        self._missing, self._queries = list(names), [question, *names]
        self._agent.run_sync(question)
        tools = self._turns.pop()[0]
        said = f"run_code {json.dumps({'code': code})}"
        return [*self._turns, (tools, said, answer), (tools, answer, "")]

    def _answer(self, messages: list[Any], info: Any) -> object:  # noqa: ANN401 - of the library
        tools = json.dumps(
            [
                {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
                for tool in info.function_tools
            ]
        )
        told = "\n".join(
            part.model_response_str() for part in messages[-1].parts if hasattr(part, "model_response_str")
        )
        if self._turns:
            self._turns[-1] = (*self._turns[-1][:2], told)
        text = f"{info.instructions or ''}{tools}"
        self._missing = [name for name in self._missing if f"def {name}(" not in json.loads(json.dumps(text))]
        if not self._missing or not self._queries:
            self._turns.append((text, "", ""))
            return self._messages.ModelResponse(parts=[self._messages.TextPart("done")])
        # First the words of the question, then the names of what is missing.
        query = self._queries.pop(0) if len(self._turns) == 0 else " ".join(self._missing)
        if self._turns:
            self._queries.clear()
        arguments = {"queries": [query]}
        self._turns.append((text, f"search_tools {json.dumps(arguments)}", ""))
        part = self._messages.ToolCallPart("search_tools", arguments)
        return self._messages.ModelResponse(parts=[part])
