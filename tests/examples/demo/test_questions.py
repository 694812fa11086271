"""Whether an answer is right: the database decides."""

from pathlib import Path

import pytest

from examples.demo.questions import QUESTIONS
from examples.demo.shop import Shop

SPENT, SHORT, ORDERED = QUESTIONS

UNITS = (
    ("Bookshelf", 6),
    ("Fountain pen", 2),
    ("Desk mat", 6),
    ("Office chair", 7),
    ("Desk lamp", 4),
    ("Monitor arm", 7),
    ("Cable box", 8),
    ("Ink bottle", 2),
)
RIGHT = " ".join(f"{name} {number}" for name, number in UNITS)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A new shop."""
    return Shop.create(tmp_path / "shop.db")


def test_the_database_knows_the_right_answers(shop: Shop) -> None:
    assert SPENT.expected(shop) == {"Dmitri Petrov": pytest.approx(1523.1)}
    assert SHORT.expected(shop) == {"Bookshelf": 4}
    assert len(ORDERED.expected(shop)) == 8


@pytest.mark.parametrize(
    "answer",
    [
        "Dmitri Petrov: 1523.1",
        "Dmitri Petrov spent the most, EUR 1,523.10.",
        "('Dmitri Petrov', 1523.1000000000001)",
        "With 1523.10 euros it is Dmitri Petrov",
        "{'customer_id': 4, 'name': 'Dmitri Petrov', 'total': 1523.1}",
    ],
)
def test_correct_answer_may_use_any_words(answer: str, shop: Shop) -> None:
    assert SPENT.is_answered(answer, shop)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "no answer",
        "Dmitri Petrov",
        "1523.1",
        "Ben Okafor: 1523.1",
        "Dmitri Petrov: 1523",
        "Dmitri Petrov: 11523.1",
        "Dmitri Petrov: 1523.15",
        "Dmitri Petrov: 1523.1, Ben Okafor: 348.6",
    ],
)
def test_a_wrong_answer_is_wrong(answer: str, shop: Shop) -> None:
    assert not SPENT.is_answered(answer, shop)


@pytest.mark.parametrize("answer", [RIGHT, "".join(f"{number} {name}, " for name, number in UNITS), str(dict(UNITS))])
def test_several_names_need_adjacent_numbers(answer: str, shop: Shop) -> None:
    assert ORDERED.is_answered(answer, shop)


@pytest.mark.parametrize(
    "answer",
    [
        RIGHT.replace("Ink bottle 2", ""),
        RIGHT + " Notebook 1",
        RIGHT.replace("Bookshelf 6", "Bookshelf 3 Bookshelf 3"),
        RIGHT.replace("Cable box 8", "Cable box 7"),
    ],
    ids=["one too few", "one too many", "not added up", "one number wrong"],
)
def test_one_wrong_name_or_number_fails(answer: str, shop: Shop) -> None:
    assert ORDERED.is_answered(RIGHT, shop)
    assert not ORDERED.is_answered(answer, shop)
