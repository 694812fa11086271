"""The commands and their options, as cyclopts reads them; the work is done in a module for each."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from ez_ptc.cli.version import installed_version

__all__ = ["chat", "demo", "doctor", "run", "run_command"]


def run_command(arguments: list[str] | None = None) -> int:
    """Carry out a command line, the process's own by default, and return the exit code: 2 when it makes no sense."""
    app = App(
        name="ez-ptc",
        help="Give any language model your Python functions, as whole programs run in a kernel sandbox.",
        version=f"ez-ptc {installed_version()}",
        result_action="return_value",
    )
    app.command(demo)
    app.command(run)
    app.command(chat)
    app.command(doctor)
    try:
        result: object = app(arguments, exit_on_error=False)
    except CycloptsError:  # it has been explained on standard error
        return 2
    return result if isinstance(result, int) else 0


def demo(
    *,
    base_url: Annotated[str | None, Parameter(env_var="OPENAI_BASE_URL")] = None,
    model: Annotated[str | None, Parameter(env_var="OPENAI_MODEL")] = None,
    record: Annotated[Path | None, Parameter(show=False)] = None,
) -> int:
    """Answer three questions to a small shop with programs that a model writes.

    The model runs on this machine, unless --base-url or --model (or their variables) name one behind a server;
    OPENAI_API_KEY is sent to that server, where it is set.

    Parameters
    ----------
    base_url
        The address of a server that speaks OpenAI's Chat Completions, such as http://localhost:11434/v1.
    model
        The model of that server; its only one by default.
    record
        Write the model's answers to this file, for the run that is shown where no model can be had.
    """
    from ez_ptc.cli.demo.command import run_demo

    return run_demo(base_url=base_url, model=model, record=record)


def run(
    file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    tools: str,
    timeout: float | None = None,
    calls: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
    images: Path | None = None,
) -> int:
    """Run a program in the sandbox, with your tools in it.

    Parameters
    ----------
    file
        The program; - for standard input.
    tools
        Where the Toolkit is, as module:name; the module is also looked for in the present folder.
    timeout
        Seconds that the program may take, instead of the toolkit's own limit.
    calls
        Show each tool call on standard error as it ends.
    json
        Print how it ended as JSON: output, calls, value, error.
    images
        A folder to save the program's pictures in, such as the figures of matplotlib.
    """
    from ez_ptc.cli.run import run_program

    return run_program(file, tools, timeout=timeout, show_calls=calls, as_json=json, images=images)


def chat(
    *,
    tools: str | None = None,
    model: Annotated[str | None, Parameter(env_var="EZ_PTC_MODEL")] = None,
    mode: Literal["tool", "prompt"] = "tool",
    history: Path | None = None,
    resume: str | None = None,
) -> int:
    """Talk with a model that may use your tools; calls that require approval are asked about here.

    Parameters
    ----------
    tools
        Where the Toolkit is, as module:name; the module is also looked for in the present folder.
    model
        Who answers, as provider:model, such as anthropic:claude-sonnet-5; by default the first that there is a key for.
    mode
        How the model writes programs: as the call of a tool, or in its text, which any model can.
    history
        The file that conversations are kept in.
    resume
        The conversation to go on with, by its id.
    """
    from ez_ptc.cli.chat import run_chat

    return run_chat(tools, model, history=history, resume=resume, mode=mode)


def doctor(*, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Show what the kernel enforces around programs here, what is missing, and what to do.

    The exit code is 0 when all that is required holds, and 1 when programs cannot be run here.

    Parameters
    ----------
    json
        Print it as JSON.
    """
    from ez_ptc.cli.doctor import show_report

    return show_report(as_json=json)
