"""Programs are never taken from a model's reasoning, and never lose text that looks like it."""

import pytest

from ez_ptc.toolkit.prompting.program_extraction import extract_code
from tests.costs.growth import check_growth

FENCE = "```"
CONSIDERED = f"{FENCE}python\nrefund_all()\n{FENCE}"
LOOP = "rows = find()\nfor row in rows:\n    print(row)"
ANSWER = f"{FENCE}python\nprint(total())\n{FENCE}"


@pytest.mark.parametrize(
    "answer",
    [
        f"<think>\n{CONSIDERED}\n</think>\n{ANSWER}",
        f"<thinking>try {CONSIDERED} no.</thinking>\nHere:\n{ANSWER}",
        f"<THINK>\n{CONSIDERED}\n</THINK>{ANSWER}",
        f"<think>a</think>\n<think>\n{CONSIDERED}\n</think>\n{ANSWER}",
        f"{CONSIDERED}\nno.\n</think>\n\n{ANSWER}",
        f"{FENCE}python\nrefund_all()\n</think>\n{ANSWER}",
        f"{CONSIDERED}</think>\n{ANSWER}",
        f"So:\n{CONSIDERED} </think>{ANSWER}",
        f"{CONSIDERED}\nor\n{CONSIDERED}</think>\n\n{ANSWER}",
        f"[THINK]{CONSIDERED}[/THINK]{ANSWER}",
        f"◁think▷{CONSIDERED}◁/think▷\n{ANSWER}",
        f"Thought: I could do\n{CONSIDERED}\nCode:\n{ANSWER}<end_code>",
        "Thought: refund_all() is wrong.\n<code>\nprint(total())\n</code>",
        f"<|channel|>analysis<|message|>{CONSIDERED}<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>",
        f"<|channel|>analysis<|message|>{CONSIDERED}<|end|><|channel|>commentary to=python <|message|>print(total())",
        "<|channel|>analysis<|message|>Hm.<|end|><|channel|>analysis to=python code<|message|>print(total())<|call|>",
        "<|start|>assistant to=python<|channel|>analysis <|constrain|>code<|message|>print(total())<|call|>",
        "<think>refund_all()</think>print(total())",
        f"{CONSIDERED}\nno.</think>{ANSWER}",
        f"{CONSIDERED}\nno.</think>Here it is:\n{ANSWER}",
        f"Thought: the total.\n{ANSWER}\nAction: wait for the output.",
        f"Thought: the total.\n{ANSWER}\nCode: done",
        f"{ANSWER}\nIt leaves the </think> tag alone.",
    ],
)
def test_program_comes_from_outside_the_reasoning(answer: str) -> None:
    assert extract_code(answer) == "print(total())"


@pytest.mark.parametrize(
    "answer",
    [
        f"<think>\n{CONSIDERED}\nand then",
        f"<think>\n{CONSIDERED}\n</think>\nThere is nothing to do.",
        f"{CONSIDERED}\n</think>\nThere is nothing to do.",
        f"<|channel|>analysis<|message|>{CONSIDERED}<|end|>",
    ],
)
def test_reasoning_alone_holds_no_program(answer: str) -> None:
    assert extract_code(answer) is None


TAGS = [
    ("<analysis>", "</analysis>"),
    ("<antThinking>", "</antThinking>"),
    ("<ant:thinking>", "</ant:thinking>"),
    ("<seed:think>", "</seed:think>"),
    ("<think >", "</think >"),
    ("<chain_of_thought>", "</chain_of_thought>"),
    ("<thinking_process>", "</thinking_process>"),
    ("<inner_monologue>", "</inner_monologue>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<\uff5cbegin▁of▁thinking\uff5c>", "<\uff5cend▁of▁thinking\uff5c>"),
    ("[THINKING]", "[/THINKING]"),
    ("<unused94>thought\n", "<unused95>"),
    ("<|channel>thought\n", "<channel|>"),
]


@pytest.mark.parametrize(("start", "end"), TAGS)
def test_every_spelling_of_a_tag_is_reasoning(start: str, end: str) -> None:
    assert extract_code(f"{start}\n{CONSIDERED}\n{end}\n{ANSWER}") == "print(total())"
    assert extract_code(f"{CONSIDERED}\n{end}\n{ANSWER}") == "print(total())"
    assert extract_code(f"{start}\n{CONSIDERED}\n{end}\nNothing to do.") is None
    assert extract_code(f"{start}\n{CONSIDERED}\nand then") is None
    assert extract_code(f"{FENCE}python\nprint('{start.strip()}')\n{FENCE}") == f"print('{start.strip()}')"


@pytest.mark.parametrize(
    "program",
    [
        "print('<think>')\ntext = '</think>'",
        'text = """\n<think>\n</think>\n"""\nprint(text)',
        "# </think>\nprint(1)",
        "print(text.split('</think>')[-1])",
        "print(text.split('<|channel|>')[-1])",
        'text = """\nThought: a\nCode: b\n"""\nprint(text)',
    ],
)
def test_program_may_name_the_tags(program: str) -> None:
    assert extract_code(f"{FENCE}python\n{program}\n{FENCE}") == program
    assert extract_code(f"Here: {FENCE}python\n{program}\n{FENCE}") == program
    assert extract_code(f"<think>\n{CONSIDERED}\n</think>\n{FENCE}python\n{program}\n{FENCE}") == program


@pytest.mark.parametrize(
    ("answer", "program"),
    [
        (f"{FENCE}pycon\n>>> rows = find()\n>>> for row in rows:\n...     print(row)\n...\n1\n{FENCE}", LOOP),
        ("<code>print(total())</code>", "print(total())"),
        ("<python>\n  print(total())\n</python> done", "print(total())"),
        ("python\nprint(total())", "print(total())"),
        ('<code language="python">\nprint(total())\n</code>', "print(total())"),
        ("<pre><code class='language-python'>print(total())</code></pre>", "print(total())"),
        ("<|python_tag|>print(total())<|eom_id|>", "print(total())"),
        (
            f"{FENCE}python\nIn [1]: rows = find()\n   ...: print(rows)\nOut[1]: 2\n{FENCE}",
            "rows = find()\nprint(rows)",
        ),
        (f"{FENCE}python\nprint(total())\n</code>", "print(total())"),
        (f"Thought: a\n<code>\nprint(total())\n{FENCE}", "print(total())"),
        (f"<code>\n{FENCE}python\nprint(total())\n{FENCE}\n</code>", "print(total())"),
        ("print(total())\n</code>", "print(total())"),
        (f"{FENCE}python\n`\nprint(total())\n{FENCE}", "print(total())"),
        (f"{FENCE}python\n`print(total())`\n{FENCE}", "print(total())"),
        ('{"code": "print(total())"}', "print(total())"),
        (f'{FENCE}json\n{{"code": "print(total())"}}\n{FENCE}', "print(total())"),
    ],
)
def test_other_marks_of_programs_are_understood(answer: str, program: str) -> None:
    assert extract_code(answer) == program


def test_mark_within_a_sentence_begins_no_program() -> None:
    assert extract_code("The mark <|python_tag|>pay(1)<|eom_id|> would be wrong to use.") is None
    assert extract_code("I add them up.\n<|python_tag|>print(total())<|eom_id|>") == "print(total())"


@pytest.mark.security
@pytest.mark.parametrize(
    "shape",
    [
        "<think>\n",
        "</think>\n",
        "<think></think>",
        "<code>",
        "<|channel|>a<|message|>",
        "Thought:\n",
        "Code:\n",
        "◁think▷",
        "a ```py\n",
        "> ```py\n",
        "<a_b_c_think ",
        "<|begin_of_",
        "<unused1>thought ",
        "<code a",
        "</code>\n",
        '{"code": ',
    ],
)
def test_reasoning_is_removed_in_linear_time(shape: str) -> None:
    check_growth(lambda size: shape * (size // len(shape)), extract_code, start=10_000, most=1_000_000, bytes_each=100)
