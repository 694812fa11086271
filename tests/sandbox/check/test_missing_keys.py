"""A key that a record lacks is found in a related record of the program, or in what another tool returns."""

from collections.abc import Callable
from typing import TypedDict

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox

CORRECTED = "Run this corrected program instead, if it solves the task:\n```python\n"


class Parcel(TypedDict):
    """A parcel."""

    parcel_id: str
    customer_id: int
    city: str


class Tracking(TypedDict):
    """Where a parcel is."""

    parcel_id: str
    days_late: int


class Customer(TypedDict):
    """A customer."""

    customer_id: int
    mail: str


class Rate(TypedDict):
    """What a kilogram costs."""

    euros: float


def list_parcels() -> list[Parcel]:
    """List parcels."""
    return [
        {"parcel_id": "P1", "customer_id": 7, "city": "Graz"},
        {"parcel_id": "P2", "customer_id": 7, "city": "Bern"},
    ]


def track_parcel(parcel_id: str) -> Tracking:
    """Track one parcel."""
    return {"parcel_id": parcel_id, "days_late": int(parcel_id[1:])}


def get_customer(customer_id: int) -> Customer:
    """Get one customer."""
    return {"customer_id": customer_id, "mail": f"{customer_id}@example.com"}


def get_rate(city: str) -> Rate:
    """Get what a kilogram to a city costs."""
    return {"euros": len(city) / 2}


def refund(parcel_id: str, euros: float) -> str:
    """Refund a parcel."""
    return f"{parcel_id}: {euros}"


READERS: list[Callable[..., object]] = [list_parcels, track_parcel, get_customer, get_rate]


def toolkit_of(sandbox: ProcessSandbox, *, declared: bool) -> Toolkit:
    readers = [ez_tool(reader, read_only=declared or None) for reader in READERS]
    return Toolkit([*readers, ez_tool(refund)], sandbox=sandbox)


def failure_of(toolkit: Toolkit, code: str) -> str:
    result = toolkit.execute(code, 20)
    assert not result.success
    return result.error or ""


LOOP = "for parcel in list_parcels():\n    "
SHOW = "def show(parcel):\n    late = track_parcel(parcel['parcel_id'])\n    "


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(
    ("code", "corrected"),
    [
        (
            f"{LOOP}result = track_parcel(parcel['parcel_id'])\n    print(result['city'])",
            f"{LOOP}result = track_parcel(parcel['parcel_id'])\n    print(parcel['city'])",
        ),
        (
            f"{LOOP}customer = get_customer(parcel['customer_id'])\n    print(get_rate(customer['city']))",
            f"{LOOP}customer = get_customer(parcel['customer_id'])\n    print(get_rate(parcel['city']))",
        ),
        (  # the two have no key in common: one is passed to the call of the other
            f"{LOOP}rate = get_rate(city=parcel['city'])\n    refund(rate['parcel_id'], rate['euros'])",
            f"{LOOP}rate = get_rate(city=parcel['city'])\n    refund(parcel['parcel_id'], rate['euros'])",
        ),
        (
            f"{SHOW}print(late['city'], late['city'])\n\nshow(list_parcels()[0])",
            f"{SHOW}print(parcel['city'], parcel['city'])\n\nshow(list_parcels()[0])",
        ),
    ],
)
def test_key_of_a_related_record_is_read_from_it(
    sandbox: ProcessSandbox, code: str, corrected: str, *, declared: bool
) -> None:
    toolkit = toolkit_of(sandbox, declared=declared)
    failed = toolkit.execute(code, 20)
    told = toolkit.answer(code, failed, continues=True)
    assert f"{CORRECTED}{corrected}\n```" in told
    assert "is in parcel: parcel[" in told
    assert toolkit.execute(corrected, 20, after=failed).success


@pytest.mark.parametrize(
    "code",
    [
        # another parcel
        "first = track_parcel('P2')\nparcel = list_parcels()[0]\nprint(first['city'])",
        # the same id alone says nothing
        "first = track_parcel('P1')\nparcel = list_parcels()[0]\nprint(first['city'])",
        # two variables have it
        f"{LOOP}row = dict(parcel)\n    late = track_parcel(row['parcel_id'] or parcel['city'])\n    late['city']",
        # the variable is of another round of the loop, or of another loop
        f"late = None\n{LOOP}if not late: late = track_parcel(parcel['parcel_id'])\n    else: late['city']",
        f"{LOOP}if parcel['city'] == 'Graz': late = track_parcel(parcel['parcel_id'])\n    else: late['city']",
        f"all = []\n{LOOP}late = track_parcel(parcel['parcel_id'])\n    all += [late]\nfor late in all: late['city']",
        f"parcel = list_parcels()[1]\nlate = track_parcel(parcel['parcel_id'])\n{LOOP}late['city']",
        # no tool, no identity
        "prices = {'Graz': 2}\nnames = {'Bern': 'b'}\nprint(names['Graz'])",
        # the variable is gone when the other function runs
        f"{SHOW}return late\n\nprint(show(list_parcels()[0])['city'])",
    ],
)
def test_key_of_no_or_two_related_records_is_not_proposed(sandbox: ProcessSandbox, code: str) -> None:
    toolkit = toolkit_of(sandbox, declared=False)
    told = toolkit.answer(code, toolkit.execute(code, 20), continues=True)
    assert "KeyError" in told
    assert CORRECTED not in told


@pytest.mark.parametrize(
    ("code", "corrected"),
    [
        (
            "print([row['parcel_id'] for row in list_parcels() if row['days_late'] > 1])",
            "print([row['parcel_id'] for row in list_parcels() if track_parcel(row['parcel_id'])['days_late'] > 1])",
        ),
        (
            "rows = list_parcels()\nprint(max(rows, key=lambda x: x['days_late']))",
            "rows = list_parcels()\nprint(max(rows, key=lambda x: track_parcel(x['parcel_id'])['days_late']))",
        ),
        (
            f"{LOOP}if parcel['days_late'] > 1:\n        refund(parcel['parcel_id'], 5)",
            f"{LOOP}if track_parcel(parcel['parcel_id'])['days_late'] > 1:\n        refund(parcel['parcel_id'], 5)",
        ),
    ],
)
def test_key_that_one_reader_returns_is_read_by_its_call(sandbox: ProcessSandbox, code: str, corrected: str) -> None:
    toolkit = toolkit_of(sandbox, declared=True)
    told = toolkit.answer(code, toolkit.execute(code, 20), continues=True)
    assert f"{CORRECTED}{corrected}\n```" in told


def test_tool_that_may_change_something_is_named_and_not_called(sandbox: ProcessSandbox) -> None:
    code = f"{LOOP}print(parcel['days_late'])"
    toolkit = toolkit_of(sandbox, declared=False)
    told = toolkit.answer(code, toolkit.execute(code, 20), continues=True)
    where = "'days_late' is in what track_parcel(parcel_id) returns, where parcel_id is parcel[\"parcel_id\"]"
    assert where in told
    assert CORRECTED not in told


def test_key_spelt_alike_comes_before_other_records(sandbox: ProcessSandbox) -> None:
    error = failure_of(toolkit_of(sandbox, declared=True), f"{LOOP}print(parcel['citty'])")
    assert "did you mean 'city'?" in error
    assert "is in" not in error


class Item(TypedDict):
    """A record whose names could be those of any other."""

    id: int
    code: str


class Person(TypedDict):
    """Someone with a phone."""

    id: int
    phone: str


def list_items() -> list[Item]:
    """List the items."""
    return [{"id": 7, "code": "A"}]


def get_person(id: int) -> Person:  # noqa: A002 - many services call it so
    """Get one person."""
    return {"id": id, "phone": f"+{id}"}


def get_carrier(parcel_id: str) -> Person:
    """Get who carries a parcel."""
    return {"id": 1, "phone": f"+{parcel_id}"}


def get_receiver(parcel_id: str) -> Person:
    """Get who receives a parcel."""
    return {"id": 2, "phone": f"+{parcel_id}"}


@pytest.mark.parametrize(
    ("readers", "code"),
    [
        ([list_items, get_person], "refund(list_items()[0]['phone'], 1)"),
        ([list_items, get_person], "for row in list_items():\n    refund(row['phone'], 1)"),
        ([list_parcels, get_carrier, get_receiver], f"{LOOP}refund(parcel['phone'], 1)"),
        ([list_parcels, get_carrier, get_receiver], f"{LOOP}print(parcel['phone'])"),
        ([list_parcels, get_receiver, get_carrier], f"{LOOP}refund(parcel['phone'], 1)"),
    ],
)
def test_reader_of_another_entity_or_one_of_two_is_not_proposed(
    sandbox: ProcessSandbox, readers: list[Callable[..., object]], code: str
) -> None:
    tools = [*(ez_tool(reader, read_only=True) for reader in readers), ez_tool(refund)]
    toolkit = Toolkit(tools, sandbox=sandbox)
    told = toolkit.answer(code, toolkit.execute(code, 20), continues=True)
    assert "'phone' is in what" in told
    assert CORRECTED not in told


def test_proposal_that_only_reads_is_whole_or_absent_within_the_bound(sandbox: ProcessSandbox) -> None:
    toolkit = toolkit_of(sandbox, declared=True)
    code = f"{'# why' * 100}\nprint([row['days_late'] for row in list_parcels()])"
    answers = {length: toolkit.as_tool(continues=True, max_text=length)(code) for length in range(300, 3_000, 150)}
    for length, answer in answers.items():
        assert len(answer) <= length
        assert "```\n" not in f"{answer}\n" or f"{CORRECTED}{'# why' * 100}\n" in answer
    assert CORRECTED in [*answers.values()][-1]
