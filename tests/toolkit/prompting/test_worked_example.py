from typing import Any, Literal, TypedDict

from ez_ptc import Tool, ez_tool
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
