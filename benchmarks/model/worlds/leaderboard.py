"""The live classes of the Berkeley Function-Calling Leaderboard (`bfcl-eval`, Apache-2.0), over states of our own."""

import copy
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from benchmarks.model.worlds.changes import list_changes

__all__ = ["CLASSES", "Leaderboard"]

_FOLDER: Final = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code."
CLASSES: Final[Mapping[str, str]] = {
    "trading": "trading_bot.TradingBot",
    "messages": "message_api.MessageAPI",
    "car": "vehicle_control.VehicleControlAPI",
}
"""The class of each world."""
_METHODS: Final[Mapping[str, str]] = {
    "trading": "get_symbol_by_name get_stock_info get_order_details cancel_order place_order withdraw_funds "
    "get_account_info fund_account remove_stock_from_watchlist get_watchlist get_order_history get_available_stocks "
    "add_to_watchlist",
    "messages": "list_users get_user_id send_message delete_message view_messages_sent add_contact search_messages "
    "get_message_stats",
    "car": "fillFuelTank lockDoors displayCarStatus setHeadlights liter_to_gallon gallon_to_liter estimate_distance "
    "get_zipcode_based_on_city set_navigation check_tire_pressure find_nearest_tire_shop",
}


def _order(number: int, order_type: str, symbol: str, price: float, amount: int, status: str) -> dict[str, object]:
    return {
        "id": number,
        "order_type": order_type,
        "symbol": symbol,
        "price": price,
        "amount": amount,
        "status": status,
    }


_STATES: Final[Mapping[str, dict[str, object]]] = {
    "trading": {
        "authenticated": True,
        "market_status": "Open",
        "account_info": {"account_id": 77, "balance": 5000.0, "binding_card": 4000123},
        "orders": {
            number: _order(number, *order)
            for number, order in {
                501: ("Buy", "NVDA", 210.0, 4, "Completed"),
                502: ("Sell", "ZETA", 25.0, 30, "Pending"),
                503: ("Buy", "MSFT", 300.0, 2, "Pending"),
                504: ("Buy", "AAPL", 220.5, 6, "Completed"),
                505: ("Sell", "TSLA", 700.0, 1, "Cancelled"),
            }.items()
        },
        "order_counter": 506,
        "watch_list": ["NVDA", "TSLA", "ZETA", "AAPL"],
    },
    "messages": {
        "current_user": "USR001",
        "user_count": 5,
        "user_map": {"Alice": "USR001", "Bob": "USR002", "Catherine": "USR003", "Daniel": "USR004", "Faye": "USR005"},
        "inbox": [
            {"USR002": "The file is in the folder."},
            {"USR003": "Did you get the invoice?"},
            {"USR002": "Please close the window"},
            {"USR005": "The second invoice is late"},
            {"USR002": "No invoice yet"},
            {"USR005": "See you on Monday"},
        ],
        "message_count": 6,
    },
    "car": {
        "fuelLevel": 7.5,
        "doorStatus": {"driver": "unlocked", "passenger": "locked", "rear_left": "locked", "rear_right": "unlocked"},
        "remainingUnlockedDoors": 2,
        "frontLeftTirePressure": 32.0,
        "frontRightTirePressure": 31.0,
        "rearLeftTirePressure": 27.5,
        "rearRightTirePressure": 30.5,
    },
}
# What the package says of these results is not what they are.
_CORRECTED: Final[Mapping[str, Mapping[str, object]]] = {"trading": {"get_order_history": dict[str, list[int]]}}


class Leaderboard:
    """One class's methods over a fresh instance.

    Raises ImportError if the package is not installed.
    """

    def __init__(self, name: str) -> None:
        module, _, api = CLASSES[name].partition(".")
        self._api: Any = getattr(importlib.import_module(_FOLDER + module), api)()
        self._scenario = _STATES[name]
        self.begin()
        for method, returns in _CORRECTED.get(name, {}).items():
            getattr(self._api, method).__func__.__annotations__["return"] = returns
        self.TOOLS: Sequence[Callable[..., object]] = [getattr(self._api, method) for method in _METHODS[name].split()]

    def begin(self) -> None:
        """Load the state again."""
        self._api._load_scenario(copy.deepcopy(self._scenario))  # noqa: SLF001 - as the leaderboard's own runner does
        self._before = self._state()

    @property
    def effects(self) -> list[list[object]]:
        """What differs from the state in the beginning."""
        return list_changes(self._before, self._state())

    def _state(self) -> object:
        attributes = cast("dict[str, object]", vars(self._api))
        return copy.deepcopy({name: value for name, value in attributes.items() if not name.startswith("_")})
