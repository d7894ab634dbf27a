"""`penstock run` and `penstock record`: ask a real model, show its answer as it arrives, and keep it with its times."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import typer

from ...events.errors import ProviderError, UsageError, shown_url
from ...pipeline.pipeline import Pipeline
from ...pipeline.strategies import Strategy, strategy_named
from ...sources.base.request import Request
from ...sources.recognition.apis import PROVIDERS, provider_of
from ...sources.recordings.recording_file import RecordingFile
from ...sources.streams.bounded_read import LONGEST_TEXT, read_bounded, reason_of
from ..reading.read_input import INPUT_IS_CLOSED, PipedBody
from ..record import new_recording, tap_into
from ..run_provider import connected, key_from_environment, url_from_environment, with_tools
from .cli_parts import (
    SHOWN_PROVIDERS,
    ApiName,
    AsJson,
    StrategyName,
    ToolNames,
    Watched,
    complain,
    complete_provider,
    show,
    tools_named,
)

RUN_EXAMPLES = """\b
Examples:
  penstock run --provider openai --model gpt-5 "Say hello in five languages."
  penstock run --provider anthropic --model claude-sonnet-4-5 --tool write_file "Write a garden in SVG."
  penstock run --provider ollama --model qwen3 --tool shop.py:price "What does the bike cost?"
  penstock run --provider openai --base-url http://127.0.0.1:8000/v1 --model any "Hi"
  git diff | penstock run --provider gemini --model gemini-2.5-pro --system "Review this." --json
"""

PROVIDER = typer.Option(metavar="NAME", help=f"{SHOWN_PROVIDERS}.", autocompletion=complete_provider)
MODEL = typer.Option(metavar="NAME", help="The model, as the provider names it.")
SystemPrompt = Annotated[str | None, typer.Option(metavar="TEXT", help="The system prompt.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="The maximum length of the answer, in tokens.")]
BaseUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="Another server with the same API, in the form that the SDK takes.")
]
KeyFrom = Annotated[
    str | None, typer.Option(metavar="VARIABLE", help="The environment variable with the key, if another.")
]


def run(  # noqa: PLR0913 - the options of the command
    prompt: Annotated[
        str | None, typer.Argument(metavar="PROMPT", help="The prompt; - or nothing: read from the input.")
    ] = None,
    *,
    provider: Annotated[str, PROVIDER],
    model: Annotated[str, MODEL],
    tool: ToolNames = None,
    system: SystemPrompt = None,
    max_tokens: MaxTokens = None,
    base_url: BaseUrl = None,
    key_from: KeyFrom = None,
    strategy: StrategyName = None,
    as_json: AsJson = False,
) -> None:
    """Ask a model and show its answer while it arrives: text, files, commands, calls.

    Tool calls are shown, never run. The key is the provider's usual environment variable: OPENAI_API_KEY,
    ANTHROPIC_API_KEY, GEMINI_API_KEY or GOOGLE_API_KEY, MISTRAL_API_KEY; a server on this machine needs none. The SDKs
    do not retry by themselves. With a --strategy for calls in text, the system prompt describes the tools. Ctrl-C stops
    the answer: open segments end as interrupted, and the exit code is 130. Any error is printed in one line, with exit
    code 2.
    """
    question = Question(provider, model, prompt, tool, system, max_tokens, base_url, key_from)
    watched = ask_and_show(question, strategy, as_json=as_json)
    if watched.is_stopped:
        raise typer.Exit(130)


class Question(NamedTuple):
    """What a model is asked, by the options of the commands."""

    provider: str
    model: str
    prompt: str | None = None
    tool: list[str] | None = None
    system: str | None = None
    max_tokens: int | None = None
    base_url: str | None = None
    key_from: str | None = None


def ask_and_show(
    question: Question, strategy: str | None, *, as_json: bool, record: Callable[[Any], Any] | None = None
) -> Watched:
    """Show the answer and return its outcome; `record` taps the provider's stream.

    Raises `UsageError` for wrong options, for a missing key, and for what the provider refuses.
    """
    provider, model, prompt, tool, system, max_tokens, base_url, key_from = question
    known = provider_of(provider).name
    tools = tools_named(tool or ())
    if not model.strip():
        message = "--model is empty"
        raise UsageError(message)
    url = base_url or url_from_environment(known)
    if base_url is not None:
        _check_url(base_url, "--base-url")
    elif url is not None and "://" in url:  # Ollama's may be a host alone
        _check_url(url, PROVIDERS[known].url_from)
    pipeline = Pipeline(
        None if strategy is None else strategy_named(strategy), tools=tools or None, keep_answer=False, record=record
    )
    key = key_from_environment(known, url, key_from)
    request = with_tools(
        Request(model=model, prompt=_prompt(prompt), system=system, max_tokens=max_tokens, base_url=url), pipeline
    )
    with connected(known, request, key) as start:
        answer = pipeline.stream(start)
        watched = Watched(answer, answer.cancel)
        show(watched, as_json=as_json)
    if watched.error is not None and not watched.is_stopped:
        raise UsageError(_told(watched.error, provider, url or PROVIDERS[known].url))
    return watched


def _told(error: ProviderError, provider: str, url: str) -> str:
    return f"{error} (asked {provider} at {shown_url(url)})" if error.transport else str(error)


def _check_url(base_url: str, source: str) -> None:
    try:
        parts = urlsplit(base_url)
        is_whole = parts.scheme in ("http", "https") and bool((parts.hostname or "").encode("idna"))
        parts.port  # noqa: B018 - raises for a wrong one
    except ValueError:
        is_whole = False
    if not is_whole:
        message = f"{source} must be a complete URL such as http://127.0.0.1:8000/v1; got {shown_url(base_url)!r}"
        raise UsageError(message)


def _prompt(given: str | None) -> str:
    if given in (None, "-") and sys.stdin is None:
        raise UsageError(INPUT_IS_CLOSED)
    if given is None and sys.stdin.isatty():
        message = 'no prompt; run penstock run ... "PROMPT", or pipe it in'
        raise UsageError(message)
    try:
        prompt = read_bounded(sys.stdin, LONGEST_TEXT) if given in (None, "-") else given
    except UnicodeDecodeError as error:
        message = f"the input is not {error.encoding}: {error.reason} at {error.start}"
        raise UsageError(message) from error
    except (OSError, UsageError) as error:  # a folder, or what has no end
        message = f"the input cannot be read: {reason_of(error) if isinstance(error, OSError) else error}"
        raise UsageError(message) from error
    if not prompt.strip():
        message = "the prompt is empty"
        raise UsageError(message)
    return prompt


RECORD_EXAMPLES = """\b
Examples:
  penstock record -o answer.jsonl --provider openai --model gpt-5 "Say hello in five languages."
  curl -N ... | penstock record -o answer.jsonl
  penstock record -o recordings/ --provider ollama --model qwen3 --base-url http://127.0.0.1:11434 "Hi"
"""


def record(  # noqa: PLR0913 - the options of the command
    prompt: Annotated[
        str | None,
        typer.Argument(metavar="PROMPT", help="The prompt; - or nothing: read from the input."),
    ] = None,
    *,
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FILE", help="The recording; a folder gets a file named by the time."),
    ],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    provider: Annotated[str | None, PROVIDER] = None,
    model: Annotated[str | None, MODEL] = None,
    tool: ToolNames = None,
    system: SystemPrompt = None,
    max_tokens: MaxTokens = None,
    base_url: BaseUrl = None,
    key_from: KeyFrom = None,
    api: ApiName = None,
    strategy: StrategyName = None,
    as_json: AsJson = False,
) -> None:
    """Record an answer with its times while it is shown.

    Ask a model as with penstock run; or leave --provider out and pipe in the body of a streamed response, whose bytes
    are recorded as they arrive. Headers and keys are not recorded. After Ctrl-C, or a crash, the recording has what
    came until then. penstock replay, inspect and serve-recordings read it.
    """
    _check_output(output, overwrite=overwrite)
    files: list[RecordingFile] = []
    new = new_recording(output, api=api, overwrite=overwrite)

    def opened() -> RecordingFile:
        files.append(new())
        return files[-1]

    tap = partial(tap_into, opened)
    if provider is None:
        if prompt not in (None, "-") or model is not None:
            message = "to ask a model pass --provider and --model; without them a body is read from the input"
            raise UsageError(message)
        _refuse(tool=tool, system=system, max_tokens=max_tokens, base_url=base_url, key_from=key_from)
        ask = partial(_show_body, tap, api, strategy, as_json=as_json)
    else:
        if model is None:
            message = "--provider needs --model"
            raise UsageError(message)
        if api is not None:
            message = "--api is for a body from the input; leave it out, --provider says which API it is"
            raise UsageError(message)
        question = Question(provider, model, prompt, tool, system, max_tokens, base_url, key_from)
        ask = partial(ask_and_show, question, strategy, as_json=as_json, record=tap)
    try:
        watched = ask()
    finally:
        _say_where(files)
    raise typer.Exit(130 if watched.is_stopped else 1 if watched.error is not None else 0)


def _say_where(files: list[RecordingFile]) -> None:
    for each in files:
        if each.is_kept:
            typer.echo(f"recorded in {each.path}", err=True)


def _check_output(output: str, *, overwrite: bool) -> None:
    path = Path(output)
    if output == "-":
        message = "--output needs a file or a folder; the output shows the answer"
    elif not path.exists() or path.is_dir():
        return
    elif not path.is_file():
        message = f"{output} is not a regular file; choose another --output, or a folder"
    elif not overwrite:
        message = f"{output} exists already; choose another --output, a folder, or pass --overwrite"
    else:
        return
    raise UsageError(message)


def _refuse(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            message = f"--{name.replace('_', '-')} is for asking a model; pass --provider and --model, or leave it out"
            raise UsageError(message)


def _named(strategy: str | None) -> Strategy | None:
    return None if strategy is None else strategy_named(strategy)


def _show_body(tap: Callable[[Any], Any], api: str | None, strategy: str | None, *, as_json: bool) -> Watched:
    if sys.stdin is not None and sys.stdin.isatty():
        complain("reading a body from the input; Ctrl-D ends it")
    body = PipedBody(tap, api)
    body.begin()
    answer = Pipeline(_named(strategy), keep_answer=False).stream(body.chunks())

    def stop(reason: str) -> None:
        answer.cancel(reason)
        body.stop()

    watched = Watched(answer, stop)
    show(watched, as_json=as_json)
    if watched.error is not None and not watched.is_stopped:
        complain(str(watched.error))
    return watched
