"""Who answers, where a conversation says so by name or not at all."""

import subprocess
import sys
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from ez_ptc.errors import AuthenticationError, ProviderError
from ez_ptc.providers import lookup as choosing
from ez_ptc.providers.lookup import KEYS, choose
from ez_ptc.providers.scripted import ScriptedProvider

VARIABLES = [variable for several in KEYS.values() for variable in several]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def test_provider_object_is_used_unchanged() -> None:
    provider = ScriptedProvider("x", model="m")
    assert choose(provider, None) is provider
    assert choose(provider, "m") is provider
    with pytest.raises(ProviderError, match="scripted was made for the model m: make it with the model n instead"):
        choose(provider, "n")


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        (VARIABLES, "anthropic"),
        (["OPENAI_API_KEY", "GEMINI_API_KEY"], "openai"),
        (["GEMINI_API_KEY"], "gemini"),
        (["GOOGLE_API_KEY"], "gemini"),
        (["MISTRAL_API_KEY"], "mistral"),
    ],
)
def test_the_first_that_there_is_a_key_for_answers(
    variables: list[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in variables:
        monkeypatch.setenv(variable, "a key")
    chosen = choose(None, None)
    assert (chosen.name, bool(chosen.model)) == (name, True)
    assert chosen.supports_tools()


def test_without_any_key_error_lists_usable_variables() -> None:
    with pytest.raises(AuthenticationError, match="set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY"):
        choose(None, None)


@pytest.mark.parametrize(
    ("provider", "model", "chosen"),
    [
        ("openai", None, ("openai", None)),
        ("openai:gpt-x", None, ("openai", "gpt-x")),
        ("openai", "gpt-x", ("openai", "gpt-x")),
        (None, "openai:gpt-x", ("openai", "gpt-x")),
        (None, "openai-chat:gpt-x", ("openai-chat", "gpt-x")),
        (None, "gemini:models/a:b", ("gemini", "models/a:b")),
        (None, "claude-x", ("anthropic", "claude-x")),
        (None, "ft:claude-x:mine", ("anthropic", "ft:claude-x:mine")),
    ],
)
def test_provider_and_model_are_named_together_or_apart(
    provider: str | None, model: str | None, chosen: tuple[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "a key")
    found = choose(provider, model)
    assert found.name == chosen[0]
    assert chosen[1] is None or found.model == chosen[1]


def test_unknown_provider_error_lists_known_ones() -> None:
    listed = "There are: anthropic, openai, openai-chat, gemini, mistral"
    for provider, model in (("antropic:claude", None), ("antropic", "claude"), (None, "antropic:claude")):
        with pytest.raises(ProviderError, match=f"no provider 'antropic': did you mean 'anthropic'\\? {listed}"):
            choose(provider, model)
    with pytest.raises(ProviderError, match=f"no provider 'claude'. {listed}"):
        choose("claude", None)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-opus-5", "anthropic"),
        ("gpt-5.5", "openai"),
        ("o3", "openai"),
        ("o4-mini", "openai"),
        ("chatgpt-4o-latest", "openai"),
        ("gemini-3.8-flash", "gemini"),
        ("mistral-large-latest", "mistral"),
        ("o3x", "anthropic"),
        ("gpt-oss:20b", "anthropic"),
        ("openchat:7b", "anthropic"),
    ],
)
def test_well_known_model_infers_its_provider(model: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "a key")
    chosen = choose(None, model)
    assert (chosen.name, chosen.model) == (name, model)


@pytest.mark.parametrize(
    ("provider", "complaint"),
    [
        (ScriptedProvider, r"got the class ScriptedProvider: write ScriptedProvider\(\.\.\.\)"),
        (42, "a provider is an object with prompt_with_tools or connect, or a name, got int"),
    ],
)
def test_non_provider_is_refused_with_advice(provider: Any, complaint: str) -> None:  # noqa: ANN401 - of any wrong type
    with pytest.raises(TypeError, match=complaint):
        choose(provider, None)


def test_other_packages_add_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    added = EntryPoints([EntryPoint("mine", "ez_ptc.providers.scripted:ScriptedProvider", choosing.GROUP)])
    monkeypatch.setattr(metadata, "entry_points", added.select)
    assert choose("mine:hello", None).name == "scripted"
    assert choose(None, "mine:hello").name == "scripted"


@pytest.mark.parametrize("place", ["ez_ptc.no_such_module:Provider", "ez_ptc.providers.scripted:NoSuchProvider"])
def test_provider_that_cannot_be_imported_is_named(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    added = EntryPoints([EntryPoint("mine", place, choosing.GROUP)])
    monkeypatch.setattr(metadata, "entry_points", added.select)
    with pytest.raises(ProviderError) as caught:
        choose("mine:hello", None)
    message = str(caught.value)
    assert message.startswith(f"the provider 'mine' cannot be imported from {place}: ")
    assert message.endswith("; repair its package")


def test_no_sdk_is_imported_before_a_provider_is_asked() -> None:
    code = (
        "import os, sys, ez_ptc; os.environ['ANTHROPIC_API_KEY'] = 'x'; ez_ptc.llm().settings.providers(); "
        "ez_ptc.llm().provider('openai:gpt-5').model('anthropic:claude'); "
        "sys.exit(bool({'anthropic', 'openai', 'google.genai', 'importlib.metadata'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
