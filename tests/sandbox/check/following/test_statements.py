"""A loop that fills a container is followed again for what it then reads; the rest of the program is not."""

from __future__ import annotations

import sys

import pytest

from ez_ptc.sandbox.check.following.facts import read_facts
from ez_ptc.sandbox.check.mistakes import parse_quietly
from ez_ptc.sandbox.check.rules.by_node import Rules
from ez_ptc.sandbox.check.signatures import Shapes

_TYPES = "[[],[0,0],[false,false],[`list`,3,[`record`,2,0,{`category`:`str`}]],[]]"
SHAPES = Shapes({"list_products": ("list_products() -> list", _TYPES, True)})
COUNTED = """
counts = {}
for product in list_products():
    counts[product["category"]] = counts.get(product["category"], 0) + 1
"""
# Too many steps to be followed twice.
LONG = "x = 1 + 1\n" * 400


def errors(program: str) -> list[str]:
    tree = parse_quietly(program)
    return [mistake.error for mistake in Rules(read_facts(tree), SHAPES, (), sys.maxsize).run(tree.body)]


def test_what_comes_after_a_loop_that_fills_a_dict_is_followed_once() -> None:
    assert errors(f"{COUNTED}{LONG}list_products()[0]['colour']") == ["KeyError: 'colour'"]


@pytest.mark.parametrize(
    "program",
    [
        "last = []\nfor n in range(3):\n    if last:\n        last[0].upper()\n    last.append(n)\n",
        "last = []\nwhile input():\n    for n in range(3):\n        last[0].upper()\n    last.append(1)\n",
        "last = []\ndef first():\n    return last[0].upper()\nfor n in range(3):\n    first()\n    last.append(1)\n",
    ],
)
def test_what_a_loop_reads_first_and_fills_later_is_known_in_it(program: str) -> None:
    assert errors(program) == ["AttributeError: 'int' object has no attribute 'upper'"]


def test_what_is_read_before_a_loop_that_fills_it_may_be_anything_that_it_puts_there() -> None:
    program = (
        "last = [1]\nfirst = last\ndef show():\n    print(last[0].upper())\nfor n in range(3):\n    last.append('a')\n"
    )
    assert errors(f"{program}show()") == []
    assert errors("last = [1]\nalias = last[0]\nfor n in range(3):\n    last.append('a')\nalias.upper()") == []
