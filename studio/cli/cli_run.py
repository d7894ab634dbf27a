"""`penstock run`: send a prompt to a real model and show its answer as it arrives."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import typer

from ...events.errors import ProviderError, UsageError, shown_url
from ...pipeline.pipeline import Pipeline
from ...sources.base.request import Request
from ...sources.recognition.apis import PROVIDERS, provider_of
from ...sources.streams.bounded_read import LONGEST_TEXT, read_bounded
from ..reading.read_input import INPUT_IS_CLOSED, reason_of
from ..run_provider import connected, key_from_environment, url_from_environment, with_tools
from .cli_parts import SHOWN_PROVIDERS, AsJson, StrategyName, ToolNames, Watched, complete_provider, show, tools_named

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
    pipeline = Pipeline(strategy, tools=tools or None, keep_answer=False, record=record)
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
