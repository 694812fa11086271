"""Objects of one process: their copies, pickles, and fields of pydantic models that hold them."""

import copy
import gc
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from ez_ptc import (
    ExecutionResult,
    History,
    Journal,
    LLMPromptBuilder,
    LLMProvider,
    ProcessSandbox,
    ProgramEnded,
    Prompt,
    RayToolkit,
    Sandbox,
    Session,
    Tool,
    Toolkit,
    ToolResult,
    TurnUsage,
    ez_tool,
    llm,
)


@ez_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def _session(_: Path) -> Session:
    return Toolkit([add]).session()


MAKERS: dict[str, Callable[[Path], object]] = {
    "Toolkit": lambda _: Toolkit([add]),
    "Session": _session,
    "ProcessSandbox": lambda _: ProcessSandbox(),
    "Journal": lambda folder: Journal(folder / "runs.db"),
    "History": lambda folder: History(folder / "history.db"),
    "LLMPromptBuilder": lambda _: llm().toolkit(Toolkit([add])),
    "RayToolkit": lambda _: RayToolkit("shop:toolkit"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_object_of_a_process_is_never_pickled(name: str, tmp_path: Path) -> None:
    thing = MAKERS[name](tmp_path)

    with pytest.raises(TypeError, match=rf"^cannot pickle {name} objects: .*(each process|History)"):
        pickle.dumps([thing])


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copy_of_an_object_of_a_process_is_itself(
    name: str, duplicate: Callable[[object], object], tmp_path: Path
) -> None:
    thing = MAKERS[name](tmp_path)

    assert duplicate(thing) is thing


def test_bound_method_of_a_toolkit_names_the_toolkit() -> None:
    with Toolkit([add]) as toolkit, pytest.raises(TypeError, match="cannot pickle Toolkit objects"):
        pickle.dumps(toolkit.execute)


def test_journal_in_copied_settings_leaves_nothing_half_made(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        assert copy.deepcopy({"journal": journal})["journal"] is journal
        gc.collect()  # an exception of a half-made object's `__del__` would be a warning, and here an error


KEPT = [Toolkit, RayToolkit, Session, Journal, History, Sandbox, LLMProvider, LLMPromptBuilder, Prompt, Tool]
RESULTS = [ExecutionResult, ToolResult, ProgramEnded, TurnUsage]


@pytest.mark.parametrize("kept", [*KEPT, *RESULTS])
def test_public_object_is_a_field_of_a_pydantic_model(kept: type) -> None:
    model = create_model("Settings", __config__=ConfigDict(arbitrary_types_allowed=True), kept=(kept, ...))

    with pytest.raises(ValidationError, match="nstance of"):
        model(kept=3)


def test_field_of_a_pydantic_model_holds_the_object_itself() -> None:
    with Toolkit([add]) as shop:

        class Settings(BaseModel, arbitrary_types_allowed=True):
            toolkit: Toolkit = shop
            result: ExecutionResult

        settings = Settings(result=shop.execute("add(1, 2)"))

        assert settings.model_copy(deep=True).toolkit is shop
        assert settings.result.return_value == 3
