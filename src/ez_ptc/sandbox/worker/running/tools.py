"""The tools in a program: functions that call the host."""

from __future__ import annotations

import ast
import builtins
import contextvars
import functools
import marshal
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from ...check.following.called_names import names_called_by
from ...protocol.both_ends.errors import NotApprovedError, error_class, is_denial
from ...protocol.both_ends.limits import limit_error
from ...protocol.both_ends.quoting import MAX_LINE, name_text, on_one_line
from ...protocol.values import codec as values
from ...protocol.values.attachments import split
from ...protocol.values.records import Record
from .async_support import mark_async
from .call_paths import calling_line, count_threads, current, running_loop, submit
from .link import TooLargeError
from .signatures import ToolSignature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...check.signatures import Described
    from .call_paths import CallPath
    from .link import Link, Pending
    from .platform import Platform

__all__ = ["Results", "Tools"]

_BRANCH_THREADS = 16
# The bytes of a result that is remembered to correct a program that uses it wrongly.
_MAX_REMEMBERED = 1 << 16
_REMEMBERED = frozenset({Record, list})


_plain = values.reader(Record, marked=False)
_marked = values.reader(Record)
# Reads bytes of the host only, which is trusted.
_load: Callable[[bytes], list[dict[str, object]]] = marshal.loads


def _answer(pending: Pending) -> object:
    """Return the tool's return value, or raise its exception."""
    mark, payload = pending.wait()
    if mark == "v":
        return _plain(payload)
    if mark == "r":
        return list(map(Record, _load(payload)))
    if mark == "s":
        return payload.decode("utf-8", "surrogatepass")
    if mark == "m":
        return _marked(payload)
    if mark == "a":
        text, attachments = split(payload)
        return values.reader(Record, attachments=attachments)(text)
    name, base, message, *flags = cast("list[str]", _plain(payload))
    if flags:
        raise NotApprovedError(message)
    error = error_class(name, base)(message)
    error.tool_name = pending.tool_name
    raise error


class Results(Mapping[str, object]):
    """The kept results of earlier calls and programs, by name; each is fetched on first use."""

    def __init__(self, fetch: Callable[..., object]) -> None:
        self.names: list[str] = []
        self._fetch = fetch
        self._values: dict[object, object] = {}

    def __getitem__(self, name: object) -> object:
        if name not in self._values:
            try:
                self._values[name] = self._fetch(name)
            except LookupError as error:  # as a dict raises it, with the host's explanation
                raise KeyError(*error.args) from None
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def is_meant_in(self, tree: ast.Module) -> bool:
        """Return whether a program reads a kept result by its name, and has no variable of its own called so."""
        keys: list[object] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == "results" and not isinstance(node.ctx, ast.Load):
                return False
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "results":
                keys.append(node.slice)
        return any(isinstance(key, ast.Constant) and key.value in self.names for key in keys)

    def __repr__(self) -> str:
        return f"<kept results: {', '.join(self.names)}>"


class Tools:
    """The granted tools of one program."""

    def __init__(self, link: Link, platform: Platform, flush: Callable[[], None]) -> None:
        """Use `link` for calls, `platform` to await them, and `flush` to send the output before each one."""
        self._link = link
        self._platform = platform
        self._flush = flush
        self.made = 0  # calls of this program
        self.remembered: dict[str, object] = {}  # the last small dict or list that each tool has returned
        self._most = 0
        self._elements = 0
        self._program: str | None = None
        self.described: dict[str, Described] = {}  # the host's descriptions of them, by name
        self.unnamed = 0  # further tools, which the program does not name
        self._tools: dict[str, object] = {}  # the functions, by name
        # The names, by the address of the function: its hash changes when a program's sets become repeatable.
        self._names_by_address: dict[int, str] = {}
        self._names: dict[str, str] = {}  # as JSON, of those called so far
        self._readers: dict[str, object] = {}  # what reads kept results, by name
        self.closed: BaseException | None = None
        self._builtins = builtins

    def begin(self, most: int, elements: int) -> None:
        """Start a program: it may make `most` calls with values of up to `elements`.

        Nothing of an earlier one remains.
        """
        self.made = 0
        self.remembered.clear()
        self._most = most
        self._elements = elements
        self._program = current().program
        self.closed = None

    def are_named_in(self, text: str) -> bool:
        """Return whether a program's text may name one of the tools."""
        return any(map(text.__contains__, self.described))

    def has(self, name: str, namespace: Mapping[str, object]) -> bool:
        """Return whether a name is still bound to the tool; a program may have rebound it."""
        tool = self._tools.get(name)
        return tool is not None and namespace.get(name, vars(self._builtins).get(name)) is tool

    def note_replaced(self, namespace: Mapping[str, object], *, in_session: bool) -> None:
        """Print which names of tools a program of a session has bound to functions: the next program has the tools."""
        if not in_session or all(namespace.get(name) is tool for name, tool in self._tools.items()):
            return
        for name, tool in self._tools.items():
            if callable(value := namespace.get(name, tool)) and value is not tool:
                text = f"In the next program, {name} is the tool again: give what is bound to it here another name."
                sys.stdout.write(f"[{text}]\n")

    def type_texts(self) -> list[str]:
        """Return the host's texts about the tools' types."""
        return [text for signature, types, _ in self.described.values() for text in (signature, types)]

    def bind(self, namespace: dict[str, object]) -> None:
        """Bind the tools to their names, and as built-in functions: deleting a name, as `except` does, bares these."""
        self._builtins = sys.modules["builtins"]
        for names in (namespace, vars(self._builtins)):
            names.update(self._tools)

    def restore(self, namespace: dict[str, object], tree: ast.Module) -> None:
        """Bind the names of tools again that an earlier program of the session deleted, or bound to anything else.

        Data stay until a program uses the name as a function.
        """
        vars(self._builtins).update(self._tools)
        namespace["__builtins__"] = self._builtins
        lost = [name for name, tool in self._tools.items() if namespace.setdefault(name, tool) is not tool]
        data = {name for name in lost if not callable(namespace[name])}
        called = names_called_by(tree, namespace) if data else set[str]()
        namespace.update({name: self._tools[name] for name in lost if name in called or name not in data})
        results = cast("Results | None", self._readers.get("results"))
        is_hidden = not isinstance(namespace.get("results"), Mapping)
        # Other data than a mapping have no key like `r1`, so that the program cannot mean them.
        if results is not None and is_hidden and results.is_meant_in(tree):
            namespace["results"] = results

    def forget(self) -> None:
        """Remove all tools."""
        for name in self.described:
            vars(sys.modules["builtins"]).pop(name, None)
        self.described.clear()
        self._tools.clear()
        self._names_by_address.clear()
        self._names.clear()

    def functions(self, grants: Iterable[tuple[str, str, str, bool, str, bool]]) -> dict[str, object]:
        """Return the functions for the program's namespace, by name.

        Args:
            grants: One ``[name, signature, documentation, is_async, types, read_only]`` per tool.
        """
        by_name: dict[str, object] = {}
        for name, signature, documentation, is_async, types, read_only in grants:
            self.described[name] = signature, types, read_only
            tool: Any = self._async_function(name) if is_async else self._function(name)
            if is_async:
                mark_async(tool)
            self._tools[name] = tool
            self._names_by_address[id(tool)] = name
            tool.__name__ = tool.__qualname__ = name
            tool.__doc__ = documentation
            if signature:
                tool.__signature__ = ToolSignature.of_text(signature)
            tool.__module__ = "__main__"
            by_name[name] = tool
        return by_name

    def results(self, offer: dict[str, Any]) -> dict[str, object]:
        """Return the readers of kept results, by name: a mapping, and the functions of the host's grants."""
        if not self._readers:
            self._readers = self.functions(offer["tools"])
            # A mapping for programs, and no function that could be called wrongly.
            fetch = cast("Callable[..., object]", self._readers["results"])
            self._readers["results"] = Results(fetch)
            del self.described["results"], self._tools["results"], self._names_by_address[id(fetch)]
        cast("Results", self._readers["results"]).names[:] = offer["names"]
        return self._readers

    def add(
        self, grants: Iterable[tuple[str, str, str, bool, str, bool]], unnamed: int, namespace: dict[str, object]
    ) -> None:
        """Bind the functions of further tools; those that are bound already stay. `functions` has the arguments.

        `unnamed` is the number of those that the program does not name.
        """
        self.unnamed = unnamed
        for name, tool in self.functions(grant for grant in grants if grant[0] not in self._tools).items():
            namespace.setdefault(name, tool)
            vars(self._builtins).setdefault(name, tool)

    def _function(self, name: str) -> Callable[..., object]:
        def tool(*args: object, **kwargs: object) -> object:
            # No other call can happen before this one's reply, so the host need not read while it runs the tool.
            alone = not count_threads() and not self._link.outstanding
            pending = self._start(name, args, kwargs, self._step(), alone=alone)
            result = _answer(pending)
            if pending.size <= _MAX_REMEMBERED and type(result) in _REMEMBERED:
                self.remembered[name] = result
            return result

        return tool

    def _async_function(self, name: str) -> Callable[..., object]:
        tool = self._function(name)

        def async_tool(*args: object, **kwargs: object) -> object:
            # Outside a running loop, an async tool is called like any other; inside, it is awaited, and sent at once.
            loop = running_loop()
            if loop is None:
                return tool(*args, **kwargs)
            pending = self._start(name, args, kwargs, self._step())
            return self._platform.await_answer(loop, pending, _answer)

        return async_tool

    def _step(self) -> str:
        call_path = current()
        if call_path.program is not self._program and call_path.program is not None:
            message = "the program that started this is over"
            raise RuntimeError(message)
        return call_path.step()

    def _start(
        self, name: str, args: tuple[object, ...], kwargs: dict[str, object], path: str, *, alone: bool = False
    ) -> Pending:
        if self.closed is not None:
            raise self.closed
        self.made += 1
        if self.made > self._most:
            raise RuntimeError(limit_error("calls", limit=self._most))
        encode, most, attached = values.encode, self._elements, list[bytes]()
        try:
            positional, named = "[]", "{}"
            if args:
                positional = values.text([encode(value, most=most, attached=attached) for value in args])
            if kwargs:
                items = kwargs.items()
                named = values.text({key: encode(value, most=most, attached=attached) for key, value in items})
        except values.CannotCrossError as error:
            message = f"an argument of {name}: {on_one_line(str(error), MAX_LINE)}"
            raise TypeError(message) from None
        self._flush()
        called = self._names.get(name) or self._names.setdefault(name, values.text(name))
        line = calling_line(self._program) or current().line
        head = f'"t":"call","path":"{path}","line":{line},"alone":{"true" if alone else "false"},"name":{called}'
        try:
            pending = self._link.start(f'{head},"args":{positional},"kwargs":{named}}}', path, attached)
        except TooLargeError as error:
            fitting = limit_error("frame", limit=self._link.most, verb="be passed")
            message = f"the arguments of {name} have {error.size:,} bytes; {fitting}"
            raise ValueError(message) from None
        pending.tool_name = name
        return pending

    def start_call(
        self, function: object, args: tuple[object, ...], kwargs: dict[str, object], path: CallPath
    ) -> tuple[Pending, Callable[[Pending], object]] | None:
        """Send a call if `function` is a tool; return it and what takes its answer."""
        name = None
        if isinstance(function, FunctionType):
            name = self._names_by_address.get(id(function))
        if name is None:
            return None
        return self._start(name, args, kwargs, path.step()), _answer

    def parallel(self, *branches: object) -> list[object]:
        """Run ``(function, argument, ...)`` tuples side by side and return their results in order.

        The first branch that fails raises, after all have ended; one whose call was not approved comes before others.
        """
        if len(branches) == 1 and _is_row(branches[0]):
            branches = tuple(cast("Iterable[object]", branches[0]))
        split = [_split(branch) for branch in branches]
        step = self._step()
        with ThreadPoolExecutor(_BRANCH_THREADS) as pool:
            takers = [
                self._branch(pool, f"{step}.{number}", function, args) for number, (function, args) in enumerate(split)
            ]
            results: list[object] = []
            failures: list[Exception] = []
            for take in takers:
                try:
                    results.append(take())
                except Exception as error:  # noqa: BLE001 - every branch is waited for; the first failure is raised below
                    failures.append(error)
            if failures:
                raise next(filter(is_denial, failures), failures[0])
            return results

    def _branch(
        self, pool: ThreadPoolExecutor, path: str, function: Callable[..., object], args: tuple[object, ...]
    ) -> Callable[[], object]:
        name = None
        if isinstance(function, FunctionType):
            name = self._names_by_address.get(id(function))
        if name is None:
            return submit(pool, path, contextvars.Context().run, function, *args).result
        try:
            pending = self._start(name, args, {}, path)
        except TypeError as error:
            return functools.partial(_raise, error)
        return functools.partial(_answer, pending)


def _raise(error: Exception) -> object:
    raise error


def _is_row(branches: object) -> bool:
    """Return whether the branches came as one argument: ``parallel([(f, x), (g, y)])``."""
    if isinstance(branches, Iterator):
        return True
    parts = _parts(branches)
    return isinstance(branches, (list, tuple)) and not (parts and callable(parts[0]))


def _parts(branch: object) -> tuple[object, ...]:
    if isinstance(branch, (tuple, list)):
        return tuple(cast("Iterable[object]", branch))
    return ()


def _split(branch: object) -> tuple[Callable[..., object], tuple[object, ...]]:
    if callable(branch):
        return branch, ()
    elements = _parts(branch)
    if elements and callable(elements[0]):
        return elements[0], elements[1:]
    message = (
        "parallel() takes (function, argument, ...) tuples, e.g. parallel((tool_a, x), (tool_b, y)); "
        f"got {name_text(type(branch).__name__)}: pass the function and its arguments, do not call it"
    )
    raise TypeError(message)
