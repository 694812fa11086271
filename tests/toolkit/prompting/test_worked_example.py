from typing import Any, Literal, TypedDict

import pytest

from ez_ptc import Tool, Toolkit, ez_tool
from ez_ptc.toolkit.prompting.worked_example import example_program

AnyTool = Tool[..., Any]


class WeatherResult(TypedDict):
    location: str
    temp: int


class ProductResult(TypedDict):
    id: int
    name: str


class Line(TypedDict):
    product_id: int
    quantity: int


class Order(TypedDict):
    id: int
    customer_id: int
    lines: list[Line]


class Customer(TypedDict):
    customer_id: int
    name: str


class Visit(TypedDict):
    date: str


@ez_tool
def get_weather(location: str) -> WeatherResult:
    """Get current weather for a location.

    Args:
        location: City and state, e.g. "San Francisco, CA"
    """
    raise NotImplementedError


@ez_tool
def search_products(query: str, limit: int = 5) -> list[ProductResult]:
    """Search the product catalog."""
    raise NotImplementedError


@ez_tool
async def fetch(key: str) -> int:
    """Fetch what is stored under a key."""
    raise NotImplementedError


@ez_tool
def list_orders(status: Literal["open", "sent"]) -> list[Order]:
    """List orders."""
    raise NotImplementedError


@ez_tool
def get_customer(customer_id: int) -> Customer:
    """Get a customer."""
    raise NotImplementedError


@ez_tool
def get_product(product_id: int) -> ProductResult:
    """Get a product."""
    raise NotImplementedError


def worked(*tools: AnyTool, shapes: bool = True) -> str:
    program = example_program(tools, with_shapes=shapes) or ""
    compile(program, "<example>", "exec")
    return program


def test_example_looks_up_references_in_nested_lists() -> None:
    assert worked(get_weather, list_orders, get_customer, get_product) == (
        "orders = list_orders('open')\n"
        "for order in orders:\n"
        '    for line in order["lines"]:\n'
        '        product = get_product(line["product_id"])\n'
        '        print(order["id"], product["name"])'
    )


def test_example_looks_up_references_of_rows() -> None:
    assert worked(get_customer, list_orders) == (
        "orders = list_orders('open')\n"
        "for order in orders:\n"
        '    customer = get_customer(order["customer_id"])\n'
        '    print(order["id"], customer["name"])'
    )


def test_the_example_goes_from_one_list_to_the_next() -> None:
    @ez_tool
    def list_customers(city: str) -> list[Customer]:
        """List customers."""
        raise NotImplementedError

    @ez_tool
    def list_visits(customer_id: int) -> list[Visit]:
        """List the visits of a customer."""
        raise NotImplementedError

    assert worked(list_visits, list_customers) == (
        "customers = list_customers('some city')\n"
        "for customer in customers:\n"
        '    visits = list_visits(customer["customer_id"])\n'
        "    for visit in visits:\n"
        '        print(customer["name"], visit["date"])'
    )


def test_the_example_loops_over_rows() -> None:
    assert worked(get_weather, search_products, fetch) == (
        "products = search_products('some query')\nfor product in products:\n    print(product[\"name\"])"
    )


def test_the_example_reads_a_key_of_a_record() -> None:
    assert worked(fetch, get_weather) == "weather = get_weather('San Francisco, CA')\nprint(weather[\"location\"])"


@ez_tool
def get_symbol_by_name(name: str) -> dict[str, str]:
    """Get the symbol of a company.

    Returns:
        symbol (str): The symbol.
    """
    raise NotImplementedError


@ez_tool
def get_stock_info(symbol: str) -> dict[str, Any]:
    """Get the details of a stock.

    Returns
    -------
    price : float
        The price.
    volume : float
        The volume.
    """
    raise NotImplementedError


@ez_tool
def list_channels() -> list[str]:
    """List the channels."""
    raise NotImplementedError


@ez_tool
def read_messages(channel: str) -> list[Visit]:
    """Read the messages of a channel."""
    raise NotImplementedError


def test_example_reads_keys_that_docstrings_name() -> None:
    text = Toolkit([get_stock_info, get_symbol_by_name], assist_tool_chaining=True).prompt()
    assert 'Read a key that a docstring names as r["key"]. Do NOT guess other keys' in text
    assert "not documented" not in text
    assert (
        "symbol_by_name = get_symbol_by_name('some name')\n"
        'stock_info = get_stock_info(symbol_by_name["symbol"])\n'
        'print(stock_info["price"])'
    ) in text


def test_keys_that_a_model_cannot_read_are_in_no_example() -> None:
    tools = [get_stock_info, get_symbol_by_name]
    for text in (Toolkit(tools).prompt(), Toolkit(tools, assist_tool_chaining=True).tool_prompt()):
        assert "What the functions return is not documented" in text
        assert "print(get_stock_info('some symbol'))" in text


def test_example_loops_over_listed_names() -> None:
    assert worked(list_channels, read_messages) == (
        "channels = list_channels()\n"
        "for channel in channels:\n"
        "    messages = read_messages(channel)\n"
        "    for message in messages:\n"
        '        print(channel, message["date"])'
    )


@pytest.mark.parametrize(
    ("returns", "entry"),
    [
        (dict[str, int], "user (dict): The user."),
        (dict[str, int], "The user's age."),
        (dict[str, int], "dict: The ages."),
        (float, "price (float): The price."),
        (str, "name (str): The name."),
    ],
)
def test_documented_value_without_keys_is_no_record(returns: object, entry: str) -> None:
    def get_thing(number: int) -> object:
        raise NotImplementedError

    get_thing.__annotations__["return"] = returns
    get_thing.__doc__ = f"Get a thing.\n\nReturns:\n    {entry}\n"
    text = Toolkit([ez_tool(get_thing)], assist_tool_chaining=True).prompt()
    assert "What the functions return is not documented" in text
    assert "print(get_thing(1))" in text


def test_example_prints_a_non_record_value() -> None:
    assert worked(fetch) == "result = fetch('some key')\nprint(result)"


def test_example_prints_result_of_unknown_shape_whole() -> None:
    assert worked(get_weather, shapes=False) == "print(get_weather('San Francisco, CA'))"


def test_the_example_hides_no_tool_behind_a_variable() -> None:
    @ez_tool(read_only=True)
    def product(product_id: int) -> ProductResult:
        """Get a product."""
        raise NotImplementedError

    program = worked(list_orders, product)

    assert "= product(line[" in program
    assert "    product = " not in program


def test_tool_with_non_identifier_name_is_in_no_example() -> None:
    @ez_tool(name="shop.search")
    def search(query: str) -> list[ProductResult]:
        """Search."""
        raise NotImplementedError

    assert worked(search) == ""
    assert worked(search, fetch) == "result = fetch('some key')\nprint(result)"


def test_example_finds_ids_by_name() -> None:
    class Company(TypedDict):
        id: int
        name: str

    @ez_tool
    def list_companies() -> list[Company]:
        """List companies."""
        raise NotImplementedError

    @ez_tool
    def list_visits(company_id: int) -> list[Visit]:
        """List the visits to a company."""
        raise NotImplementedError

    assert worked(list_companies, list_visits) == (
        "companies = list_companies()\n"
        "for company in companies:\n"
        '    visits = list_visits(company["id"])\n'
        "    for visit in visits:\n"
        '        print(company["name"], visit["date"])'
    )


def test_keyword_only_argument_is_passed_by_name() -> None:
    @ez_tool
    def list_orders(shop: str, *, year: int, limit: int = 5) -> list[Order]:
        """List the orders."""
        raise NotImplementedError

    @ez_tool
    def get_customer(*, customer_id: int) -> Customer:
        """Get a customer."""
        raise NotImplementedError

    assert example_program([list_orders], with_shapes=False) == "print(list_orders('some shop', year=1))"
    joined = example_program([list_orders, get_customer], with_shapes=True) or ""
    assert 'customer = get_customer(customer_id=order["customer_id"])' in joined


def test_key_of_another_type_is_no_reference() -> None:
    @ez_tool
    def list_orders() -> list[Order]:
        """List the orders."""
        raise NotImplementedError

    @ez_tool
    def get_customer(customer_id: str) -> Customer:
        """Get a customer by the text of its number."""
        raise NotImplementedError

    assert "get_customer" not in (example_program([list_orders, get_customer], with_shapes=True) or "")
