"""The tools of AgentDojo (MIT) over its own environments, read where the package is installed."""

import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any, Final, cast

from benchmarks.model.worlds.changes import list_changes

__all__ = ["TOOL_NAMES", "AgentDojo"]

_FOLDER: Final = "agentdojo.default_suites.v1.tools."
TOOL_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "banking": {
        "banking_client": "get_iban send_money schedule_transaction update_scheduled_transaction get_balance "
        "get_most_recent_transactions get_scheduled_transactions",
        "user_account": "get_user_info update_user_info",
    },
    "slack": {
        "slack": "get_channels add_user_to_channel read_channel_messages read_inbox send_direct_message "
        "send_channel_message get_users_in_channel invite_user_to_slack remove_user_from_slack"
    },
    "travel": {
        "travel_booking_client": "get_all_hotels_in_city get_hotels_prices get_rating_reviews_for_hotels "
        "get_all_restaurants_in_city get_cuisine_type_for_restaurants get_price_for_restaurants "
        "get_dietary_restrictions_for_all_restaurants get_all_car_rental_companies_in_city get_car_types_available "
        "get_car_price_per_day reserve_hotel reserve_restaurant reserve_car_rental get_flight_information"
    },
}
"""The tools of each suite that its tasks are about, by module."""
_TYPES: Final = {
    "bank_account": "banking_client.BankAccount",
    "user_account": "user_account.UserAccount",
    "slack": "slack.Slack",
    "hotels": "travel_booking_client.Hotels",
    "restaurants": "travel_booking_client.Restaurants",
    "car_rental": "travel_booking_client.CarRental",
    "flights": "travel_booking_client.Flights",
    "reservation": "travel_booking_client.Reservation",
    "user": "travel_booking_client.User",
}
# Where the package's own benchmark puts attacks.
_INJECTION: Final = re.compile(r"\{\w+\}")


class AgentDojo:
    """A suite's tools over a fresh environment.

    Raises ImportError if the package is not installed.
    """

    def __init__(self, suite: str) -> None:
        yaml = importlib.import_module("yaml")
        text = resources.files("agentdojo").joinpath(f"data/suites/{suite}/environment.yaml").read_text("utf-8")
        text = re.sub(r"^inbox:.*?(?=^\w)|^calendar:.*", "", text, flags=re.DOTALL | re.MULTILINE)
        self._start = yaml.safe_load(_INJECTION.sub("", text))
        self._parts: dict[str, Any] = {}
        self.begin()
        self.TOOLS: Sequence[Callable[..., object]] = [
            self._bind(getattr(importlib.import_module(_FOLDER + module), name))
            for module, names in TOOL_NAMES[suite].items()
            for name in names.split()
        ]

    def begin(self) -> None:
        """Make the environment new."""
        for name, state in self._start.items():
            if name in _TYPES:
                module, _, model = _TYPES[name].partition(".")
                self._parts[name] = getattr(importlib.import_module(_FOLDER + module), model).model_validate(state)
        self._before = self._state()

    @property
    def effects(self) -> list[list[object]]:
        """What differs from the new environment."""
        return list_changes(self._before, self._state())

    def _state(self) -> object:
        return {name: part.model_dump(mode="json") for name, part in self._parts.items()}

    def _bind(self, function: Callable[..., object]) -> Callable[..., object]:
        """Return a function of the arguments that a model gives; the parts of the environment are added."""
        signature = inspect.signature(function, eval_str=True)
        bound: dict[str, str] = {}
        for name, parameter in signature.parameters.items():
            for depends in getattr(parameter.annotation, "__metadata__", ()):
                bound[name] = cast("str", depends.env_dependency)

        def tool(*args: object, **kwargs: object) -> object:
            given = shown.bind(*args, **kwargs)
            parts = {name: self._parts[part] for name, part in bound.items()}
            return function(**parts, **given.arguments)

        shown = signature.replace(parameters=[each for name, each in signature.parameters.items() if name not in bound])
        annotations = {name: parameter.annotation for name, parameter in shown.parameters.items()}
        if shown.return_annotation is not inspect.Signature.empty:
            annotations["return"] = shown.return_annotation
        named: Any = tool
        named.__name__ = named.__qualname__ = function.__name__
        named.__doc__, named.__module__ = function.__doc__, function.__module__
        named.__signature__, named.__annotations__ = shown, annotations
        return tool
