"""The tree of errors: what may be caught by which name, and what an error carries."""

import pickle

import pytest

from ez_ptc import errors
from ez_ptc.errors import ArgumentsError, EzPtcError, RateLimitError

BUILT_INS = {
    "SchemaError": TypeError,
    "DuplicateToolError": ValueError,
    "ToolNotFoundError": LookupError,
    "ArgumentsError": ValueError,
    "MissingExtraError": ImportError,
    "ToolkitImportError": ImportError,
}
FAMILIES = {
    "SandboxError": ["WorkerDiedError", "ProtocolError", "IsolationUnavailableError", "Overloaded", "ClusterError"],
    "ProviderError": ["AuthenticationError", "RateLimitError", "ConnectionFailedError", "RedirectRefusedError"],
}


@pytest.mark.parametrize("name", [name for name in errors.__all__ if not name.endswith("Warning")])
def test_every_error_belongs_to_library_and_takes_message(name: str) -> None:
    error = getattr(errors, name)("the kettle is empty: fill it")

    assert isinstance(error, EzPtcError)
    assert str(error) == "the kettle is empty: fill it"


@pytest.mark.parametrize(("name", "built_in"), BUILT_INS.items())
def test_error_is_also_its_builtin_type(name: str, built_in: type[Exception]) -> None:
    assert issubclass(getattr(errors, name), built_in)


@pytest.mark.parametrize(("family", "names"), FAMILIES.items())
def test_a_family_is_caught_by_its_name(family: str, names: list[str]) -> None:
    assert all(issubclass(getattr(errors, name), getattr(errors, family)) for name in names)


def test_the_tree_in_the_documentation_names_every_error() -> None:
    assert errors.__doc__ is not None
    assert [name for name in errors.__all__ if name not in errors.__doc__] == []


def test_an_arguments_error_has_its_problems_one_by_one() -> None:
    assert ArgumentsError("x: a; b", problems=["a", "b"]).problems == ("a", "b")
    assert ArgumentsError("x: a").problems == ()


def test_error_keeps_its_attributes_across_processes() -> None:
    there = pickle.loads(pickle.dumps(RateLimitError("too many requests", retry_after=2.5)))

    assert (str(there), there.retry_after) == ("too many requests", 2.5)
