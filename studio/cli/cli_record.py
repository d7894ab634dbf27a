"""`penstock record`: keep what a provider sends, with its times, while it is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ...events.errors import UsageError
from ...pipeline.pipeline import Pipeline
from ..reading.checked_stream import PipedBody
from ..recordings.record import RecordingFile, new_recording, tap_into
from .cli_parts import ApiName, AsJson, StrategyName, ToolNames, Watched, complain, show
from .cli_run import MODEL, PROVIDER, BaseUrl, KeyFrom, MaxTokens, Question, SystemPrompt, ask_and_show

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


def _show_body(tap: Callable[[Any], Any], api: str | None, strategy: str | None, *, as_json: bool) -> Watched:
    if sys.stdin is not None and sys.stdin.isatty():
        complain("reading a body from the input; Ctrl-D ends it")
    body = PipedBody(tap, api)
    body.begin()
    answer = Pipeline(strategy, keep_answer=False).stream(body.chunks())

    def stop(reason: str) -> None:
        answer.cancel(reason)
        body.stop()

    watched = Watched(answer, stop)
    show(watched, as_json=as_json)
    if watched.error is not None and not watched.is_stopped:
        complain(str(watched.error))
    return watched
