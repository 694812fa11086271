"""Prints what the library does with the provider that was added to it; runs in a process of its own."""

import json
import sys

from ez_ptc import tool
from ez_ptc.conversation.loop.spans import conversation_attributes
from ez_ptc.formats.openai_chat.messages import request
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, TextMessage, ToolCallMessage, ToolResultMessage
from ez_ptc.providers.lookup import choose


@tool
def brew(tea: str) -> str:
    """Brew a tea."""
    return tea


CONVERSATION = (
    TextMessage("Tea?"),
    Answer(messages=(ToolCallMessage("brew", "c1", {"tea": "green"}),), stop_reason="tool_calls"),
    ToolResultMessage("c1", "green", tool_name="brew"),
    TextMessage("Thanks."),
)
BODY = request(Prompt(model="acme-1", entries=CONVERSATION, max_tokens=9), server="api.acme.example")
FOUND = {
    "by name": choose("acme", None).model,
    "by model": choose(None, "acme-large").name,
    "by key": choose(None, None).name,
    "telemetry": conversation_attributes(choose("acme", None))["gen_ai.provider.name"],
    "tool": brew.to_format("acme")["function"]["name"],
    "limit": BODY["budget"],
    "roles": [message["role"] for message in BODY["messages"]],
    "id": BODY["messages"][2]["tool_call_id"],
    "loaded without need": sorted(name for name in sys.modules if name.startswith("ez_ptc.formats.mistral")),
}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(FOUND))
