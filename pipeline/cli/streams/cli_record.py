"""`penstock record`: keep what a provider sends, with its times, while it is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ....events.errors import UsageError
from ....sources.record import record as recorder
from ...pipeline import Pipeline
from ...recordings.piped_body import PipedBody
from ..cli_parts import ApiName, AsJson, StrategyName, ToolNames, Watched, complain, show
from ..cli_run import MODEL, PROVIDER, BaseUrl, KeyFrom, MaxTokens, SystemPrompt, ask_and_show

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
    if Path(output).is_file() and not overwrite:
        message = f"{output} exists already; choose another --output, a folder, or pass --overwrite"
        raise UsageError(message)
    tap = recorder(output, api=api, overwrite=overwrite)
    if provider is None:
        if prompt not in (None, "-") or model is not None:
            message = "to ask a model pass --provider and --model; without them a body is read from the input"
            raise UsageError(message)
        watched = _show_body(tap, api, strategy, as_json=as_json)
    else:
        if model is None:
            message = "--provider needs --model"
            raise UsageError(message)
        watched = ask_and_show(
            prompt,
            provider=provider,
            model=model,
            tool=tool,
            system=system,
            max_tokens=max_tokens,
            base_url=base_url,
            key_from=key_from,
            strategy=strategy,
            as_json=as_json,
            record=tap,
        )
    typer.echo(f"recorded in {output}", err=True)
    raise typer.Exit(130 if watched.is_stopped else 1 if watched.error is not None else 0)


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
