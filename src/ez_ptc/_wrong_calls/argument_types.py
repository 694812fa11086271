"""Checks of arguments by the annotations of a function's parameters, for `explain_calls`.

Theory of operation: an annotation is read as text, once a function, because names in it may be importable by type
checkers only. It is a union of parts; `_KINDS` says for a part how to tell a value of it, and what to call it. A
parameter with a part that is not there, such as a protocol or a type variable, is not checked here. Neither are those
in the declaration of the function or class, `explain_calls(checks="…")`: it knows more about them, and says more.

The checks are lenient where Python is: anything with `__index__` is an int, None is a false flag, and the elements of a
list are left to the function.
"""

import re
from collections.abc import Callable, Collection, Mapping
from types import FunctionType
from typing import Final, NamedTuple, cast

__all__ = ["Expectation", "declare", "other_parameters", "read_expectations"]

# Between the parts of a union, not within brackets.
_UNION: Final = re.compile(r"\s*\|\s*(?![^\[]*\])")
_DECLARED: Final = "__checks__"
_MAX_QUOTED: Final = 60
_MAX_KNOWN: Final = 20


def _is_instance(*types: type[object]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, types)


def _has(*names: str) -> Callable[[object], bool]:
    return lambda value: all(hasattr(value, name) for name in names) and not isinstance(value, type)


def _is_integer(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_integer(value) or (hasattr(value, "__float__") and not isinstance(value, bool))


def _is_flag(value: object) -> bool:
    return value is None or isinstance(value, bool) or _is_integer(value) or type(value).__name__ == "bool_"


def _is_iterable(value: object) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes | bytearray | type)


def _is_exceptions(value: object) -> bool:
    # Python takes no list in `except`, and says so only when something is raised.
    if not isinstance(value, tuple):
        return False
    classes = cast("tuple[object, ...]", value)
    return all(isinstance(cls, type) and issubclass(cls, BaseException) for cls in classes)


class _Kind(NamedTuple):
    """A part of an annotation: how to tell its values, and their name in messages.

    `is_told_by_type`: of two values of one type, both are accepted or none. `arguments`: their number in calls of a
    function.
    """

    accepts: Callable[[object], bool]
    text: str
    is_told_by_type: bool = True
    arguments: int | None = None


def other_parameters(function: object, count: int) -> str | None:
    """Describe a function of other parameters than `count` positional ones; None for a fitting or an unknown one."""
    from inspect import signature  # takes longer to import than all of this

    try:
        # Of a decorated function, the decorator's own: it may add arguments.
        taken = signature(cast("Callable[..., object]", function), follow_wrapped=False)
    except (TypeError, ValueError):
        return None
    try:
        taken.bind(*range(count))
    except TypeError:
        names = [
            name + "=..." * (parameter.kind is parameter.KEYWORD_ONLY) for name, parameter in taken.parameters.items()
        ]
        return f"a function of ({', '.join(names)})"
    return None


def _function_of(count: int, parameters: str = "") -> _Kind:
    def accepts(value: object) -> bool:
        return callable(value) and other_parameters(value, count) is None

    return _Kind(
        accepts,
        f"a function of {count} argument{'s' * (count != 1)}{parameters}",
        is_told_by_type=False,
        arguments=count,
    )


_PATH: Final = _Kind(_has("__fspath__"), "a path")
_FUNCTION: Final = _Kind(callable, "a function")
_LIST: Final = _Kind(_is_iterable, "a list")
_MAPPING: Final = _Kind(_has("keys", "__getitem__"), "a dict")
_KINDS: Final[Mapping[str, _Kind]] = {
    "None": _Kind(_is_instance(type(None)), "None"),
    "str": _Kind(_is_instance(str), "a str"),
    "bytes": _Kind(_is_instance(bytes, bytearray, memoryview), "bytes"),
    "int": _Kind(_is_integer, "an int"),
    "float": _Kind(_is_number, "a number"),
    "Decimal": _Kind(_is_number, "a number"),
    "bool": _Kind(_is_flag, "True or False"),
    "Exception": _Kind(_is_instance(BaseException), "an exception"),
    "Path": _PATH,
    "PathLike": _PATH,
    "OnToolCall": _function_of(1, " (call)"),
    "Repair": _function_of(3, " (code, error, calls)"),
    "ToolRanker": _function_of(2, " (query, texts)"),
    "Mapping": _MAPPING,
    "dict": _MAPPING,
    "Iterable": _LIST,
    "Collection": _LIST,
    "Sequence": _LIST,
    "list": _LIST,
    "tuple": _Kind(_is_instance(tuple, list), "a tuple"),
    "tuple[type[BaseException], ...]": _Kind(_is_exceptions, "a tuple of exception classes", is_told_by_type=False),
}
# Without the inner brackets of types, as in dict[str, Any].
_CALLED_WITH: Final = re.compile(r"Callable\[\[([^\[\]]*)\]")
_INNER: Final = re.compile(r"(?<=\w)\[[^\[\]]*\]")
_PLAIN: Final = frozenset({"", "a function", *(expected.text.partition(" of ")[0] for expected in _KINDS.values())})
# Classes that an annotation names, which values are told by: importing them here would turn the layers around.
_CLASSES: Final = frozenset(
    """CallLife ExecutionResult Journal Paused PendingCall ProgramEnding ResultScope ToolCall Usage
    """.split()  # noqa: SIM905 - words are read more easily than quoted lines
)
# Protocols, by an attribute that their objects cannot do without, and what to call one.
_PROTOCOLS: Final[Mapping[str, tuple[str, str]]] = {
    "_HasEntries": ("entries", "a conversation, as llm() starts one"),
    "Registers": ("register", "a ToolRegistry"),
    "Sandbox": ("aexecute", "a sandbox, such as ProcessSandbox()"),
}
_TEXT_WITHIN: Final = _Kind(_is_instance(str), "")
_CHOICE: Final = re.compile(r"'([^']*)'|\"([^\"]*)\"")


class Expectation(NamedTuple):
    """What one parameter takes: values of any of its kinds, or one of its choices.

    `known` are types whose values have all been accepted, and is filled by `accepts`.
    """

    kinds: tuple[_Kind, ...]
    choices: tuple[str, ...]
    known: set[type[object]]

    def accepts(self, value: object) -> bool:
        """Return whether a value can be an argument."""
        for expected in self.kinds:
            if expected.accepts(value):
                if expected.is_told_by_type and len(self.known) < _MAX_KNOWN:
                    self.known.add(type(value))
                return True
        return isinstance(value, str) and value in self.choices

    def problem(self, name: str, value: object) -> str:
        """Return what is wrong with a value of the parameter `name`, and what to write instead."""
        texts = [
            *map(repr, self.choices),
            *(expected.text for expected in self.kinds if expected.text not in {"", "None"}),
        ]
        texts += ["None"] * any(expected.text == "None" for expected in self.kinds)
        listed = f"{', '.join(texts[:-1])} or {texts[-1]}" if len(texts) > 1 else texts[0]
        got = _quote(value)
        for expected in self.kinds:
            if expected.arguments is not None and callable(value):
                got = other_parameters(value, expected.arguments) or got
        return f"expected {name} to be {listed}, got {got}{self._advice(name, value)}"

    def _advice(self, name: str, value: object) -> str:
        """Return how to correct the commonest mistakes; "" for another."""
        known = {expected.text.partition(" of ")[0] for expected in self.kinds}
        advice = ""
        if isinstance(value, str) and known & {"an int", "a number"}:
            number = value.strip()
            advice = f": write {name}={number}, without quotes" * number.isdecimal()
        elif isinstance(value, str) and "a list" in known:
            advice = f": write {name}=[...]"
        elif isinstance(value, str) and "True or False" in known:
            advice = f": write {name}=True"
        elif isinstance(value, bytes) and "a str" in known:
            advice = ": write .decode()"
        elif "a ToolCall" in known and isinstance(value, str | dict):
            advice = ": make one of the arguments, ToolCall(id, name, arguments), or pass them to Tool.call()"
        elif isinstance(value, type) and known - _PLAIN:
            advice = f": make one, {value.__name__}(...)"
        elif isinstance(value, FunctionType) and "a function" not in known:
            advice = ": call it, and pass what it returns"
        return advice


def declare(function: FunctionType, owner: str, words: Collection[str]) -> None:
    """Note the words of `explain_calls(checks=...)` for a function, which several classes may inherit."""
    vars(function).setdefault(_DECLARED, {})[owner] = words


def read_expectations(function: FunctionType, owner: str) -> dict[str, Expectation]:
    """Return what the parameters of a function take, by their names, without those that are not checked.

    `owner` is the function's name for users, such as "Toolkit.execute", as in `declare`.
    """
    declarations: Mapping[str, Collection[str]] = vars(function).get(_DECLARED, {})
    declared = declarations.get(owner, ())
    expectations: dict[str, Expectation] = {}
    if f"{function.__name__}()" in declared:
        return expectations
    code = function.__code__
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]  # without *args and **kwargs
    annotations: Mapping[str, object] = function.__annotations__
    for name, annotation in annotations.items():
        one = f"{function.__name__}({name}"
        if name not in named or name in declared or f"{one})" in declared:
            continue
        expectation = _read(_as_text(annotation))
        if expectation is not None:
            if f"{name}:str" in declared or f"{one}:str)" in declared:
                expectation = expectation._replace(kinds=(*expectation.kinds, _TEXT_WITHIN))
            expectations[name] = expectation
    return expectations


def _as_text(annotation: object) -> str:
    if annotation is None:
        return "None"
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        return annotation.__name__
    text = str(annotation)
    optional = re.fullmatch(r"typing\.Optional\[(.*)\]", text)
    return f"{optional[1]} | None" if optional else text


def _read(annotation: str) -> Expectation | None:
    kinds: list[_Kind] = []
    choices: list[str] = []
    for member in _UNION.split(annotation):
        name = member.partition("[")[0].rpartition(".")[2]
        if name == "Literal":
            choices += [first or second for first, second in _CHOICE.findall(member)]
        elif name == "Callable":
            kinds.append(_read_function(member))
        elif member in _KINDS or name in _KINDS:
            kinds.append(_KINDS.get(member) or _KINDS[name])
        elif name in _CLASSES:
            kinds.append(_class_kind(name))
        elif name in _PROTOCOLS:
            attribute, text = _PROTOCOLS[name]
            kinds.append(_Kind(_has(attribute), text))
        else:
            return None
    return Expectation(tuple(kinds), tuple(choices), set())


def _read_function(annotation: str) -> _Kind:
    text = ""
    while text != annotation:
        text, annotation = annotation, _INNER.sub("", annotation)
    parameters = _CALLED_WITH.search(text)
    if parameters is None:
        return _FUNCTION
    return _function_of(len([name for name in parameters[1].split(",") if name.strip()]))


def _quote(value: object) -> str:
    """Return a value's type, and the value itself if writing it runs no code of it."""
    name = type(value).__name__
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if type(value) in {str, bytes}:
        return f"{name} {cast('str', value)[:_MAX_QUOTED]!r}"
    if type(value) in {bool, float} or (type(value) is int and value.bit_length() <= _MAX_QUOTED):
        return f"{name} {value}"
    return name


def _class_kind(name: str) -> _Kind:
    def is_of_class(value: object) -> bool:
        return any(base.__name__ == name for base in type(value).__mro__)

    article = "an" if name[0] in "AEIO" else "a"
    return _Kind(is_of_class, f"{article} {name}")
