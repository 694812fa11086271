"""A web service: a question from the browser, and the answer as server-sent events while it is written.

pip install fastapi uvicorn
uvicorn web_service:app --app-dir examples                       # a script stands in for a model
EZ_PTC_MODEL=anthropic uvicorn web_service:app --app-dir examples
"""

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, StreamingResponse

from ez_ptc import (
    CallStarted,
    Overloaded,
    ProviderError,
    ScriptedProvider,
    TextDelta,
    ToolCall,
    Toolkit,
    TurnLimitError,
    ez_tool,
    llm,
)

PAGE = """<!doctype html><title>Orders</title>
<form><input name=question size=40 value="Where is order 7?"><button>Ask</button></form><p></p>
<script>
document.forms[0].onsubmit = submit => {
  submit.preventDefault()
  const answer = document.querySelector("p")
  const source = new EventSource("ask?" + new URLSearchParams(new FormData(submit.target)))
  answer.textContent = ""
  source.addEventListener("text", event => answer.textContent += JSON.parse(event.data))
  source.addEventListener("call", event => document.title = JSON.parse(event.data) + " ...")
  source.onerror = () => source.close()  // at the end, too: a browser would ask again
}
</script>"""
log = logging.getLogger("uvicorn.error")


@ez_tool(read_only=True)
async def track_order(number: int) -> str:
    """Ask the carrier where an order is."""
    log.info("the carrier is asked about order %d", number)
    try:
        await asyncio.sleep(float(os.environ.get("CARRIER_SECONDS", "1")))
    except asyncio.CancelledError:
        log.info("the browser has left: no one waits for order %d", number)
        raise
    return f"order {number} is in Bergen"


toolkit = Toolkit([track_order])


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
    """End the sandbox with the service."""
    with toolkit:
        yield


app = FastAPI(lifespan=lifespan)


def model() -> str | ScriptedProvider:
    """Return the model of the environment, or a script that stands in for one."""
    program = ToolCall("", "execute_tools", {"code": "print(track_order(7))"})
    return os.environ.get("EZ_PTC_MODEL") or ScriptedProvider(program, "Your order 7 is in Bergen.")


@app.get("/")
async def page() -> HTMLResponse:
    """Show the form."""
    return HTMLResponse(PAGE)


@app.get("/ask")
async def ask(question: str) -> StreamingResponse:
    """Stream the answer to a question."""
    return StreamingResponse(events(question), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def sent(event: str, data: str) -> str:
    """Return a server-sent event; as JSON, its data are one line."""
    return f"event: {event}\ndata: {json.dumps(data)}\n\n"


async def events(question: str) -> AsyncIterator[str]:
    """Yield the text and the names of tools; programs, arguments and results stay here.

    When the browser leaves, the framework cancels this generator, and so the program and its tool.
    """
    try:
        async with llm().toolkit(toolkit).provider(model()).limits(turns=8).astream(question) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    yield sent("text", event.text)
                elif isinstance(event, CallStarted):
                    yield sent("call", event.tool)
    except (ProviderError, TurnLimitError, Overloaded):
        log.exception("no answer to %r", question)
        yield sent("text", "There is no answer just now.")
