"""A LangGraph agent that writes programs; a call that needs a person interrupts the graph, and the answer resumes it.

pip install langchain langgraph
python examples/langgraph_agent.py                               # a script stands in for a model
EZ_PTC_MODEL=anthropic:claude-sonnet-5-5 python examples/langgraph_agent.py "Refund all orders of Ada."
"""

import os
import sys
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from ez_ptc import Toolkit, ez_tool
from ez_ptc.integrations.langchain import answer, export_tools

ORDERS = {1: ("Ada", 39.5), 2: ("Bob", 12.0), 3: ("Ada", 240.0)}


@ez_tool(read_only=True)
def orders_of(customer: str) -> list[int]:
    """List the numbers of a customer's orders."""
    return [number for number, (name, _) in ORDERS.items() if name == customer]


@ez_tool(requires_approval=lambda call: ORDERS[call.arguments["order"]][1] > 100)
def refund(order: int) -> str:
    """Refund an order."""
    return f"refunded {ORDERS[order][1]:.2f} euros"


class ScriptedModel(GenericFakeChatModel):
    """Stands in for a model: one program, then an answer."""

    def bind_tools(self, *_: Any, **__: Any) -> "ScriptedModel":
        """Ignore the tools."""
        return self


def model() -> BaseChatModel:
    """Return the model of the environment, or a script."""
    if name := os.environ.get("EZ_PTC_MODEL"):
        return init_chat_model(name)
    code = "for order in orders_of('Ada'):\n    print(order, refund(order))"
    call = {"name": "execute_tools", "args": {"code": code}, "id": "1", "type": "tool_call"}
    return ScriptedModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("These are the refunds of Ada.")]))


def main() -> None:
    """Answer the question of the command line."""
    with Toolkit([orders_of, refund], journal=os.environ.get("RUNS", "runs.db")) as toolkit:
        agent: Any = create_agent(model(), tools=export_tools(toolkit), checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "1"}}
        state = agent.invoke({"messages": " ".join(sys.argv[1:]) or "Refund all orders of Ada."}, thread)
        while "__interrupt__" in state:
            questions = state["__interrupt__"][0].value["pending"]
            answers = [answer(question, input(f"{question['question']} [y/N] ") == "y") for question in questions]
            state = agent.invoke(Command(resume=answers), thread)
        for message in state["messages"]:
            message.pretty_print()


if __name__ == "__main__":
    main()
