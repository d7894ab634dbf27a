"""A stream that is over, and a client that was closed, are told in our words, and not as an empty answer."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from penstock import Pipeline, UsageError
from penstock.sources import from_stream
from penstock.studio import record

OVER = "this stream is over: it was read or closed before; pass a new one, or a lambda that makes a new request"
CLOSED = "the client was closed before this request; loop over the answer inside the client's `with` block"
BODY = b"""data: {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta":
 {"content": "Hi"}, "finish_reason": "stop"}]}

data: [DONE]

""".replace(b":\n ", b": ")


def pieces() -> Iterator[str]:
    yield "Hi"


async def async_pieces() -> AsyncIterator[str]:
    yield "Hi"


def answered(_: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(200, content=BODY, headers={"content-type": "text/event-stream"})


def asked(client: Any) -> Any:
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}], stream=True)


async def aread(source: Any) -> list[Any]:
    return [event async for event in Pipeline().astream(source)]


def test_a_generator_that_was_read_is_over() -> None:
    source = pieces()
    assert len([*Pipeline().stream(source)]) == 4
    with pytest.raises(UsageError, match=OVER):
        list(Pipeline().stream(source))


def test_so_it_is_where_the_request_is_a_callable_or_recorded(tmp_path: Path) -> None:
    source = pieces()
    source.close()  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match=OVER):
        list(Pipeline().stream(lambda: source))
    with pytest.raises(UsageError, match=OVER):
        list(Pipeline(record=record(tmp_path / "answer.jsonl")).stream(source))


def test_an_observable_tells_it_too() -> None:
    source = pieces()
    source.close()  # type: ignore[attr-defined]
    errors: list[Exception] = []
    from_stream(source).subscribe(on_error=errors.append)
    assert [type(each) for each in errors] == [UsageError]


def test_an_sdks_stream_that_was_read_is_over() -> None:
    with openai.OpenAI(api_key="-", http_client=httpx2.Client(transport=httpx2.MockTransport(answered))) as client:
        stream = asked(client)
        assert len([*Pipeline().stream(stream)]) == 4
        with pytest.raises(UsageError, match=OVER):
            list(Pipeline().stream(stream))


def test_an_async_stream_that_was_read_is_over() -> None:
    async def twice() -> None:
        transport = httpx2.MockTransport(answered)
        async with openai.AsyncOpenAI(api_key="-", http_client=httpx2.AsyncClient(transport=transport)) as client:
            for source in (await asked(client), async_pieces()):
                assert len(await aread(source)) == 4
                with pytest.raises(UsageError, match=OVER):
                    await aread(source)

    asyncio.run(twice())


def test_an_iterator_without_items_is_an_empty_answer_as_before() -> None:
    assert [type(each).__name__ for each in Pipeline().stream(iter([]))] == ["AnswerEnd"]


def test_a_closed_client_is_told_in_our_words() -> None:
    with openai.OpenAI(api_key="-") as client:
        pass
    with pytest.raises(UsageError, match=CLOSED):
        list(Pipeline().stream(lambda: asked(client)))
    other = anthropic.Anthropic(api_key="-", max_retries=0)
    other.close()
    with pytest.raises(UsageError, match=CLOSED):
        list(Pipeline().stream(lambda: other.messages.create(model="m", max_tokens=1, messages=[], stream=True)))


def test_a_closed_async_client_is_told_in_our_words() -> None:
    async def ask() -> None:
        async with openai.AsyncOpenAI(api_key="-") as client:
            pass
        await aread(lambda: asked(client))

    with pytest.raises(UsageError, match=CLOSED):
        asyncio.run(ask())
