"""The SDKs of Bedrock, Cohere, Gemini Interactions and OpenAI Assistants, each behind one face."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import chat_client
import gemini_client
import pytest
from body_server import BodyServer

from penstock.sources.bedrock.wire import event_stream

STREAMS = Path(__file__).parents[1] / "streams"
FURTHER = {
    "bedrock_converse": "bedrock-converse",
    "cohere": "cohere",
    "gemini_interactions": "gemini-interactions",
    "openai_assistants": "openai-assistants",
}
"""Folder -> the API of its streams."""
FRAMES = "application/vnd.amazon.eventstream"
MESSAGE = {"role": "user", "content": "-"}


class FurtherSdk(NamedTuple):
    """One SDK; `client` gives a function that starts a streamed request."""

    api: str
    folder: str
    client: Callable[[str], AbstractContextManager[Callable[[], Any]]]
    without: tuple[str, ...] = ()
    """Streams with things that the SDK refuses or does not pass on."""

    def streams(self) -> list[Path]:
        paths = sorted((STREAMS / self.folder).iterdir())
        return [path for path in paths if path.suffix != ".json" and path.stem not in self.without]

    def served(self, body: bytes, *, status: int = 200, **options: Any) -> BodyServer:
        if status != 200:
            return BodyServer(body, status=status, content_type="application/json")
        if self.api == "bedrock-converse":
            return BodyServer(event_stream(body), pieces=100, content_type=FRAMES, **options)
        return BodyServer(body, pieces=200, content_type="text/event-stream", **options)


@contextmanager
def bedrock(url: str) -> Iterator[Callable[[], Any]]:
    boto3: Any = pytest.importorskip("boto3", reason="needs boto3, the extra `bedrock`")
    config: Any = pytest.importorskip("botocore.config").Config
    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="-",
        aws_secret_access_key="-",
        config=config(retries={"total_max_attempts": 1}, proxies={}),
    )
    try:
        yield lambda: client.converse_stream(modelId="m", messages=[{"role": "user", "content": [{"text": "-"}]}])
    finally:
        client.close()


@contextmanager
def cohere(url: str) -> Iterator[Callable[[], Any]]:
    module: Any = pytest.importorskip("cohere", reason="needs cohere, the extra `cohere`")
    httpx: Any = pytest.importorskip("httpx", reason="needs httpx")
    with httpx.Client(trust_env=False, timeout=20) as http_client:
        client = module.ClientV2("-", base_url=url, httpx_client=http_client)
        yield lambda: client.chat_stream(model="m", messages=[MESSAGE], request_options={"max_retries": 0})


@contextmanager
def interactions(url: str) -> Iterator[Callable[[], Any]]:
    client = gemini_client.client(url)
    yield lambda: client.interactions.create(model="m", input="-", stream=True)
    client.close()


@contextmanager
def assistants(url: str) -> Iterator[Callable[[], Any]]:
    with chat_client.sync_client(url) as client:

        def start() -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                return client.beta.threads.runs.create("thread_1", assistant_id="asst_1", stream=True)

        yield start


@asynccontextmanager
async def async_cohere(url: str) -> AsyncIterator[Callable[[], Any]]:
    module: Any = pytest.importorskip("cohere", reason="needs cohere, the extra `cohere`")
    httpx: Any = pytest.importorskip("httpx", reason="needs httpx")
    async with httpx.AsyncClient(trust_env=False, timeout=20) as http_client:
        client = module.AsyncClientV2("-", base_url=url, httpx_client=http_client)
        yield lambda: client.chat_stream(model="m", messages=[MESSAGE], request_options={"max_retries": 0})


@asynccontextmanager
async def async_interactions(url: str) -> AsyncIterator[Callable[[], Any]]:
    client = gemini_client.client(url)
    async with client.aio:
        yield lambda: client.aio.interactions.create(model="m", input="-", stream=True)
    client.close()


@asynccontextmanager
async def async_assistants(url: str) -> AsyncIterator[Callable[[], Any]]:
    async with chat_client.async_client(url) as client:

        def start() -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                return client.beta.threads.runs.create("thread_1", assistant_id="asst_1", stream=True)

        yield start


ASYNC_CLIENTS: dict[str, Callable[[str], AbstractAsyncContextManager[Callable[[], Any]]]] = {
    "cohere": async_cohere,
    "gemini-interactions": async_interactions,
    "openai-assistants": async_assistants,
}
"""The async clients of those that have one; boto3 has none."""

FURTHER_SDKS = (
    FurtherSdk("bedrock-converse", "bedrock_converse", bedrock, ("halves_and_unknown_things", "error_in_stream")),
    FurtherSdk("cohere", "cohere", cohere, ("halves_and_unknown_things",)),
    FurtherSdk("gemini-interactions", "gemini_interactions", interactions, ("halves_and_unknown_things",)),
    FurtherSdk("openai-assistants", "openai_assistants", assistants, ("halves_and_unknown_things",)),
)
