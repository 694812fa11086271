"""The leaderboard's function documents and the ground-truth calls of them, as ``bfcl-eval`` carries them."""

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from benchmarks.bfcl.entries import PackageMissingError

__all__ = ["Answer", "Document", "Question", "load_questions"]

ANSWERED = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
)
"""The categories whose right calls are known argument by argument: 3,302 calls."""

UNANSWERED = ("irrelevance", "live_irrelevance", "live_relevance")
"""Those in which no call is right, or any is."""

EXECUTED = ("exec_simple", "exec_multiple", "exec_parallel", "exec_parallel_multiple")
"""Former categories, whose calls were run. With those above: 9,144 documents."""

FURTHER = ("sql", "rest")
"""The other former categories: 170 more documents. The multi-turn classes have another 162."""


@dataclass(frozen=True, slots=True)
class Document:
    """A function as the leaderboard describes it; ``response`` is what it returns, where that is said."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    response: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A ground-truth call: a function's name and, by parameter, the list of the values that are right."""

    name: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """The documents that one question shows to a model, and the right calls; ``counted`` in the figures, or further."""

    id: str
    documents: tuple[Document, ...]
    answers: tuple[Answer, ...] = ()
    counted: bool = True


def load_questions() -> list[Question]:
    """Return every question that has documents of its own, and each multi-turn class as one more.

    Raises:
        PackageMissingError: ``bfcl-eval`` is not installed.
    """
    data = _data_folder()
    former = data / "unused_datasets" / "question"
    questions: list[Question] = []
    for category in ANSWERED:
        questions += _questions(data / _file(category), data / "possible_answer" / _file(category))
    for category in UNANSWERED:
        questions += _questions(data / _file(category))
    for category in EXECUTED:
        questions += _questions(former / _file(category))
    for category in FURTHER:
        questions += _questions(former / _file(category), counted=False)
    for path in sorted((data / "multi_turn_func_doc").glob("*.json")):
        questions.append(Question(path.stem, tuple(map(_document, _lines(path))), counted=False))
    return questions


def _questions(path: Path, answers: Path | None = None, *, counted: bool = True) -> list[Question]:
    truth = {line["id"]: line["ground_truth"] for line in _lines(answers)} if answers else {}
    return [
        Question(
            id=line["id"],
            documents=tuple(map(_document, line["function"])),
            answers=tuple(_answer(call) for call in truth.get(line["id"], ())),
            counted=counted,
        )
        for line in _lines(path)
    ]


def _document(fields: Mapping[str, Any]) -> Document:
    return Document(fields["name"], fields["description"], fields["parameters"], fields.get("response"))


def _answer(call: Mapping[str, Any]) -> Answer:
    ((name, options),) = call.items()
    return Answer(name, options)


def _file(category: str) -> str:
    return f"BFCL_v4_{category}.json"


def _data_folder() -> Path:
    package = importlib.util.find_spec("bfcl_eval")
    if package is None or package.origin is None:
        message = "bfcl-eval is not installed: run `make bench-bfcl-documents`, which installs it"
        raise PackageMissingError(message)
    return Path(package.origin).parent / "data"


def _lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [cast("dict[str, Any]", json.loads(line)) for line in file]
