"""What a docstring says of a function and of its parameters, in each style."""

from inspect import cleandoc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.schema.annotations.docstrings import docstring_of, parameter_texts, prose, result_names

GOOGLE = """
    Weigh a parcel.

    The scale is tared first,
    and again afterwards.

    Args:
        number: Where it is, e.g. "A-17"
        unit (str, optional): Unit of weight - "g" or "kg".
            Defaults to "g".

    Returns:
        dict: weight and unit

    Raises:
        ValueError: when there is none
"""
NUMPY = """
    Weigh a parcel.

    The scale is tared first, and again afterwards.

    Parameters
    ----------
    number : str
        Where it is, e.g. "A-17"
    unit : str, optional
        Unit of weight - "g" or "kg".
        Defaults to "g".

    Returns
    -------
    dict
        weight and unit

    Notes
    -----
    Not for live animals.
"""
SPHINX = """
    Weigh a parcel.

    The scale is tared first, and again afterwards.

    :param number: Where it is, e.g. "A-17"
    :param str unit: Unit of weight - "g" or "kg".
        Defaults to "g".
    :returns: weight and unit
    :raises ValueError: when there is none
"""


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_each_style_gives_prose_and_parameters(docstring: str) -> None:
    docstring = cleandoc(docstring)

    assert prose(docstring) == "Weigh a parcel.\n\nThe scale is tared first, and again afterwards."
    assert parameter_texts(docstring) == {
        "number": 'Where it is, e.g. "A-17"',
        "unit": 'Unit of weight - "g" or "kg". Defaults to "g".',
    }


@pytest.mark.parametrize("separator", ["--", "-", "–", ":"])
@pytest.mark.parametrize("header", ["Arguments:", "Keyword arguments:", "Args:"])
@pytest.mark.parametrize("margin", ["", "    "])
def test_entries_with_dashes_or_no_indentation_are_read(separator: str, header: str, margin: str) -> None:
    entries = f"{margin}number {separator} Where it is\n{margin}unit (str) {separator} Unit: g - or kg"
    docstring = f"Weigh a parcel.\n\n{header}\n{entries}\n\nNot for live animals."
    assert parameter_texts(docstring) == {"number": "Where it is", "unit": "Unit: g - or kg"}
    assert prose(docstring) == "Weigh a parcel.\n\nNot for live animals."


@pytest.mark.parametrize(
    "kind", ["dict[str: int]", "Literal['a: b']", "{str: int}, optional", "default: 5", "list of (a: b)"]
)
@pytest.mark.parametrize("separator", [": ", " : ", " - ", "\N{FULLWIDTH COLON}"])
def test_colon_in_a_type_hides_no_description(kind: str, separator: str) -> None:
    docstring = f"Weigh a parcel.\n\nArgs:\n    number: Where it is\n    unit ({kind}){separator}Unit: g (or kg)"
    assert parameter_texts(docstring) == {"number": "Where it is", "unit": "Unit: g (or kg)"}


@pytest.mark.parametrize(
    "title",
    [
        "## Args",
        "### Parameters:",
        "# Arguments",
        "**Args:**",
        "**Args**:",
        "**Parameters**",
        "Args :",
        "Inputs:",
        "参数:",
    ],
)
@pytest.mark.parametrize(
    "entries",
    [
        "- `number` (str): Where it is\n- `unit`: Unit: g or kg",
        "* **number** (*str*): Where it is\n* **unit:** Unit: g or kg",
        "    number: Where it is\n    unit (str): Unit: g or kg",
        "    'number' = Where it is\n    unit -> Unit: g or kg",
        "    1. number str: Where it is\n    2. unit {g, kg}: Unit: g or kg",
        "    number  (str): Where\n    it is\n    unit\n        (str): Unit: g or kg",
        "number: Where it is\nunit='g': Unit: g or kg",
    ],
)
def test_titles_and_entries_are_read_in_any_markup(title: str, entries: str) -> None:
    docstring = f"Weigh a parcel.\n\n{title}\n{entries}\n\nNot for live animals."
    assert parameter_texts(docstring) == {"number": "Where it is", "unit": "Unit: g or kg"}
    assert prose(docstring) == "Weigh a parcel.\n\nNot for live animals."


def test_markdown_sections_end_at_the_next_heading() -> None:
    entries = "\n\n- `a`: one\n\n- `b` (int): two"
    docstring = f"Add.\n\n## Args{entries}\n\n## Returns\n\nThe sum.\n\n- as a number\n\n## Limits\n\nNone."
    assert parameter_texts(docstring) == {"a": "one", "b": "two"}
    assert prose(docstring) == "Add.\n\n## Limits\n\nNone."
    assert parameter_texts("Add.\n\n**Args**\n\n*a*\n    one\n*b*\n    two") == {"a": "one", "b": "two"}


@pytest.mark.parametrize(
    "fields",
    [
        ":param a: one\n:param dict[str, int] b: two\nand more",
        "@param {int} a - one\n@param b two\n  and more\n@return: three",
        ":param int a: one\n:type a: int\n:param *b:two and more\n:raises ValueError: never",
        "@param a: one\n@type a: int\n@param b: two\nand more",
    ],
)
def test_fields_are_read_with_types_and_without_colons(fields: str) -> None:
    docstring = f"Add.\n\n{fields}\n\nSlowly."
    assert parameter_texts(docstring) == {"a": "one", "b": "two and more"}
    assert prose(docstring) == "Add.\n\nSlowly."


@pytest.mark.parametrize(
    "section",
    [
        "Args:\n    They are described in the manual.",
        "For example::\n\n    add(1, 2)",
        "Inputs:\n    a list of numbers, separated by commas",
        "Parameters\n----------\nThey are described in the manual.",
    ],
)
def test_section_without_readable_entries_is_prose(section: str) -> None:
    docstring = f"Add.\n\n{section}"
    assert prose(docstring).split() == docstring.split()


def test_type_without_a_name_in_returns_hinders_nothing() -> None:
    docstring = "Add.\n\nParameters\n==========\na: int\n    one\n\nReturns\n-------\n: :py:class:`int`\n    The sum"
    assert (parameter_texts(docstring), prose(docstring)) == ({"a": "one"}, "Add.")


def test_entries_may_have_fullwidth_colons() -> None:
    docstring = "量る。\n\nArgs:\n    number\N{FULLWIDTH COLON}番号\n    unit \N{FULLWIDTH COLON} 単位"
    assert parameter_texts(docstring) == {"number": "番号", "unit": "単位"}


def test_prose_directly_below_a_title_is_kept() -> None:
    docstring = "Weigh.\n\nParameters:\nThey are described elsewhere: ask."
    assert (parameter_texts(docstring), prose(docstring)) == ({}, "Weigh.\n\nThey are described elsewhere: ask.")


def test_docstring_may_begin_with_its_section() -> None:
    def indented(number: str) -> None:
        """
        Args:
            number: Where it is
        """

    def first_line(number: str) -> None:
        """Args:
        number: Where it is
        """

    for function in (indented, first_line):
        docstring = docstring_of(function)
        assert (parameter_texts(docstring), prose(docstring)) == ({"number": "Where it is"}, "")


def test_one_paragraph_is_itself() -> None:
    assert prose("Weigh a parcel.") == "Weigh a parcel."
    assert parameter_texts("Weigh a parcel.") == {}


def test_missing_docstring_gives_no_description() -> None:
    assert prose("") == ""
    assert parameter_texts("") == {}


def test_a_paragraph_over_several_lines_is_joined() -> None:
    assert prose("Weigh a parcel\nthat is in store.\n\nTwice.") == "Weigh a parcel that is in store.\n\nTwice."


def test_lists_and_code_keep_their_lines() -> None:
    docstring = "Ship it.\n\n- by air\n- by sea\n\n    ship(1)\n    ship(2)"

    assert prose(docstring) == docstring


def test_prose_after_a_section_is_kept() -> None:
    assert prose("Ship it.\n\nArgs:\n    to: where\n\nTakes a week.") == "Ship it.\n\nTakes a week."


@pytest.mark.parametrize("title", ["Example", "Examples", "Note", "Yields", "See Also", "Todo", "Warning"])
def test_sections_that_are_not_about_parameters_are_cut_too(title: str) -> None:
    assert prose(f"Ship it.\n\n{title}:\n    something else\n") == "Ship it."


def test_word_before_colon_is_no_section() -> None:
    assert prose("Returns: the number of boxes") == "Returns: the number of boxes"


def test_several_names_of_one_entry_share_its_text() -> None:
    docstring = "Add.\n\nParameters\n----------\na, b : int\n    What to add.\n*rest\n    More."

    assert parameter_texts(docstring) == {"a": "What to add.", "b": "What to add.", "rest": "More."}


@pytest.mark.parametrize(
    "docstring",
    [
        "Add.\n\nArgs:\n    a: one\n    b: two\n\nRaises:\n    If there is none.",
        "Add.\n\nArgs:\n    a: one\n    c\n    b: two\n",
        "Add.\n\nArgs:\n    a: one\n    c\n\n    b: two\n",
        "Add.\n\nargs:\n    - a: one\n    - `b` (int): two\n",
        "Add.\n\nArgs:\n    a: one\n\nKeyword Args:\n  b: two\n",
        "Add.\n\n```\nArgs:\n    a: never\n```\n\nArgs:\n    a: one\n    b: two\n",
        "Add.\n\nParameters\n-----\na : int\n    one\nb\n    two\n",
        "Add.\n\n:param a: one\n:param c\n:param b: two\n:returns three\n",
    ],
    ids=["a section", "a bare entry", "a gap", "bullets", "two sections", "code", "a short line", "a bare field"],
)
def test_malformed_docstring_section_spoils_no_other(docstring: str) -> None:
    assert parameter_texts(docstring) == {"a": "one", "b": "two"}


@pytest.mark.parametrize("fence", ["```", "~~~"])
@pytest.mark.parametrize("inner", ["Args:\n        amount: euros", "Args\n    ----\n    amount\n        euros"])
def test_sections_in_a_code_block_stay_in_it(fence: str, inner: str) -> None:
    example = f'{fence}python\ndef pay(amount):\n    """Pay.\n\n    {inner}\n    """\n{fence}'
    docstring = f"Pay.\n\nArgs:\n    amount: Cents, never euros.\n\n{example}"
    assert parameter_texts(docstring) == {"amount": "Cents, never euros."}
    assert prose(docstring).split() == ["Pay.", *example.split()]


def test_heading_in_a_code_block_ends_no_section() -> None:
    docstring = "Add.\n\n## Returns\n\n```python\n# comment\nadd(1)\n```\n\n## Limits\n\nNone."
    assert prose(docstring) == "Add.\n\n## Limits\n\nNone."


def test_fence_without_an_end_hides_no_section() -> None:
    assert parameter_texts("Add.\n\n```\nadd(1)\n\nArgs:\n    a: one") == {"a": "one"}


def test_names_of_returned_values_are_not_read_from_code() -> None:
    assert result_names("Look.\n\n```\nReturns:\n    a (int): One.\n```") == {}


@pytest.mark.parametrize(
    "docstring",
    [
        "Set up.\n\nThe config looks like\n\n    params:\n        mode: fast",
        "Set up. The config looks like::\n\n    params:\n        mode: fast",
        "Set up. The config looks like:\n    params:\n        mode: fast",
    ],
)
def test_indented_sample_below_prose_is_no_section(docstring: str) -> None:
    assert parameter_texts(docstring) == {}
    assert prose(docstring).split() == docstring.split()
    assert parameter_texts(f"{docstring}\n\nArgs:\n    mode: How hard.") == {"mode": "How hard."}


def test_indented_sections_below_the_summary_are_read() -> None:
    docstring = "Add.\n\n    Args:\n        a: one\n\n    Keyword Args:\n        b: two\n\nSlowly."
    assert (parameter_texts(docstring), prose(docstring)) == ({"a": "one", "b": "two"}, "Add.\n\nSlowly.")


def test_first_section_with_a_text_for_a_parameter_wins() -> None:
    docstring = "Add.\n\nAttributes:\n    a: zero\n\nArgs:\n    a: one\n    b:\n\nParams:\n    a: two\n    b: three"
    assert parameter_texts(docstring) == {"a": "one", "b": "three"}


@pytest.mark.parametrize("title", ["**Note:**", "## Notes", "### Example", "**Warning**", "## Methods", "# See Also"])
def test_markdown_sections_about_anything_else_are_prose(title: str) -> None:
    docstring = f"Delete a record.\n\n{title}\n\n```\ndelete(1)\n```\n\nAsk first.\n\nNever pass 0."
    assert prose(docstring) == docstring


@pytest.mark.parametrize("title", ["**Returns:**", "**Raises**", "**Yields**:"])
def test_bold_section_of_results_ends_at_the_next_prose(title: str) -> None:
    section = f"{title}\n\nThe sum,\nrounded.\n\n- as a number\n\n    - exactly"
    assert prose(f"Add.\n\n{section}\n\nNever pass 0.\n\nAsk first.") == "Add.\n\nNever pass 0.\n\nAsk first."


def test_entry_with_a_deeply_nested_type_is_read() -> None:
    docstring = "Add.\n\nArgs:\n    x: The x.\n    y (Callable[[f(a(b))]]): The y.\n    z (int): The z."
    assert parameter_texts(docstring) == {"x": "The x.", "y": "The y.", "z": "The z."}


PIECES = st.sampled_from(
    [
        "Args:",
        "Parameters",
        "----------",
        ":param x:",
        ":param",
        "@param y: z",
        "Returns:",
        "    x: a",
        "    x (int): b",
        "",
    ]
)


@given(st.lists(PIECES | st.text(max_size=8), max_size=8).map("\n".join))
def test_any_text_can_be_a_docstring(text: str) -> None:
    """Nothing of the prose is made up: every word of it is in the docstring."""
    docstring = cleandoc(text)

    assert [word for word in prose(docstring).split() if word not in docstring] == []
    assert all(parameter_texts(docstring).values())
    assert all(name in docstring for name in result_names(docstring))


@pytest.mark.parametrize(
    ("docstring", "names"),
    [
        (
            "Look.\n\nReturns:\n    a (int): One.\n    b-c (List[str]): Two,\n        on two lines.",
            {"a": "int", "b-c": "List[str]"},
        ),
        ("Look.\n\nReturns:\n    - `a` (int): One.\n    MA(5) (float): Two.", {"a": "int", "MA(5)": "float"}),
        ("Look.\n\nReturns\n-------\na : int\n    One.\nb : str", {"a": "int", "b": "str"}),
        ("Look.\n\nReturns:\n    int: One.", {}),
        ("Look.\n\nReturns: a (int): One.", {}),
        ("Look.\n\nArgs:\n    a (int): One.", {}),
        ("Returns:", {}),
        ("", {}),
    ],
)
def test_names_of_returned_values_are_read(docstring: str, names: dict[str, str]) -> None:
    assert result_names(docstring) == names
