"""One streamed request, in the form of each provider's SDK."""

from __future__ import annotations

import warnings
from typing import Any

from msgspec import Struct

ANTHROPICS_MAX_TOKENS = 8192
"""The `max_tokens` of requests to Anthropic, whose API requires a number; other APIs have defaults."""


class Request(Struct, frozen=True, kw_only=True):
    """The content of a request; `tools`, as the function `tool` takes them, are described to the model, not run."""

    model: str
    prompt: str
    system: str | None = None
    tools: tuple[Any, ...] = ()
    max_tokens: int | None = None
    base_url: str | None = None


def _messages(request: Request) -> list[dict[str, str]]:
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, {"role": "user", "content": request.prompt}]


def _said(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def ask_chat(client: Any, request: Request, tools: Any) -> Any:
    # OpenAI's newer models refuse the old name, and servers that are not OpenAI's know no other.
    limit = "max_completion_tokens" if request.base_url is None else "max_tokens"
    options = _said(tools=tools, **{limit: request.max_tokens})
    return client.chat.completions.create(model=request.model, messages=_messages(request), stream=True, **options)


def ask_responses(client: Any, request: Request, tools: Any) -> Any:
    options = _said(
        tools=tools,
        instructions=request.system,
        max_output_tokens=request.max_tokens,
    )
    return client.responses.create(model=request.model, input=request.prompt, stream=True, **options)


def ask_anthropic(client: Any, request: Request, tools: Any) -> Any:
    return client.messages.create(
        model=request.model,
        max_tokens=request.max_tokens or ANTHROPICS_MAX_TOKENS,
        messages=[{"role": "user", "content": request.prompt}],
        stream=True,
        **_said(tools=tools, system=request.system),
    )


def ask_gemini(client: Any, request: Request, tools: Any) -> Any:
    config = _said(
        tools=tools,
        system_instruction=request.system,
        max_output_tokens=request.max_tokens,
    )
    return client.models.generate_content_stream(model=request.model, contents=request.prompt, config=config or None)


def ask_mistral(client: Any, request: Request, tools: Any) -> Any:
    options = _said(tools=tools, max_tokens=request.max_tokens)
    return client.chat.stream(model=request.model, messages=_messages(request), **options)


def ask_ollama(client: Any, request: Request, tools: Any) -> Any:
    options = None if request.max_tokens is None else {"num_predict": request.max_tokens}
    return client.chat(
        model=request.model, messages=_messages(request), stream=True, **_said(tools=tools, options=options)
    )


def ask_bedrock(client: Any, request: Request, tools: Any) -> Any:
    return client.converse_stream(
        modelId=request.model,
        messages=[{"role": "user", "content": [{"text": request.prompt}]}],
        **_said(
            system=[{"text": request.system}] if request.system else None,
            inferenceConfig={"maxTokens": request.max_tokens} if request.max_tokens else None,
            toolConfig={"tools": tools} if tools else None,
        ),
    )


def ask_cohere(client: Any, request: Request, tools: Any) -> Any:
    options = _said(tools=tools, max_tokens=request.max_tokens)
    return client.chat_stream(model=request.model, messages=_messages(request), **options)


def ask_interactions(client: Any, request: Request, tools: Any) -> Any:
    config = {"max_output_tokens": request.max_tokens} if request.max_tokens else None
    options = _said(tools=tools, system_instruction=request.system, generation_config=config)
    return client.interactions.create(model=request.model, input=request.prompt, stream=True, **options)


def ask_assistants(client: Any, request: Request, tools: Any) -> Any:
    """Run an assistant, whose id is the model of the request, on a thread of its own."""
    options = _said(tools=tools, instructions=request.system, max_completion_tokens=request.max_tokens)
    thread = {"messages": [{"role": "user", "content": request.prompt}]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # which the SDK says of this whole API
        return client.beta.threads.create_and_run(assistant_id=request.model, thread=thread, stream=True, **options)
