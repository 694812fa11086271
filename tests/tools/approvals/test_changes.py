"""A call of which its approver has changed a part."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field, Json, RootModel, field_serializer, field_validator

from ez_ptc._sync import run_coroutine
from ez_ptc.messages import PendingCall
from ez_ptc.tools.decorators import ez_tool


class Raised(BaseModel):
    amount: int
    secret: int = Field(5, exclude=True)

    @field_validator("amount")
    @classmethod
    def with_tax(cls, amount: int) -> int:
        return amount + 1


@pytest.mark.parametrize(
    ("annotation", "sent", "runs"),
    [
        (Raised, {"amount": 1, "secret": 9}, Raised.model_construct(amount=2, secret=9)),
        (Annotated[int, AfterValidator(lambda value: value * 2)], 4, 8),
        (Json[list[int]], "[1]", [1]),
        (dict[tuple[int, int], int], {"[1, 2]": 3}, {(1, 2): 3}),
    ],
)
def test_unchanged_arguments_run_as_shown(annotation: object, sent: object, runs: object) -> None:
    ran: list[object] = []

    def take(it: Any, note: str = "") -> None:  # noqa: ANN401 - any value may come
        """Take it."""
        ran.append((it, note))

    take.__annotations__ = {"it": annotation, "note": str, "return": None}
    tool = ez_tool(take, requires_approval=True)

    def approve(call: PendingCall) -> bool:
        assert isinstance(call.arguments, dict)
        call.arguments["note"] = "seen"
        return True

    tool.call({"it": sent}, approve=approve)
    run_coroutine(partial(tool.acall, {"it": sent}, approve=approve))

    assert ran == [(runs, "seen")] * 2


class Odd(BaseModel):
    """A record that is written otherwise than it is."""

    amount: int = Field(exclude=True)
    to: str = Field(alias="for")

    @field_serializer("to")
    def hide(self, to: str) -> str:
        """Write somebody else."""
        return "nobody"


@dataclass
class Around:
    """A record around it."""

    inner: list[Odd]


class Rooted(RootModel[dict[str, Odd]]):
    """A record without a name of its own."""


ODD = {"amount": 500, "for": "Eve"}


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        (Odd, ODD),
        (list[Odd], [ODD]),
        (Around, {"inner": [ODD]}),
        (dict[str, Around], {"a": {"inner": [ODD]}}),
        (Rooted, {"a": ODD}),
    ],
)
def test_approver_sees_all_arguments_of_any_class(kind: Any, sent: object) -> None:  # noqa: ANN401 - any type
    def act(order: Any) -> str:  # noqa: ANN401 - it is annotated below
        """Do it."""
        return repr(order)

    act.__annotations__["order"] = kind
    asked: list[object] = []
    tool = ez_tool(requires_approval=True)(act)
    ran = tool.call({"order": sent}, approve=lambda call: asked.append(call.arguments) or True)
    assert asked == [{"order": sent}]
    assert "500" in str(ran)
    assert "Eve" in str(ran)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("shown", "edited"), [(True, 1), (0, False), ([1], [True]), ({"all": False}, {"all": 0})])
def test_edited_truth_value_is_what_runs(shown: object, edited: object, *, in_place: bool) -> None:
    ran: list[object] = []

    @ez_tool(requires_approval=True)
    def take(it: Any) -> None:  # noqa: ANN401 - any value may come
        """Take it."""
        ran.append(it)

    def approve(call: PendingCall) -> object:
        assert call.arguments == {"it": shown}
        if not in_place:
            return {"it": edited}
        call.arguments["it"] = edited
        return True

    take.call({"it": shown}, approve=approve)

    assert repr(ran) == repr([edited])


def test_tool_shares_no_object_with_its_approver() -> None:
    answer: dict[str, Any] = {"it": [[1]]}

    @ez_tool(requires_approval=True)
    def take(it: Any) -> Any:  # noqa: ANN401 - any value is passed on as it is
        """Take it."""
        it[0].append(2)
        return it

    assert take.call({"it": []}, approve=lambda call: answer) == [[1, 2]]
    assert answer == {"it": [[1]]}
