"""The real SDKs, each connected to a server on this machine and to nothing else.

An SDK takes longer to import than everything else together, so each is imported when it is asked for. Not even a proxy
of the environment comes between it and the server.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..sources.from_anthropic import from_anthropic
from ..sources.from_gemini import from_gemini
from ..sources.from_openai_chat import from_openai_chat
from ..sources.from_openai_responses import from_openai_responses

if TYPE_CHECKING:
    from openai import OpenAI, Stream
    from openai.types.chat import ChatCompletionChunk

Player: TypeAlias = Callable[[str], AbstractContextManager[Observable[ChunkResponse]]]

_PROMPT = "Play the recording."


@contextmanager
def _openai(url: str) -> Generator[OpenAI, None, None]:
    import openai  # noqa: PLC0415 - see above

    with (
        openai.DefaultHttpxClient(trust_env=False) as http_client,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, http_client=http_client) as client,
    ):
        yield client


@contextmanager
def loopback_chat(url: str) -> Generator[Callable[[], Stream[ChatCompletionChunk]], None, None]:
    """Give a callable that starts one streamed chat completion at a `LoopbackServer`.

    with LoopbackServer(body) as server, loopback_chat(server.url) as start:
        from_openai_chat(start).subscribe(print)
    """
    with _openai(url) as client:
        yield lambda: client.chat.completions.create(
            model="recording",
            messages=[{"role": "user", "content": _PROMPT}],
            stream=True,
        )


@contextmanager
def _chat(url: str) -> Generator[Observable[ChunkResponse], None, None]:
    with loopback_chat(url) as start:
        yield from_openai_chat(start, choices="all")


@contextmanager
def _responses(url: str) -> Generator[Observable[ChunkResponse], None, None]:
    with _openai(url) as client:
        yield from_openai_responses(lambda: client.responses.create(model="recording", input=_PROMPT, stream=True))


@contextmanager
def _messages(url: str) -> Generator[Observable[ChunkResponse], None, None]:
    import anthropic  # noqa: PLC0415 - see above

    with (
        anthropic.DefaultHttpxClient(trust_env=False) as http_client,
        anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, http_client=http_client) as client,
    ):
        # The beta client reads everything that the other reads, and what only betas have.
        yield from_anthropic(
            lambda: client.beta.messages.create(
                model="recording",
                max_tokens=1,
                messages=[{"role": "user", "content": _PROMPT}],
                stream=True,
            )
        )


@contextmanager
def _gemini(url: str) -> Generator[Observable[ChunkResponse], None, None]:
    try:
        genai: Any = import_module("google.genai")
    except ImportError as error:
        message = 'needs Google\'s SDK: pip install "penstock[gemini]"; or use --via wire'
        raise UsageError(message) from error
    options = genai.types.HttpOptions(base_url=url, client_args={"trust_env": False})
    with genai.Client(api_key="none", http_options=options) as client:
        yield from_gemini(
            lambda: client.models.generate_content_stream(model="recording", contents=_PROMPT),
            choices="all",
        )


SDKS: Mapping[str, Player] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic-messages": _messages,
    "gemini": _gemini,
}
"""By the name of the API: connects the SDK to a server, and gives the stream that it will ask for."""
