"""Signatures of callables with bound or replaced parameters: `functools.partial`, also behind `functools.wraps`.

`inspect.signature` follows `__wrapped__`, which `functools.update_wrapper` sets on a partial too, and so returns the
parameters of the function without its bound arguments. Here, a partial ends the search, and so does a wrapper with
other parameters of its own, which takes no others.
"""

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, cast

__all__ = [
    "call_signature",
    "has_bound_arguments",
    "is_bound_dispatcher",
    "is_unbound_partial_method",
    "method_behind",
    "names_no_parameters",
    "open_defaults",
    "open_signature",
]

_AnyCallable = Callable[..., object]
_Partial = functools.partial[object]


def has_bound_arguments(function: _AnyCallable) -> bool:
    """Return whether a callable is a partial or wraps one."""
    return isinstance(_unwrap(function), functools.partial)


def is_unbound_partial_method(function: _AnyCallable) -> bool:
    """Return whether a function is what a class gives for its `functools.partialmethod`."""
    # The second name is that of Python 3.13 and later.
    return hasattr(function, "_partialmethod") or hasattr(function, "__partialmethod__")


def is_bound_dispatcher(function: _AnyCallable) -> bool:
    """Return whether a function is a complete method of `functools.singledispatchmethod`.

    Until Python 3.13 it is a function like the method itself, with its first parameter.
    """
    code = getattr(function, "__code__", None)
    if code is None or code not in cast("Any", functools.singledispatchmethod).__get__.__code__.co_consts:
        return False
    cells = dict(zip(code.co_freevars, cast("types.FunctionType", function).__closure__ or (), strict=True))
    method: functools.singledispatchmethod[object] = vars(function)["register"].__self__
    return cells["obj"].cell_contents is not None or isinstance(method.func, classmethod | staticmethod)


def method_behind(function: _AnyCallable) -> _AnyCallable:
    """Return the method behind a partial, or that of a callable object, which is called in the end."""
    while isinstance(function, functools.partial):
        function = cast("_Partial", function).func
    if inspect.isroutine(function) or isinstance(function, type) or hasattr(function, "__wrapped__"):
        return function
    return function.__call__


def call_signature(function: _AnyCallable) -> inspect.Signature:
    """Return the signature Python calls a function by; arguments bound by name are defaults that callers may replace.

    Raises TypeError and ValueError as `inspect.signature` does, without the bound values in the message.
    """
    if inspect.ismethod(function) and hasattr(function, "__wrapped__"):
        stand_in = _with_signature(call_signature(function.__func__))
        return inspect.signature(types.MethodType(stand_in, function.__self__))
    partial = _unwrap(function)
    if not isinstance(partial, functools.partial):
        return inspect.signature(partial if _is_closed(partial) else function, follow_wrapped=not _is_closed(partial))
    inner = call_signature(partial.func)
    try:
        return inspect.signature(functools.partial(_with_signature(inner), *partial.args, **partial.keywords))
    except ValueError:
        names = ", ".join(inner.parameters) or "nothing"
        message = f"its function takes {names}, not all that the partial binds"
        raise ValueError(message) from None


def open_signature(function: _AnyCallable) -> inspect.Signature:
    """Return the signature without bound arguments: the parameters that are left to a model.

    A number or flag bound to a parameter with a default is a new default. Any other bound value is no parameter: a text
    may be a secret, and a parameter without a default has only the bound value. Raises as `call_signature` does.
    """
    signature = call_signature(function)
    bound = _find_bound_names(function)
    if not bound:
        return signature
    parameters = [item for item in signature.parameters.values() if item.name not in bound or bound[item.name]]
    return signature.replace(parameters=parameters)


def names_no_parameters(function: _AnyCallable) -> bool:
    """Return whether a callable takes any arguments and names none, as a wrapper without `functools.wraps` does."""
    kinds = [parameter.kind for parameter in open_signature(function).parameters.values()]
    return kinds == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]


def open_defaults(function: _AnyCallable) -> dict[str, object]:
    """Return the present defaults of the parameters in `open_signature`; none for a built-in without a signature."""
    # Attributes may say that its signature is another one.
    if type(function) is types.FunctionType and not vars(function):
        # Each recorded call comes here, and `inspect` takes longer than the rest of its description.
        code, by_position, by_name = function.__code__, function.__defaults__ or (), function.__kwdefaults__ or {}
        names, count = code.co_varnames, code.co_argcount
        defaults = dict(zip(names[count - len(by_position) : count], by_position, strict=False))
        keywords = names[count : count + code.co_kwonlyargcount]
        return {**defaults, **{name: by_name[name] for name in keywords if name in by_name}}
    try:
        parameters = open_signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {item.name: item.default for item in parameters if item.default is not inspect.Parameter.empty}


def _find_bound_names(function: _AnyCallable) -> dict[str, bool]:
    """Return the names bound in all partials around a function, and whether each is only a new default."""
    if inspect.ismethod(function):
        return _find_bound_names(function.__func__)
    partial = _unwrap(function)
    if not isinstance(partial, functools.partial):
        return {}
    bound = _find_bound_names(partial.func)
    parameters = call_signature(partial.func).parameters
    for name, value in cast("Mapping[str, object]", partial.keywords).items():
        has_default = name in parameters and parameters[name].default is not inspect.Parameter.empty
        bound[name] = bound.get(name, True) and has_default and type(value) in (bool, int, float)
    return bound


def _unwrap(function: _AnyCallable) -> _AnyCallable | _Partial:
    """Return the first partial or closed wrapper behind a function's wrappers, or else the innermost function."""
    return inspect.unwrap(
        function,
        stop=lambda item: isinstance(item, functools.partial) or hasattr(item, "__signature__") or _is_closed(item),
    )


def _is_closed(wrapper: _AnyCallable) -> bool:
    """Return whether a wrapper has other parameters than the function it wraps, and takes no further arguments."""
    if type(wrapper) is not types.FunctionType or not hasattr(wrapper, "__wrapped__"):
        return False
    if wrapper.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return False
    try:
        inner = inspect.signature(wrapper).parameters
    except (TypeError, ValueError):
        return True
    return inner.keys() != inspect.signature(wrapper, follow_wrapped=False).parameters.keys()


def _with_signature(signature: inspect.Signature) -> Any:  # noqa: ANN401 - a function without annotations
    def stand_in() -> None: ...

    vars(stand_in)["__signature__"] = signature
    return stand_in
