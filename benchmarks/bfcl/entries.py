"""The leaderboard's entries and the live classes that they call, as the package ``bfcl-eval`` carries them."""

import ast
import copy
import importlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

__all__ = ["Call", "Entry", "PackageMissingError", "evenly", "load_apis", "load_entries", "methods", "parse_call"]

T = TypeVar("T")

CATEGORIES = ("base", "long_context", "miss_func", "miss_param")
"""The multi-turn categories: 200 entries each."""

CORRECTED = ("TicketAPI", "close_ticket", "ticket_id", int | str)
"""The one annotation that the package contradicts itself: it says ``int``; four entries pass the text of a text id."""


class PackageMissingError(ImportError):
    """``bfcl-eval`` is not installed; says how to install it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One ground-truth call: its text, and what the text says."""

    text: str
    name: str
    args: tuple[object, ...]
    kwargs: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Entry:
    """One multi-turn entry: the classes it involves, how they start, and the calls of each turn."""

    id: str
    classes: tuple[str, ...]
    config: Mapping[str, dict[str, object]]
    turns: tuple[tuple[Call, ...], ...]

    def start(self, apis: Mapping[str, type]) -> dict[str, object]:
        """Return fresh instances by class name, loaded as the leaderboard's own runner loads them."""
        instances: dict[str, object] = {}
        for name in self.classes:
            instance = apis[name]()
            load: Callable[..., None] | None = getattr(instance, "_load_scenario", None)
            if load is not None:  # MathAPI keeps no state
                load(copy.deepcopy(self.config.get(name, {})), long_context="long_context" in self.id)
            instances[name] = instance
        return instances


def parse_call(text: str) -> Call:
    """Return what a ground-truth call such as ``"cd(folder='temp')"`` says; its arguments are literals."""
    tree = ast.parse(text, mode="eval").body
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        message = f"{text!r} is not one call of a named function"
        raise ValueError(message)  # noqa: TRY004 - the text is wrong, not its type
    args = tuple(ast.literal_eval(arg) for arg in tree.args)
    return Call(text, tree.func.id, args, {str(word.arg): ast.literal_eval(word.value) for word in tree.keywords})


def methods(instances: Mapping[str, object]) -> dict[str, Callable[..., object]]:
    """Return the public bound methods of all instances by name: what the leaderboard shows to a model."""
    found: dict[str, Callable[..., object]] = {}
    for instance in instances.values():
        for name, method in inspect.getmembers(instance, inspect.ismethod):
            if name in found:
                message = f"two classes of one entry have a method {name!r}"
                raise ValueError(message)
            if not name.startswith("_"):
                found[name] = method
    return found


def evenly(entries: Sequence[T], count: int | None) -> list[T]:
    """Return ``count`` of the entries, spread over all of them; all when there is no count."""
    if count is None or count >= len(entries):
        return list(entries)
    return [entries[index * len(entries) // count] for index in range(count)]


def load_entries() -> list[Entry]:
    """Return the 800 multi-turn entries with their ground truth.

    Raises:
        PackageMissingError: ``bfcl-eval`` is not installed.
    """
    data = _package_folder() / "data"
    entries: list[Entry] = []
    for category in CATEGORIES:
        file = f"BFCL_v4_multi_turn_{category}.json"
        truth = {line["id"]: line["ground_truth"] for line in _lines(data / "possible_answer" / file)}
        for line in _lines(data / file):
            turns = cast("list[list[str]]", truth[line["id"]])
            entries.append(
                Entry(
                    id=cast("str", line["id"]),
                    classes=tuple(cast("list[str]", line["involved_classes"])),
                    config=cast("dict[str, dict[str, object]]", line["initial_config"]),
                    turns=tuple(tuple(parse_call(call) for call in turn) for turn in turns),
                )
            )
    return entries


def load_apis(entries: Sequence[Entry], *, as_shipped: bool = False) -> dict[str, type]:
    """Return the classes that the entries involve, by name.

    Args:
        entries: Whose classes.
        as_shipped: Leave the one annotation alone that the package's own data contradicts (:data:`CORRECTED`).
    """
    config = importlib.import_module("bfcl_eval.constants.executable_backend_config")
    modules = cast("dict[str, str]", config.CLASS_FILE_PATH_MAPPING)
    names = sorted({name for entry in entries for name in entry.classes})
    apis: dict[str, type] = {name: getattr(importlib.import_module(modules[name]), name) for name in names}
    owner, method, parameter, annotation = CORRECTED
    if owner in apis and not as_shipped:
        getattr(apis[owner], method).__annotations__[parameter] = annotation
    return apis


def _package_folder() -> Path:
    try:
        package = importlib.import_module("bfcl_eval")
    except ModuleNotFoundError as error:
        message = "bfcl-eval is not installed: run `make bench-bfcl`, which installs it"
        raise PackageMissingError(message) from error
    return Path(str(package.__file__)).parent


def _lines(path: Path) -> list[dict[str, object]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
