"""One subject in its own process: `subject.py SUBJECT RUNS` prints the median time and CPU time of a run, in ms."""

import asyncio
import json
import sys
import time
from statistics import median
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

CODE = """
total = 0
for product in ["lamp", "desk"]:
    total = total + {0}price_of(product=product) * {0}stock(product=product)
print(total)
"""
WARM_UP = 3


def price_of(product: str) -> float:
    """Look up the price of a product."""
    return {"lamp": 39.5, "desk": 240.0}[product]


def stock(product: str) -> int:
    """Look up how many there are."""
    return len(product)


def make_agent(subject: str) -> Agent[Any, str]:
    """Return an agent whose model writes one program, and then repeats what it has printed."""
    code = CODE.format("await " if subject == "harness" else "")

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        last = messages[-1].parts[-1]
        if last.part_kind == "tool-return":
            return ModelResponse(parts=[TextPart(str(last.content))])
        return ModelResponse(parts=[ToolCallPart(info.function_tools[0].name, {"code": code})])

    model = FunctionModel(answer)
    if subject == "harness":
        from pydantic_ai_harness.code_mode import CodeMode as HarnessCodeMode

        return Agent(model, tools=[price_of, stock], capabilities=[HarnessCodeMode()])
    if subject == "code_mode":
        from ez_ptc.integrations.code_modes.pydantic_ai import CodeMode

        return Agent(model, tools=[price_of, stock], capabilities=[CodeMode()])
    from ez_ptc import Toolkit
    from ez_ptc.integrations.pydantic_ai import export_tools

    return Agent(model, tools=export_tools(Toolkit([price_of, stock])))


async def measure(subject: str, runs: int) -> dict[str, float]:
    """Return the medians of a subject. Raises ValueError if a run has another answer than it should."""
    agent = make_agent(subject)
    times: list[float] = []
    cpu_times: list[float] = []
    for _ in range(WARM_UP + runs):
        wall, cpu = time.perf_counter(), time.process_time()
        result = await agent.run("What is it all worth?")
        times.append((time.perf_counter() - wall) * 1e3)
        cpu_times.append((time.process_time() - cpu) * 1e3)
        if "1118.0" not in str(result.output):
            message = f"expected an answer with 1118.0, got {result.output}"
            raise ValueError(message)
    return {"ms": median(times[WARM_UP:]), "cpu_ms": median(cpu_times[WARM_UP:])}


sys.stdout.write(json.dumps(asyncio.run(measure(sys.argv[1], int(sys.argv[2])))) + "\n")
