"""The signatures of tools in programs, for `inspect.signature` and `help`."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any

from ...check.mistakes import parse_quietly

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ToolSignature"]

_ANYTHING = "def tool(*args, **kwargs): ..."


class _Source(str):
    """A type or a default as it is written in the tool's signature, also in the `repr`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ToolSignature(inspect.Signature):
    """A tool's signature, parsed on first use; most programs make none.

    Types are texts, as with postponed annotations, and so are defaults other than literals. Text
    in another notation accepts any arguments.
    """

    __slots__ = ("_text",)

    @classmethod
    def of_text(cls, text: str) -> ToolSignature:
        """Return the signature of a text such as `price_of(product: str) -> float`."""
        signature = cls.__new__(cls)
        signature._text = text  # noqa: SLF001 - an instance of this class
        return signature

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of any attribute
        """Parse the signature for the fields of `inspect.Signature`, which are empty slots until then."""
        if name not in {"_parameters", "_return_annotation"}:
            raise AttributeError(name)
        head = _head(self._text)
        returned = inspect.Signature.empty if head.returns is None else _Source(ast.unparse(head.returns))
        self.__init__([*_parameters(head.args)], return_annotation=returned)
        return object.__getattribute__(self, name)


def _head(text: str) -> ast.FunctionDef:
    for source in (f"def {text}: ...", _ANYTHING):
        try:
            statement = parse_quietly(source).body[0]
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # a foreign schema may have any names
            continue
        if isinstance(statement, ast.FunctionDef):
            return statement
    raise AssertionError(text)  # pragma: no cover - the last source is a function


def _parameters(args: ast.arguments) -> Iterator[inspect.Parameter]:
    kinds = inspect.Parameter
    ordered = [*args.posonlyargs, *args.args]
    defaults = [*[None] * (len(ordered) - len(args.defaults)), *args.defaults]
    for position, (arg, default) in enumerate(zip(ordered, defaults, strict=True)):
        by_name = position >= len(args.posonlyargs)
        yield _parameter(arg, kinds.POSITIONAL_OR_KEYWORD if by_name else kinds.POSITIONAL_ONLY, default)
    if args.vararg is not None:
        yield _parameter(args.vararg, kinds.VAR_POSITIONAL)
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _parameter(arg, kinds.KEYWORD_ONLY, default)
    if args.kwarg is not None:
        yield _parameter(args.kwarg, kinds.VAR_KEYWORD)


def _parameter(arg: ast.arg, kind: Any, default: ast.expr | None = None) -> inspect.Parameter:  # noqa: ANN401 - of a private type
    value: object = inspect.Parameter.empty
    if default is not None:
        try:
            value = ast.literal_eval(default)
        except ValueError:
            value = _Source(ast.unparse(default))
    annotation = inspect.Parameter.empty if arg.annotation is None else _Source(ast.unparse(arg.annotation))
    return inspect.Parameter(arg.arg, kind, default=value, annotation=annotation)
