"""Whether what we send after each recorded answer fits what its vendor says in its own document that a request is.

What an answer has of the vendor's own goes back to the letter, also where the document (of May 2026) does not know it:
fields that a newer or an older API gives.
"""

import json
from collections import Counter
from collections.abc import Iterator

from ez_ptc.errors import ProviderError
from ez_ptc.formats.anthropic import messages as anthropic_turns
from ez_ptc.formats.anthropic import stream as anthropic_stream
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, Entry, TextMessage, ToolResultMessage
from tests.formats.all_formats.vendor_documents import document_of, problems_of
from tests.recordings.cassettes import interactions, sse_events
from tests.recordings.openai_traffic import ASKED, answer_of, chat, responses


def _next(said: Answer) -> Prompt:
    results: list[Entry] = [ToolResultMessage(call.id, {"ok": True}, tool_name=call.name) for call in said.calls]
    return Prompt(model="gpt-5", entries=(*ASKED.entries, said, *results, TextMessage("And now?")))


def _anthropic() -> Iterator[Answer]:
    for each in interactions("langchain_anthropic-1.7.10", "opentelemetry_instrumentation_anthropic-0.62.4"):
        if each.uri.endswith("/v1/complete"):
            continue
        if not each.is_stream:
            yield anthropic_turns.answer(each.json, ASKED)
            continue
        stream = anthropic_stream.AnswerStream(ASKED)
        for event in sse_events(each.body):
            stream.feed(json.loads(event))
        yield stream.answer()


def test_turn_after_recorded_anthropic_answer_fits_document() -> None:
    found: Counter[str] = Counter()
    for said in _anthropic():
        body = anthropic_turns.request(_next(said))
        is_fit = not problems_of("anthropic", body) or not problems_of("anthropic-beta", body)
        found["fits" if is_fit else ", ".join(sorted({str(block["type"]) for block in said.content}))] += 1
    # A tool for code of 2025, whose results have a field that the document has no more.
    assert found == {"fits": 146, "code_execution_tool_result, server_tool_use, text": 3}


def test_turn_after_recorded_openai_completion_fits_document() -> None:
    found = 0
    for each in chat():
        try:
            said, _ = answer_of(each)
        except ProviderError:
            continue
        found += 1
        assert problems_of("openai-chat", openai_turns.request(_next(said))) == [], each
    assert found == 317


def test_turn_after_recorded_openai_response_fits_document() -> None:
    found: Counter[str] = Counter()
    for each in responses():
        try:
            said, _ = answer_of(each)
        except ProviderError:
            continue
        body = responses_turns.request(_next(said))
        fit = [item for item in body["input"] if document_of("openai-item").is_valid(item)]
        unknown = [item for item in body["input"] if item not in fit]
        assert all(item in said.content for item in unknown), each
        assert problems_of("openai", {**body, "input": fit}) == [], each
        found += Counter(str(item["type"]) for item in unknown) or Counter(["fits"])
    # `logprobs` is missing in older messages; the others have fields that the document does not know. A search for
    # tools that the client was to make, and nobody has, is not sent again.
    assert found == {"fits": 196, "message": 9, "image_generation_call": 3, "tool_search_call": 2}
