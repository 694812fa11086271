"""The secret arguments of a call as a program has written it: by position, or by a parameter's spelling."""

from collections.abc import Mapping, Sequence

from ez_ptc.tools.definitions.definition import Definition

__all__ = ["mask_arguments", "secret_positions"]


def secret_positions(
    tool: Definition, args: Sequence[object], kwargs: Mapping[str, object]
) -> list[tuple[str | int, str]]:
    """Return the position or keyword of each secret argument, and the name of its parameter."""
    names: dict[str | int, str] = {key: str(key) for key in range(len(args))}
    names |= enumerate(tool.binder.positional[: len(args)])
    real_names = {spelling: name for name, spelling in tool.spellings.items()}
    names |= {key: real_names.get(key, key) for key in kwargs}
    return [(key, name) for key, name in names.items() if tool.secrets.is_secret(name)]


def mask_arguments(
    tool: Definition, args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """Return the arguments of a call with masks in place of secrets; without any, the same objects."""
    if not tool.secrets.has_any:
        return args, kwargs
    shown: dict[str | int, object] = {**dict(enumerate(args)), **kwargs}
    for key, name in secret_positions(tool, args, kwargs):
        shown[key] = tool.secrets.mask(name, shown[key])
    return tuple(shown[position] for position in range(len(args))), {key: shown[key] for key in kwargs}
