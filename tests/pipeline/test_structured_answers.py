"""Structured answers through the real SDKs: what each request says, and the value that comes of each answer."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from answered import before_the_end
from every_sdk import ANTHROPIC_SDK, CHAT, GEMINI, OLLAMA, RESPONSES_SDK, Sdk, frames_of
from partial_answers import grows
from pydantic import BaseModel
from request_bodies import keeping_bodies

from penstock.events import AnswerEnd, Output, OutputFailed, SegmentContent
from penstock.operators import PartialOutput
from penstock.pipeline import Pipeline
from penstock.sources import from_wire
from penstock.studio.testing import ReplayServer


class Step(BaseModel):
    title: str
    minutes: int


class Recipe(BaseModel):
    name: str
    servings: int
    steps: list[Step]
    vegan: bool


RECIPE = Recipe(
    name="Grießbrei",
    servings=2,
    steps=[Step(title='Milch "3,5 %" erhitzen ☕', minutes=8), Step(title="Grieß einrühren", minutes=5)],
    vegan=False,
)
MESSAGES: Any = [{"role": "user", "content": "How?"}]


class Asked(NamedTuple):
    """An API: how its SDK is asked for a structured answer, and where its request says so."""

    sdk: Sdk
    provider: str
    create: Callable[[Any, dict[str, Any]], Any]
    acreate: Callable[[Any, dict[str, Any]], Any]
    on_the_wire: Callable[[dict[str, Any]], dict[str, Any]] = lambda options: options


def _chat(client: Any, options: dict[str, Any]) -> Any:
    return client.chat.completions.create(model="structured_output", messages=MESSAGES, stream=True, **options)


def _responses(client: Any, options: dict[str, Any]) -> Any:
    return client.responses.create(model="structured_output", input="How?", stream=True, **options)


def _anthropic(client: Any, options: dict[str, Any]) -> Any:
    return client.messages.create(model="structured_output", max_tokens=99, messages=MESSAGES, stream=True, **options)


def _gemini(client: Any, options: dict[str, Any]) -> Any:
    return client.models.generate_content_stream(model="structured_output", contents="How?", config=options)


def _agemini(client: Any, options: dict[str, Any]) -> Any:
    return client.aio.models.generate_content_stream(model="structured_output", contents="How?", config=options)


def _gemini_wire(options: dict[str, Any]) -> dict[str, Any]:
    named = {"response_mime_type": "responseMimeType", "response_json_schema": "responseJsonSchema"}
    return {"generationConfig": {named[key]: each for key, each in options.items()}}


def _ollama(client: Any, options: dict[str, Any]) -> Any:
    return client.chat(model="structured_output", messages=MESSAGES, stream=True, **options)


ASKED = (
    Asked(CHAT, "openai-chat", _chat, _chat),
    Asked(RESPONSES_SDK, "openai-responses", _responses, _responses),
    Asked(ANTHROPIC_SDK, "anthropic", _anthropic, _anthropic),
    Asked(GEMINI, "gemini", _gemini, _agemini, _gemini_wire),
    Asked(OLLAMA, "ollama", _ollama, _ollama),
)
every_api = pytest.mark.parametrize("asked", ASKED, ids=[each.provider for each in ASKED])


def assert_recipe(events: list[Any]) -> None:
    partials = [each for each in events if isinstance(each, PartialOutput)]
    assert len(partials) > 10
    assert partials[-1].is_complete
    (made,) = (each for each in events if isinstance(each, Output | OutputFailed))
    assert isinstance(made, Output)
    assert made.value == RECIPE
    assert made.raw == "".join(each.delta for each in events if isinstance(each, SegmentContent))


@every_api
def test_the_request_says_what_is_wanted_and_the_answer_is_it(asked: Asked):
    pipeline = Pipeline(output_type=Recipe, turn_id="t")
    options = pipeline.output_options(asked.provider)  # type: ignore[arg-type]
    with keeping_bodies(asked.sdk.body_of("structured_output")) as server, asked.sdk.client(server.url) as client:
        assert_recipe(list(pipeline.stream(lambda: asked.create(client, options))))
    (body,) = server.bodies
    for key, each in asked.on_the_wire(options).items():
        assert body[key] == each


@every_api
def test_an_async_answer_is_the_same(asked: Asked):
    pipeline = Pipeline(output_type=Recipe, turn_id="t")

    async def main(url: str) -> list[Any]:
        async with asked.sdk.async_client(url) as client:
            started = asked.acreate(client, pipeline.output_options(asked.provider))  # type: ignore[arg-type]
            source = await started if inspect.isawaitable(started) else started
            return [event async for event in pipeline.astream(source)]

    with ReplayServer("tests/streams") as server:
        assert_recipe(asyncio.run(main(server.url)))


@every_api
def test_partial_values_are_never_taken_back(asked: Asked):
    pieces = [bytes([each]) for each in asked.sdk.body_of("structured_output")]
    chunks, _ = asked.sdk.by_wire(pieces)
    stream = Pipeline(output_type=Recipe).stream(chunks)
    seen = [each.snapshot() for each in stream if isinstance(each, PartialOutput)]
    assert all(grows(*pair) for pair in pairwise(seen))
    assert seen[-1] == RECIPE.model_dump()


@every_api
def test_an_answer_whose_connection_breaks_fails_with_its_text(asked: Asked):
    frames = frames_of(asked.sdk.body_of("structured_output"))
    events: list[Any] = []
    errors: list[Exception] = []
    source = from_wire(asked.sdk.api, frames[: len(frames) // 2])
    Pipeline(output_type=Recipe).observable(source).subscribe(events.append, errors.append)
    *_, failed, end = events
    assert isinstance(failed, OutputFailed)
    assert isinstance(end, AnswerEnd)
    assert failed.reason == end.status in ("truncated", "interrupted")
    assert RECIPE.name in failed.raw


def test_mistrals_sdk_sends_it():
    mistral: Any = pytest.importorskip("mistralai.client", reason="needs mistralai")
    pipeline = Pipeline(output_type=Recipe)
    options = pipeline.output_options("mistral")
    with keeping_bodies(CHAT.body_of("structured_output")) as server:
        client = mistral.Mistral(api_key="-", server_url=server.url)
        stream = client.chat.stream(model="m", messages=MESSAGES, **options)
        with closing(stream.response):
            assert_recipe(list(pipeline.stream(stream)))
    assert server.bodies[0]["response_format"] == options["response_format"]


def test_a_refused_answer_of_openai_has_no_value():
    chunks, _ = CHAT.by_wire([CHAT.body_of("refusal")])
    (made,) = (each for each in Pipeline(output_type=Recipe).stream(chunks) if isinstance(each, Output | OutputFailed))
    assert isinstance(made, OutputFailed)
    assert made.reason == "refusal"
    assert made.raw


def test_an_answer_cut_by_its_length_has_no_value_and_its_text():
    body = ANTHROPIC_SDK.body_of("structured_output")
    cut = body[: body.index(b"einr")].rpartition(b"\n\n")[0] + b"\n\n" + b"\n\n".join(body.split(b"\n\n")[-4:])
    chunks, _ = ANTHROPIC_SDK.by_wire([cut.replace(b"end_turn", b"max_tokens")])
    *_, made = before_the_end(Pipeline(output_type=Recipe).stream(chunks))
    assert isinstance(made, OutputFailed)
    assert (made.reason, made.raw.startswith('{"name": "Grie')) == ("truncated", True)
