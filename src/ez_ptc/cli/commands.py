"""The commands and their options, for cyclopts; each command has its own module."""

import sys
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import App, CycloptsError, MissingArgumentError, Parameter, UnusedCliTokensError

from ez_ptc._distribution import VERSION
from ez_ptc.cli.runs.commands import runs_app
from ez_ptc.cli.shapes.commands import shapes_app

__all__ = ["ask", "chat", "check", "demo", "doctor", "run", "run_command", "serve", "view"]

_Flag = Annotated[bool, Parameter(negative=())]
_Names = Annotated[list[str] | None, Parameter(negative=())]
_ProgramFile = Annotated[str, Parameter(allow_leading_hyphen=True, help="The program's file, or - for standard input.")]
_TOOLS: Final = "The Toolkit, as module:name; the current folder is searched, too, after what is installed."
_Tools = Annotated[str, Parameter(help=_TOOLS)]
_Model = Annotated[
    str | None,
    Parameter(
        env_var="EZ_PTC_MODEL",
        help="The model, as provider:model, such as anthropic:claude-sonnet-5 (default: the first provider with a "
        "key).",
    ),
]
_KeyVariable = Annotated[
    str | None,
    Parameter(help="The environment variable of the key (default: the provider's own, such as ANTHROPIC_API_KEY)."),
]
_Provider = Annotated[
    str | None, Parameter(help="The provider, such as anthropic, openai or openai-chat, or one of another package.")
]
_Mode = Annotated[
    Literal["tool", "prompt"],
    Parameter(help="The form of programs: as a tool call, or in the model's text, which works with any model."),
]


def run_command(arguments: list[str] | None = None) -> int:
    """Run a command line (default: the process's own) and return the exit code, 2 for invalid arguments."""
    app = App(
        name="ez-ptc",
        help="Give any language model your Python functions, as whole programs run in a kernel sandbox.",
        version=f"ez-ptc {VERSION}",
        result_action="return_value",
    )
    for command in (demo, run, runs_app(), shapes_app(), view, check, ask, chat, serve, doctor):
        app.command(command)
    try:
        result: object = app(arguments, exit_on_error=False)
    except CycloptsError as error:  # cyclopts has printed what is wrong on standard error
        command = ["ez-ptc", *(error.command_chain or ())]
        print(_advice(error, command[-1]), end="", file=sys.stderr)
        print(f"For its arguments and options: {' '.join(command)} --help", file=sys.stderr)
        return 2
    if isinstance(result, int):
        return result
    return 0


def _advice(error: CycloptsError, command: str) -> str:
    """Return a line that says what to write instead of wrong arguments; "" for a mistake that cyclopts explains."""
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        unused = error.unused_tokens[0]
        if ":" in unused:
            return f"Name tools by an option: --tools {unused}\n"
        if command == "ask":
            return 'Write the question in quotes: ez-ptc ask "How many lamps are there?" --tools shop:toolkit\n'
        if command == "chat":
            return "Ask at the prompt, or for one answer: ez-ptc ask QUESTION --tools shop:toolkit\n"
        if Path(unused).suffix:
            return f"Name a file by an option, such as --journal {unused}\n"
    if isinstance(error, MissingArgumentError) and error.argument is not None and "--tools" in error.argument.names:
        return "Name your Toolkit as module:name; for `toolkit = Toolkit([...])` in shop.py: --tools shop:toolkit\n"
    return ""


def demo(
    *,
    base_url: Annotated[str | None, Parameter(env_var="OPENAI_BASE_URL")] = None,
    model: Annotated[str | None, Parameter(env_var="OPENAI_MODEL")] = None,
    record: Annotated[Path | None, Parameter(show=False)] = None,
) -> int:
    """Answer three questions about a small shop with programs written by a model; in a clone of the repository.

    The model runs on this machine, unless --base-url or --model (or their variables) name one on a server.
    OPENAI_API_KEY, if set, is sent to that server.

    Parameters
    ----------
    base_url
        The URL of a server with OpenAI's Chat Completions API, such as http://localhost:11434/v1.
    model
        The model of that server (default: its only one).
    record
        Write the model's answers to this file, for the recorded run.
    """
    from ez_ptc.cli.demo import run_demo

    return run_demo(base_url=base_url, model=model, record=record)


def run(  # noqa: PLR0913 - the options of the command
    file: _ProgramFile,
    /,
    *,
    tools: _Tools,
    timeout: float | None = None,
    calls: _Flag = False,
    json: _Flag = False,
    images: Path | None = None,
    journal: str | None = None,
) -> int:
    """Run a program in the sandbox, with your tools.

    The exit code is 0 if it succeeds, 1 if it fails, and 3 if calls wait for a decision, with --journal.

    Parameters
    ----------
    timeout
        The timeout in seconds (default: the toolkit's).
    calls
        Print the tool calls on standard error, as they happen (default on a terminal).
    json
        Print the result as JSON: output, calls, value, error.
    images
        The folder for the program's pictures, such as matplotlib figures.
    journal
        Record the run in this file, or at this address (default: the toolkit's journal, if any); see `ez-ptc runs`.
    """
    from ez_ptc.cli.run import ResultOptions, run_program

    options = ResultOptions(as_json=json, show_calls=calls, images=images)
    return run_program(file, tools, timeout=timeout, journal=journal, options=options)


def view(  # noqa: PLR0913 - the options of the command
    run: Annotated[str | None, Parameter(help="The run's id, or its beginning (default: the list of runs).")] = None,
    /,
    *,
    journal: Annotated[str | None, Parameter(env_var="EZ_PTC_JOURNAL")] = None,
    output: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8400,
    user: _Names = None,
    user_header: str | None = None,
    trust_proxy: _Names = None,
    allow_host: _Names = None,
    allow_origin: _Names = None,
    history: Path | None = None,
) -> int:
    """Show the runs of a journal in a browser, and decide about calls that wait for a person.

    Parameters
    ----------
    journal
        The file of the journal, or its address (default: runs.db; may be missing with --history).
    output
        Write the page of the run to this file instead, for any browser, and end.
    host
        The address to serve on.
    port
        The port.
    user
        A person who may look and decide; may be repeated (default: you). Each gets an address with an own token, whose
        name stands in the journal beside each decision.
    user_header
        The header in which a proxy names the person, such as X-User; only from the address of --trust-proxy.
    trust_proxy
        The address of a proxy that has logged people in; may be repeated. Its requests need a token all the same.
    allow_host
        A further name by which browsers reach the server, such as a proxy's; may be repeated.
    allow_origin
        The origin of the pages there, such as https://runs.example; may be repeated.
    history
        Show the conversations in this file, too, with their tokens and costs.
    """
    from ez_ptc.cli.viewing.view import ViewOptions, serve_pages, write_page

    if output is not None:
        return write_page(journal, run or "", output)
    people = tuple(user or ()), user_header, tuple(trust_proxy or ())
    options = ViewOptions(host, port, *people, tuple(allow_host or ()), tuple(allow_origin or ()), history)
    return serve_pages(journal, run, options)


def check(file: _ProgramFile, /, *, tools: _Tools) -> int:
    """Print the mistakes of a program without running it. The exit code is 1 if there are any."""
    from ez_ptc.cli.run import check_file

    return check_file(file, tools)


def chat(  # noqa: PLR0913 - the options of the command
    *,
    tools: Annotated[str | None, Parameter(help=_TOOLS)] = None,
    model: _Model = None,
    base_url: str | None = None,
    key_env: _KeyVariable = None,
    provider: _Provider = None,
    mode: _Mode = "tool",
    history: Path | None = None,
    resume: str | None = None,
) -> int:
    """Chat with a model that may use your tools. You approve calls here.

    Parameters
    ----------
    base_url
        The URL of a server with OpenAI's Chat Completions API, such as http://localhost:11434/v1; --model is then the
        model of that server (default: its only one). With --provider, the URL of that provider.
    history
        The history file.
    resume
        The id of the conversation to continue.
    """
    from ez_ptc.cli.chat import run_chat
    from ez_ptc.cli.models import ModelOptions

    options = ModelOptions(model, base_url, key_env, provider)
    return run_chat(tools, options, history=history, resume=resume, mode=mode)


def ask(  # noqa: PLR0913 - the options of the command
    question: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    tools: _Tools,
    model: _Model = None,
    base_url: str | None = None,
    key_env: _KeyVariable = None,
    provider: _Provider = None,
    mode: _Mode = "tool",
    json: _Flag = False,
) -> int:
    """Answer one question with a model that may use your tools. Calls are shown on standard error.

    Calls that require approval are asked about on the terminal, and refused without one. The exit code is 0 for an
    answer, 1 for none or one that was cut off, and 3 if calls wait for a decision.

    Parameters
    ----------
    question
        The question, or - for standard input.
    base_url
        The URL of a server with OpenAI's Chat Completions API, such as http://localhost:11434/v1, or of the provider.
    json
        Print the answer as JSON, with the calls, the tokens and the cost.
    """
    from ez_ptc.cli.ask import ask_question
    from ez_ptc.cli.models import ModelOptions

    options = ModelOptions(model, base_url, key_env, provider)
    return ask_question(question, tools, options, mode=mode, as_json_text=json)


def serve(  # noqa: PLR0913 - the options of the command
    tools: _Tools,
    *,
    mode: Literal["tools", "programs", "both"] | None = None,
    http: int | None = None,
    host: str = "127.0.0.1",
    token: Annotated[str | None, Parameter(env_var="EZ_PTC_MCP_TOKEN")] = None,
    no_token: _Flag = False,
    show_token: _Flag = False,
    print_config: _Flag = False,
    folder: Path | None = None,
    allow_host: _Names = None,
    allow_origin: _Names = None,
) -> int:
    """Serve your tools to MCP clients, on standard input and output or over HTTP.

    Parameters
    ----------
    mode
        Serve each tool, programs with tools to search and describe, or both (default: by the number of tools).
    http
        Serve over streamable HTTP on this port, at /mcp.
    host
        The address to serve on.
    token
        The bearer token that requests need (default: one is made, and kept in a file for you only); better in the
        variable than on the command line.
    no_token
        Serve all programs of this machine without a token; only on a loopback address.
    show_token
        Print the token.
    print_config
        Print the entry for the configuration of a desktop client, which starts the server itself or, with --http,
        connects to it; then end.
    folder
        The folder to search for the module (default: the current one).
    allow_host
        A further name by which clients reach the server, such as a proxy's; may be repeated.
    allow_origin
        The origin of a web page that may call, such as https://shop.example; may be repeated.
    """
    from ez_ptc.cli.serving.serve import HttpOptions, print_configuration, serve_toolkit

    options = HttpOptions(host, http, token, no_token, show_token, tuple(allow_host or ()), tuple(allow_origin or ()))
    if print_config:
        return print_configuration(tools, mode, options, folder)
    return serve_toolkit(tools, mode, options, folder)


def doctor(*, json: _Flag = False) -> int:
    """Show the isolation of programs on this machine, missing features, and remedies.

    The exit code is 0 if all requirements are met, and 1 if programs cannot run here.

    Parameters
    ----------
    json
        Print the report as JSON.
    """
    from ez_ptc.cli.doctor import show_report

    return show_report(as_json=json)
