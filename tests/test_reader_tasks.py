"""What a reader wants to do first is one row of the documentation's first page, and one click away."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
# What the row says, and what the page behind its first link answers with.
TASKS = {
    "a key for your provider": "ANTHROPIC_API_KEY",
    "a model on your own machine": "base_url",
    "a tool over your database": "sqlite3",
    "an answer that streams to a browser": "StreamingResponse",
    "what happens at a denied one": "What happens at a denied call",
    "to know why a program was refused": "the error begins with",
    "to test without a model": "ScriptedProvider",
    "to bound the time, memory and calls of a program": "Limits(",
    "to know what answers cost": "prices(",
    "logs, traces and metrics": "configure_telemetry",
    "to keep a conversation": "History(",
    "an answer of a type": "prompt_for_type",
}


def test_first_tasks_of_a_reader_are_one_click_away() -> None:
    rows = [line for line in (DOCS / "README.md").read_text().splitlines() if line.startswith("| ")]
    for task, answer in TASKS.items():
        [row] = [row for row in rows if task in row]
        page = re.findall(r"\]\(([\w/.-]+\.md)\)", row)[0]
        assert answer in (DOCS / page).read_text(), f"{task}: {page}"


# Words that a reader types into the search of the site, which ranks headings first, and the page with the answer.
SEARCHES = {
    "anthropic api key": "providers.md",
    "openai key": "providers.md",
    "database": "applications/databases.md",
    "stream browser": "applications/web-services.md",
    "denied call": "approvals.md",
    "program refused": "programs/refusals.md",
    "test without model": "conversations/testing.md",
}


def test_words_of_a_search_stand_in_one_heading_of_the_page() -> None:
    for words, page in SEARCHES.items():
        headings = [line.lower() for line in (DOCS / page).read_text().splitlines() if line.startswith("#")]
        assert any(all(word in heading for word in words.split()) for heading in headings), f"{words}: {headings}"
