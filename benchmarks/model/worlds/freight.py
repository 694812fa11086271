"""A parcel service: parcels, customers, vans; three tools change something. Records are TypedDicts."""

from typing import Final, Literal, TypedDict

__all__ = [
    "TOOLS",
    "Customer",
    "Parcel",
    "Tracking",
    "Van",
    "effects",
    "get_customer",
    "get_rate",
    "list_parcels",
    "list_vans",
    "load_parcel",
    "refund_parcel",
    "send_email",
    "track_parcel",
]

effects: list[list[object]] = []


class Parcel(TypedDict):
    """A parcel."""

    parcel_id: str
    customer_id: int
    city: str
    weight_kg: float
    status: str


class Tracking(TypedDict):
    """Where a parcel is."""

    parcel_id: str
    last_place: str
    days_late: int


class Customer(TypedDict):
    """A customer."""

    customer_id: int
    name: str
    email: str
    plan: str


class Van(TypedDict):
    """A van at a depot."""

    van_id: str
    driver: str
    capacity_kg: float


_CUSTOMERS: Final = {
    11: ("Ines Alba", "ines@alba.example", "basic"),
    12: ("Jonas Berg", "jonas@berg.example", "premium"),
    13: ("Kira Costa", "kira@costa.example", "premium"),
    14: ("Luca Dorn", "luca@dorn.example", "basic"),
}
_PARCELS: Final = [
    ("P-101", 11, "Graz", 4.0, "moving", "Linz hub", 2),
    ("P-102", 12, "Bern", 12.5, "waiting", "Basel depot", 0),
    ("P-103", 13, "Graz", 0.5, "delivered", "Graz", 0),
    ("P-104", 11, "Turin", 7.5, "moving", "Milan hub", 5),
    ("P-105", 14, "Bern", 3.0, "lost", "Zurich hub", 9),
    ("P-106", 12, "Turin", 20.0, "waiting", "Basel depot", 1),
    ("P-107", 13, "Graz", 1.5, "moving", "Vienna hub", 0),
    ("P-108", 14, "Turin", 6.0, "delivered", "Turin", 0),
]
_RATES: Final = {"Graz": 2.0, "Bern": 3.5, "Turin": 2.5}
_VANS: Final = {
    "north": [("V-1", "Mara", 40.0), ("V-2", "Nils", 15.0)],
    "south": [("V-3", "Olga", 25.0), ("V-4", "Pia", 60.0), ("V-5", "Quim", 10.0)],
}


def list_parcels(status: Literal["waiting", "moving", "delivered", "lost"] | None = None) -> list[Parcel]:
    """List parcels, all or those with a status.

    Args:
        status: Only parcels with this status
    """
    return [
        {"parcel_id": number, "customer_id": customer, "city": city, "weight_kg": weight, "status": state}
        for number, customer, city, weight, state, _, _ in _PARCELS
        if status is None or state == status
    ]


def track_parcel(parcel_id: str) -> Tracking:
    """Tell where one parcel was last seen and how many days late it is.

    Args:
        parcel_id: The parcel's id, e.g. "P-110"
    """
    for number, _, _, _, _, place, late in _PARCELS:
        if number == parcel_id:
            return {"parcel_id": number, "last_place": place, "days_late": late}
    message = f"there is no parcel {parcel_id!r}"
    raise ValueError(message)


def get_customer(customer_id: int) -> Customer:
    """Get one customer.

    Args:
        customer_id: The customer's id
    """
    if customer_id not in _CUSTOMERS:
        message = f"there is no customer {customer_id}"
        raise ValueError(message)
    name, email, plan = _CUSTOMERS[customer_id]
    return {"customer_id": customer_id, "name": name, "email": email, "plan": plan}


def get_rate(city: str) -> float:
    """Get the price in euros for one kilogram sent to a city.

    Args:
        city: Name of the city, e.g. "Oslo"
    """
    return _RATES[city]


def list_vans(depot: str) -> list[Van]:
    """List the vans at a depot.

    Args:
        depot: "north" or "south"
    """
    return [{"van_id": van, "driver": driver, "capacity_kg": capacity} for van, driver, capacity in _VANS[depot]]


def load_parcel(parcel_id: str, van_id: str) -> bool:
    """Load one parcel into a van.

    Args:
        parcel_id: The parcel's id
        van_id: The van's id, e.g. "V-2"
    """
    track_parcel(parcel_id)
    effects.append(["load_parcel", parcel_id, van_id])
    return True


def refund_parcel(parcel_id: str, euros: float) -> str:
    """Pay money back for one parcel, and return the number of the payment.

    Args:
        parcel_id: The parcel's id
        euros: The amount
    """
    track_parcel(parcel_id)
    effects.append(["refund_parcel", parcel_id, float(euros)])
    return f"R-{900 + len(effects)}"


def send_email(to: str, subject: str) -> bool:
    """Send an email.

    Args:
        to: The email address
        subject: The subject
    """
    effects.append(["send_email", to, subject])
    return True


TOOLS: Final = (list_parcels, track_parcel, get_customer, get_rate, list_vans, load_parcel, refund_parcel, send_email)
