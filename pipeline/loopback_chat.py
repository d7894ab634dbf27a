"""The real OpenAI SDK, connected to a server on this machine and to nothing else."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openai import Stream
    from openai.types.chat import ChatCompletionChunk


@contextmanager
def loopback_chat(url: str) -> Generator[Callable[[], Stream[ChatCompletionChunk]], None, None]:
    """Give a callable that starts one streamed chat completion at a `LoopbackServer`.

    with LoopbackServer(body) as server, loopback_chat(server.url) as start:
        from_openai_chat(start).subscribe(print)
    """
    import openai  # noqa: PLC0415 - takes longer to import than everything else together; `--help` need not wait

    # Not even a proxy of the environment comes in between.
    with (
        openai.DefaultHttpxClient(trust_env=False) as http_client,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, http_client=http_client) as client,
    ):
        yield lambda: client.chat.completions.create(
            model="recording",
            messages=[{"role": "user", "content": "Play the recording."}],
            stream=True,
        )
