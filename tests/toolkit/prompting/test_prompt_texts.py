"""What a model is told where a toolkit has texts of its own, or nothing to tell."""

from typing import Any

from ez_ptc import Toolkit, ez_tool


@ez_tool
def untold(query: str) -> dict[str, Any]:
    """Find something."""
    return {"query": query}


def test_results_are_not_announced_without_return_schemas() -> None:
    plain, chained = Toolkit([untold]), Toolkit([untold], assist_tool_chaining=True)
    assert chained.prompt() == plain.prompt()
    assert chained.tool_prompt() == plain.tool_prompt()
    assert chained.tool_schema() == plain.tool_schema()


def test_tool_mode_begins_with_the_text_that_was_given() -> None:
    toolkit = Toolkit([untold], tool_preamble="Ask the shop:")
    for text in (toolkit.tool_prompt(), toolkit.as_tool().__doc__ or "", toolkit.tool_schema("raw")["description"]):
        assert text.startswith("Ask the shop:\n\n- untold(query: str)")
    assert toolkit.prompt() == Toolkit([untold]).prompt()


def test_prompts_and_schemas_are_written_once() -> None:
    with Toolkit([untold]) as toolkit:
        assert toolkit.prompt() is toolkit.prompt()
        first, second = toolkit.tool_schema("raw"), toolkit.tool_schema("openai")
        assert first["description"] is second["function"]["description"]
        first["parameters"]["properties"].clear()
        assert "code" in toolkit.tool_schema("raw")["parameters"]["properties"]
