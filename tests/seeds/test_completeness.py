"""Nothing that the documents say is left out: a test quotes each statement, or runs the code that it stands in.

A statement is a sentence, an item of a list, a row of a table or a line of code. A test quotes it in its docstring, a
quote a line; the functions that check the table of differences do so too.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from tests.providers.anthropic import test_seed_example as test_anthropic_seed
from tests.seeds import (
    test_differences,
    test_seed_003,
    test_seeds,
    test_statements_000,
    test_statements_000_chaining,
    test_statements_000_engine,
    test_statements_001,
    test_statements_002,
    test_statements_003,
    test_statements_004,
    test_statements_004_schemas,
    test_statements_004_wire,
)
from tests.seeds.documents import Statement, quotes, statements, text_of

QUOTING: Final[dict[str, tuple[ModuleType, ...]]] = {
    "000": (test_statements_000, test_statements_000_engine, test_statements_000_chaining),
    "001": (test_statements_001,),
    "002": (test_statements_002,),
    "003": (test_statements_003,),
    "004": (test_statements_004, test_statements_004_schemas, test_statements_004_wire),
}
# The code that is run, or compared, whole and as it is printed: the heading above it, its number there, the test.
WHOLE: Final[dict[str, dict[tuple[str, int], tuple[ModuleType, str]]]] = {
    "000": {
        ("Tools", 0): (test_seeds, "test_a_tool_has_the_attributes_of_the_table"),
        ("Docstring format", 0): (test_seeds, "test_docstrings_give_descriptions"),
        ("Toolkit", 0): (test_seeds, "test_a_toolkit_takes_the_settings_shown"),
        ("Tool chaining", 0): (test_seeds, "test_a_guessed_key_fails_with_the_keys_there_are"),
        ("The solution: `assist_tool_chaining`", 0): (test_seeds, "test_chaining_prompt_lists_the_keys"),
        ("The solution: `assist_tool_chaining`", 1): (test_seeds, "test_chaining_prompt_lists_the_keys"),
    },
    "001": {
        ("Enabling tool chaining", 0): (test_seeds, "test_chaining_is_enabled_by_one_argument"),
        **{(way, 0): (test_seeds, "test_return_schema_comes_from_three_sources") for way in test_seeds.WAYS},
        ("In `prompt()` output", 0): (test_seeds, "test_the_prompt_lists_tools_exactly_as_shown"),
        ("In `as_tool()` docstring and `tool_schema()` description", 0): (
            test_seeds,
            "test_tool_mode_lists_tools_exactly_as_shown",
        ),
        ("Example: full workflow with chaining", 0): (test_seeds, "test_the_full_workflow_runs"),
        ("Example: full workflow with chaining", 1): (test_seeds, "test_the_full_workflow_runs"),
    },
    "002": {},
    "003": {
        ("OpenAI Tool Format", 0): (test_seed_003, "test_a_definition_has_the_structure_that_is_printed"),
        **{
            (heading, 0): (test_seed_003, "test_type_has_the_printed_schema")
            for heading in (
                "Arrays (List, Sequence, Set)",
                "Tuples",
                "Dictionaries/Maps",
                "Literal Values",
                "Enum Classes",
                "Union Types",
            )
        },
        **{
            (heading, 0): (test_seed_003, "test_structure_has_the_printed_schema")
            for heading in test_seed_003.STRUCTURES
        },
        ("Input Function (Python)", 0): (test_seed_003, "test_example_gives_exactly_the_printed_schema"),
        ("Output Tool Definition", 0): (test_seed_003, "test_example_gives_exactly_the_printed_schema"),
    },
    "004": {
        ("Tool Schema Generation", 0): (test_statements_004_schemas, "test_the_printed_generator_gives_the_same"),
        ("Example Test Scenario", 0): (test_anthropic_seed, "test_example_runs_as_printed"),
    },
}
NOTHING_TO_RUN: Final = {
    "000": ("But this only works if the LLM knows the **shape** of each tool's return value.",),
    "001": (),
    "002": ("**Version**: v1.0.0 | **Status**: Active | **Last Updated**: March 2026",),
    "003": (),
    "004": ("graph TD",),
}


def quoted(number: str) -> dict[str, str]:
    return {quote: test for module in QUOTING[number] for quote, test in quotes(vars(module)).items()}


def is_in(several: Iterable[str], statement: Statement) -> bool:
    """Say whether a statement has one of the quotes in it, as whole words: "name: str" is not in "tool_name: str"."""
    return any(re.search(rf"(?<!\w){re.escape(quote)}(?!\w)", statement.text) for quote in several)


@pytest.mark.parametrize("number", QUOTING)
def test_every_statement_is_run_or_different(shared_folder: Path, number: str) -> None:
    known = [*quoted(number), *quotes(vars(test_differences), "of_"), *NOTHING_TO_RUN[number]]
    said = [each for each in statements(shared_folder, number) if (each.heading, each.block) not in WHOLE[number]]
    assert [each.text for each in said if not is_in(known, each)] == []


@pytest.mark.parametrize("number", QUOTING)
def test_every_quote_is_in_its_document(shared_folder: Path, number: str) -> None:
    text = text_of(shared_folder, number)
    assert [quote for quote in (*quoted(number), *NOTHING_TO_RUN[number]) if quote not in text] == []


def test_every_difference_quotes_its_source(shared_folder: Path) -> None:
    texts = [text_of(shared_folder, number) for number in QUOTING]
    different = quotes(vars(test_differences), "of_")
    assert [quote for quote in different if not any(quote in text for text in texts)] == []
    assert set(different.values()) == {name for name in vars(test_differences) if name.startswith("of_")}


@pytest.mark.parametrize("number", QUOTING)
def test_unrunnable_seed_is_quoted_by_no_test(shared_folder: Path, number: str) -> None:
    silent = [each for each in statements(shared_folder, number) if is_in(NOTHING_TO_RUN[number], each)]
    assert len(silent) == len(NOTHING_TO_RUN[number])
    assert not [each.text for each in silent if is_in(quoted(number), each)]


@pytest.mark.parametrize("number", QUOTING)
def test_runnable_code_and_its_test_exist(shared_folder: Path, number: str) -> None:
    assert {*WHOLE[number]} <= {(each.heading, each.block) for each in statements(shared_folder, number)}
    for module, test in WHOLE[number].values():
        assert callable(getattr(module, test))


def test_every_module_of_statements_is_looked_at() -> None:
    written = {path.stem for path in Path(__file__).parent.glob("test_statements_*.py")}
    assert written == {module.__name__.rpartition(".")[2] for modules in QUOTING.values() for module in modules}
