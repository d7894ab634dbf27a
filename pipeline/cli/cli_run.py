"""`penstock run`: send a prompt to a real model and show its answer as it arrives."""

from __future__ import annotations

from typing import Annotated

import typer

from .asked_answer import MODEL, PROVIDER, BaseUrl, KeyFrom, MaxTokens, SystemPrompt, ask_and_show
from .cli_parts import AsJson, StrategyName, ToolNames

RUN_EXAMPLES = """\b
Examples:
  penstock run --provider openai --model gpt-5 "Say hello in five languages."
  penstock run --provider anthropic --model claude-sonnet-4-5 --tool write_file "Write a garden in SVG."
  penstock run --provider ollama --model qwen3 --tool shop.py:price "What does the bike cost?"
  penstock run --provider openai --base-url http://127.0.0.1:8000/v1 --model any "Hi"
  git diff | penstock run --provider gemini --model gemini-2.5-pro --system "Review this." --json
"""


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
    )
    if watched.is_stopped:
        raise typer.Exit(130)
