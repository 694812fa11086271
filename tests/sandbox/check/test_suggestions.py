"""Who asks for something in a way that there is not is shown the program that gets it in a way that there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypedDict

import pytest
from pydantic import with_config

from ez_ptc import Tool, Toolkit, ez_tool


@with_config(extra="forbid")
class Person(TypedDict):
    person_id: str
    name: str
    team: str
    rate: float


@with_config(extra="forbid")
class Claim(TypedDict):
    claim_id: int
    person_id: str
    euros: float


@with_config(extra="forbid")
class Team(TypedDict):
    name: str
    city: str


PEOPLE: list[Person] = [
    {"person_id": "E1", "name": "Ann", "team": "Sales", "rate": 10.0},
    {"person_id": "E2", "name": "Ben", "team": "Lab", "rate": 20.0},
]
CLAIMS: list[Claim] = [
    {"claim_id": 7, "person_id": "E1", "euros": 5.0},
    {"claim_id": 8, "person_id": "E2", "euros": 6.0},
    {"claim_id": 9, "person_id": "E1", "euros": 1.5},
]
TEAMS = {"Sales": "Rome", "Lab": "Bern"}
paid: list[int] = []


@ez_tool(read_only=True)
def list_people() -> list[Person]:
    """List the people."""
    return PEOPLE


@ez_tool(read_only=True)
def list_claims(least: float = 0) -> list[Claim]:
    """List the claims of at least so many euros."""
    return [claim for claim in CLAIMS if claim["euros"] >= least]


@ez_tool(read_only=True)
def get_hours(project: str) -> dict[str, float]:
    """Get the hours of a project, by person."""
    return {"E1": 2.0, "E2": 3.0} if project == "P" else {}


@ez_tool(read_only=True)
def get_members(team: str) -> list[Person]:
    """Get the people of a team."""
    return [person for person in PEOPLE if person["team"] == team]


@ez_tool(read_only=True)
def get_team(team: str) -> Team:
    """Get a team."""
    return {"name": team, "city": TEAMS[team]}


@ez_tool
def pay_claim(claim_id: int) -> bool:
    """Pay a claim."""
    if not any(claim["claim_id"] == claim_id for claim in CLAIMS):
        raise LookupError(claim_id)
    paid.append(claim_id)
    return True


@ez_tool
def pay_all(limit: int = 9) -> list[Claim]:
    """Pay all claims."""
    raise NotImplementedError


@ez_tool(read_only=True)
def get_shifts(person_id: str) -> list[str]:
    """Get somebody's shifts."""
    return ["early"] * (int(person_id[1:]) + 1)


@ez_tool(read_only=True)
def get_rota(kind: Literal["all", "own"] = "all", person_id: str | None = None) -> str:
    """Get the rota, of all shifts or of one's own."""
    return f"{kind} {person_id}"


@with_config(extra="forbid")
class Shift(TypedDict):
    shift_id: str


@ez_tool
def start_shifts(team: str) -> list[Shift]:
    """Start the shifts of a team."""
    raise NotImplementedError


@ez_tool(read_only=True)
def get_shift_hours(shift_id: str) -> float:
    """Get how long a shift is."""
    raise LookupError(shift_id)


@ez_tool
def close_team(team: str) -> Team:
    """Close a team."""
    raise NotImplementedError


@ez_tool
def raise_rate(person_id: str, by: float) -> bool:
    """Raise somebody's rate."""
    raise LookupError(person_id)


@ez_tool(read_only=True)
def get_holidays(person_id: str) -> list[str]:
    """Get somebody's holidays."""
    raise LookupError(person_id)


TOOLS = (
    list_people, list_claims, get_hours, get_members, get_team, pay_claim, close_team, raise_rate, get_holidays,
    pay_all, get_shifts, get_rota, start_shifts, get_shift_hours,
)  # fmt: skip


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit(TOOLS) as made:
        yield made


def proposed(toolkit: Toolkit, code: str) -> str:
    found = re.search(r"```python\n(.*)\n```", toolkit.execute(code).error_output, re.DOTALL)
    return found[1] if found else ""


ANSWERS: dict[str, tuple[str, str]] = {
    "a filter that is a key of the rows": ("print(len(list_people(team='Lab')))", "1\n"),
    "a filter beside one that there is": ("print([c.claim_id for c in list_claims(2, person_id='E1')])", "[7]\n"),
    "a filter by what other rows have": ("print([c.claim_id for c in list_claims(team='Sales')])", "[7, 9]\n"),
    "a filter by what another tool gets": ("print([p.name for p in list_people(city='Bern')])", "['Ben']\n"),
    "a filter in a loop of the same name": (
        "for person in list_people():\n    print(len(list_claims(person_id=person['person_id'])))",
        "2\n1\n",
    ),
    "numbered rows": ("for i, claim in enumerate(list_claims(5)):\n    print(i, claim['name'])", "0 Ann\n1 Ben\n"),
    "a row called as the library calls its own": (
        "for item in list_claims():\n    print(item['name'])",
        "Ann\nBen\nAnn\n",
    ),
    "a text with a quote": ('print(len(list_people(name="O\'Brien")))', "0\n"),
    "in a text in braces": ("print(f\"{len(list_people(team='Lab'))}\")", "1\n"),
    "a comparison in a filter's name": ("print([p.name for p in list_people(rate__gt=10)])", "['Ben']\n"),
    "a bound in a filter's name": ("print([c.claim_id for c in list_claims(max_euros=5)])", "[7, 9]\n"),
    "a key that a tool gets": ("for p in list_people():\n    print(len(p['shifts']))", "2\n3\n"),
    "a list by another name": ("print(len(get_all_claims()))", "3\n"),
    "a list that no tool returns": ("print([team.city for team in list_teams()])", "['Bern', 'Rome']\n"),
    "a set of records": ("seen = set()\nfor p in list_people():\n    seen.add(p)\nprint(len(seen))", "2\n"),
    "a set of a tool's records": ("seen = set()\nseen.update(list_claims())\nprint(sorted(seen))", "[7, 8, 9]\n"),
    "a set of records by name": ("claims = list_claims()\nprint(len(\n    set(claims)\n))", "3\n"),
    "a file that there is not": (
        "import json\nwith open('data.json') as file:\n    data = json.load(file)\nprint(len(data['people']))",
        "",
    ),
}


@pytest.mark.parametrize(("code", "printed"), ANSWERS.values(), ids=ANSWERS.keys())
def test_wrongly_requested_value_is_read_by_proposal(toolkit: Toolkit, code: str, printed: str) -> None:
    result = toolkit.execute(proposed(toolkit, code))
    assert (result.error, result.output) == (None, printed)


@pytest.fixture(scope="module")
def undeclared() -> Iterator[Toolkit]:
    with Toolkit([Tool.from_function(tool.fn) for tool in TOOLS]) as made:
        yield made


@pytest.mark.parametrize("code", [code for code, _ in ANSWERS.values()], ids=ANSWERS.keys())
def test_without_declared_types_no_lookup_is_written(undeclared: Toolkit, code: str) -> None:
    error = undeclared.execute(code).error_output
    assert "```" not in error
    assert not re.search(r"^Hint:.*(next\(|for \w+ in|_\w+\(\w+\[)", error, re.MULTILINE)


NOTHING: dict[str, str] = {
    "a filter by nothing that rows have": "print(list_people(colour='red'))",
    "a filter of what may have an effect": "print(pay_all(person_id='E1'))",
    "a filter by what is called": "ids = ['Lab']\nprint(list_people(team=ids.pop()))",
    "a lookup by what is called": "print(get_name(close_team('Lab').person_id), list_people())",
    "an id from what may have an effect": "team = 'Lab'\nprint(get_shift_hours('X9'))",
    "a filter and another mistake": "print(list_claims('many', 3, team='Lab'))",
    "a getter that may have an effect": "team = 'Lab'\nprint(close_city(team))",
    "a getter of what nothing has": "print(get_colour(list_people()[0].person_id))",
    "a set whose rows are read": "s = set()\ns.update(list_people())\nfor p in s:\n    print(p.name)",
    "a set of records without an id": (
        "teams = set()\nfor p in list_people():\n    teams.add(get_team(p.team))\nprint(len(teams))"
    ),
    "a set of records beside an effect": "pay_claim(7)\nprint(len(set(list_people())))",
    "a set of texts": "s = set()\nfor p in list_people():\n    s.add(p.name)\nprint(len(s))",
    "values of a dict": "for hour in get_hours('P').values():\n    print(hour['rate'])",
}


@pytest.mark.parametrize("code", NOTHING.values(), ids=NOTHING.keys())
def test_ambiguous_mistake_proposes_nothing(toolkit: Toolkit, code: str) -> None:
    assert proposed(toolkit, code) == ""


def test_invented_id_is_explained_beside_wide_names(toolkit: Toolkit) -> None:
    result = toolkit.execute("wide, long = 10**5_000, 'x' * 10_000_000\nget_holidays('E77')")
    assert (result.error or "").startswith("LookupError: E77")
    assert "begin like this" in result.error_output


def test_names_called_by_earlier_program_are_not_proposed(toolkit: Toolkit) -> None:
    with toolkit.session() as session:
        assert session.execute("def pay(number):\n    return pay_claim(number)").success
        assert "```" not in session.execute("person_id = 'E1'\npay(7)\nprint(get_name(person_id))").error_output


def test_program_hiding_builtins_ends_as_usual(toolkit: Toolkit) -> None:
    result = toolkit.execute("import sys\ndel sys.modules['builtins']\nget_city(1)")
    assert "NameError" in (result.error or "")
    assert toolkit.execute("1 + 1").return_value == 2


OTHER_NAMES: dict[str, str] = {
    "the opposite": "active = ['Lab']\nfor team in inactive:\n    close_team(team)",
    "the opposite of two words": "valid_teams = ['Lab']\nfor team in invalid_teams:\n    close_team(team)",
    "the other end": "maximum_raise_of_all = 9.0\nraise_rate('E1', minimum_raise_of_all)",
    "another number": "office_number_1 = 'Lab'\nclose_team(office_number_2)",
}


@pytest.mark.parametrize("code", OTHER_NAMES.values(), ids=OTHER_NAMES.keys())
def test_effect_with_another_name_is_not_proposed(toolkit: Toolkit, code: str) -> None:
    assert proposed(toolkit, code) == ""


def test_effect_is_proposed_with_a_slip_corrected(toolkit: Toolkit) -> None:
    assert proposed(toolkit, "office = 'Lab'\nclose_team(ofice)") == "office = 'Lab'\nclose_team(office)"


def test_effectful_tool_is_not_proposed_as_lookup(toolkit: Toolkit) -> None:
    with Toolkit([list_people, close_team]) as made:
        assert "close_team(person" not in proposed(made, "print([p for p in list_people(city='Rome')])")


def test_call_with_effects_is_not_started_for_model(toolkit: Toolkit) -> None:
    result = toolkit.execute("raise_rate('E77', 2.5)")
    assert "person_id is in what list_people() returns: for item in list_people(): item" in (result.error or "")
    assert "```" not in result.error_output


class Ticket(TypedDict):
    id: int
    date: str


@ez_tool(read_only=True)
def list_people_of_town() -> list[Ticket]:
    """List what other things there are."""
    raise NotImplementedError


@ez_tool(read_only=True)
def list_all_open_tickets() -> list[Ticket]:
    """List open tickets."""
    raise NotImplementedError


@ez_tool
def close_open_ticket(id: int) -> bool:  # noqa: A002 - as tools name it
    """Close a ticket."""
    raise LookupError(id)


@ez_tool
def close_ticket(id: int) -> bool:  # noqa: A002 - as tools name it
    """Close a ticket of any kind."""
    raise LookupError(id)


@ez_tool
def move_open_ticket(date: str) -> bool:
    """Move the ticket of a day."""
    raise LookupError(date)


@pytest.mark.parametrize(
    ("code", "source"),
    [
        (
            "close_open_ticket(1)",
            'id is in what list_all_open_tickets() returns: for item in list_all_open_tickets(): item["id"]',
        ),
        ("close_ticket(1)", ""),
        ("move_open_ticket('2026-01-01')", ""),
    ],
)
def test_common_name_is_looked_for_among_equal_things_only(code: str, source: str) -> None:
    tools = [list_people_of_town, list_all_open_tickets, close_open_ticket, close_ticket, move_open_ticket]
    with Toolkit(tools) as made:
        assert (made.execute(code).error or "").partition("is in what")[1:] == source.partition("is in what")[1:]


def test_get_or_create_tool_is_not_proposed_as_reader(toolkit: Toolkit) -> None:
    class Account(TypedDict):
        account_id: int
        limit: float

    @ez_tool
    def get_or_create_account(person_id: str) -> Account:
        """Get somebody's account, and open one first where there is none."""
        raise NotImplementedError

    with Toolkit([list_people, get_or_create_account]) as made:
        assert proposed(made, "for p in list_people():\n    print(p['limit'])") == ""
        assert proposed(made, "for p in list_people():\n    print(get_limit(p.person_id))") == ""


def test_started_program_copies_known_arguments_only() -> None:
    @ez_tool(read_only=True)
    def get_pay(person_id: str, month: str, euros: float = 1) -> float:
        """Get somebody's pay."""
        raise LookupError(person_id)

    with Toolkit([list_people, get_pay, raise_rate]) as made:
        begun = "for item in list_people():\n    result = get_pay(month='2024-01', person_id=item[\"person_id\"])"
        assert proposed(made, "get_pay(month='2024-01', person_id='X9')") == begun
        assert proposed(made, "x = ['2024-01']\nget_pay('X9', x[0])") == ""
        assert proposed(made, "get_pay(person_id, '2024', raise_rate('E1', 2))") == ""


def test_keyword_only_argument_is_kept_in_proposal() -> None:
    @ez_tool(read_only=True)
    def list_staff(*, region: str) -> list[Person]:
        """List the staff of a region."""
        raise NotImplementedError

    with Toolkit([list_staff, list_claims]) as made:
        assert proposed(made, "for c in list_claims():\n    print(c['name'])") == ""


def test_name_bound_by_another_loop_is_not_proposed(toolkit: Toolkit) -> None:
    code = "for p in list_people():\n    print(p.name)\nfor c in list_claims():\n    print(c['rate'])"
    assert "print(p" not in proposed(toolkit, code).partition("list_claims")[2]


def test_variable_for_all_items_shadows_nothing() -> None:
    @ez_tool(read_only=True)
    def get_all() -> list[Person]:
        """Get all people."""
        return PEOPLE

    with Toolkit([get_all]) as made:
        assert proposed(made, "open('a.csv')") == "data = get_all()"


def test_started_program_calls_no_effect_for_all_rows(toolkit: Toolkit) -> None:
    paid.clear()
    assert proposed(toolkit, "pay_claim(1234)") == ""
    assert paid == []


def test_id_without_value_starts_with_its_source(toolkit: Toolkit) -> None:
    begun = 'for item in list_people():\n    result = get_holidays(item["person_id"])'
    assert proposed(toolkit, "print(get_holidays(person_id))") == begun
    assert proposed(toolkit, "print(get_holidays('E77'))") == begun


def test_started_program_uses_known_values() -> None:
    with Toolkit([get_members, get_holidays]) as made:
        begun = "for member in get_members('Lab'):\n    result = get_holidays(member[\"person_id\"])"
        assert proposed(made, "team = 'Lab'\nprint(get_holidays('E77'))") == begun
        assert proposed(made, "team = 'Lab'\nprint(get_holidays(person_id))") == begun
