"""Values made on first use: attributes of objects, and the public names of the package."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Generic, TypeVar, overload

__all__ = ["LazyTable", "install_lazy_importer", "lazy"]

R = TypeVar("R")
S = TypeVar("S")


class lazy(Generic[S, R]):  # noqa: N801 - a decorator, as `property` is one
    """A property that is computed once. Threads that read it at the same time each compute it, and all get one value.

    `functools.cached_property` of Python 3.11 has a lock for all instances, which a fork in another thread would leave
    locked forever.
    """

    def __init__(self, make: Callable[[S], R]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[object] | None = None) -> "lazy[S, R]": ...
    @overload
    def __get__(self, instance: S, owner: type[object] | None = None) -> R: ...
    def __get__(self, instance: S | None, owner: type[object] | None = None) -> "R | lazy[S, R]":
        if instance is None:
            return self
        attributes: dict[str, Any] = vars(instance)
        return attributes.setdefault(self._name, self._make(instance))


class LazyTable(Mapping[str, R]):
    """A mapping whose values are made on first use. Threads may each make one, and all get the same."""

    def __init__(self, names: Collection[str], make: Callable[[str], R]) -> None:
        self._names = names
        self._make = make
        self._made: dict[str, R] = {}

    def __getitem__(self, name: str) -> R:
        if name in self._made:
            return self._made[name]
        if name not in self._names:
            raise KeyError(name)
        return self._made.setdefault(name, self._make(name))

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _import_name(home: str, name: str, package: str) -> object:
    """Return a name of a module. Raises SandboxError in a signal handler that has interrupted its import."""
    from importlib import import_module

    try:
        return getattr(import_module(home), name)
    except (AttributeError, ImportError) as error:
        from ez_ptc._wrong_calls import refuse_interrupted_import

        refuse_interrupted_import(error, f"{package}.{name}")
        raise


def install_lazy_importer(namespace: dict[str, Any]) -> bool:
    """Make a module's names importable on first use, and return whether that worked.

    `namespace` is the module's `globals()`. The names are those of its lines `from module import Name as Name`. The
    module also gets `__all__`, a `dir()` of public names only, and public names get it as their `__module__`. Returns
    False if the source code is not available, as in a frozen application: then the lines have to run.
    """
    try:
        with open(namespace["__file__"], encoding="utf-8") as file:  # noqa: PTH123 - pathlib is slow to import
            # Words instead of a parser: importing `ast` would take longer than this whole package.
            words = [line.split() for line in file]
    except (OSError, UnicodeDecodeError):
        return False
    homes = {word[3]: word[1] for word in words if word[:1] == ["from"] and word[4:5] == ["as"]}
    package: str = namespace["__name__"]
    namespace["__all__"] = names = sorted([*homes, "__version__"])

    def __getattr__(name: str) -> object:  # noqa: N807 - the module's
        if name not in homes:
            message = f"module {package!r} has no attribute {name!r}"
            if not name.startswith("_"):
                from ez_ptc._wrong_calls.earlier_names import PUBLIC_NAMES, unknown_public_name

                message += unknown_public_name(name, names)
                if name in PUBLIC_NAMES:  # `from ez_ptc import ...` shows no text of an AttributeError
                    raise ImportError(message)
            raise AttributeError(message)
        value = _import_name(homes[name], name, package)
        postponed = any(isinstance(annotation, str) for annotation in getattr(value, "__annotations__", {}).values())
        # `typing.get_type_hints` looks the names in a class's postponed annotations up in its `__module__`.
        if getattr(value, "__module__", None) == homes[name] and not (isinstance(value, type) and postponed):
            value.__module__ = package
        namespace[name] = value
        return value

    def __dir__() -> list[str]:  # noqa: N807 - the module's
        return names

    namespace.update(__getattr__=__getattr__, __dir__=__dir__)
    del namespace["TYPE_CHECKING"], namespace["install_lazy_importer"]
    return bool(homes)
