"""The demo with the model that it downloads."""

import pytest

from examples.demo.local import QWEN_CODER, LocalServer, cache_directory, ensure_model
from ez_ptc import OpenAIChatProvider, llm
from ez_ptc.cli.app import main
from ez_ptc.errors import ProviderError
from ez_ptc.providers.openai_chat import list_models


def test_the_real_model_answers_all_three_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "3 of 3 answers are correct." in out
    assert "RECORDED" not in out


def test_real_model_answers_only_with_the_key() -> None:
    with LocalServer(QWEN_CODER, ensure_model(QWEN_CODER, cache_directory())) as running:
        assert list_models(base_url=running.url, api_key=running.key) == [QWEN_CODER.name]
        provider = OpenAIChatProvider(QWEN_CODER.name, base_url=running.url, api_key=running.key)
        answer = llm().provider(provider).prompt("What is 2 + 2? Answer with the number.", temperature=0)
        with pytest.raises(ProviderError, match="401"):
            list_models(base_url=running.url, api_key="another")
    assert "4" in answer
