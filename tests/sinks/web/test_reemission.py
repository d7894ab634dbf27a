"""Any answer as OpenAI's streams: what our own sources and the real SDK read there is what was said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from dialect_calls import WRITING, written
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from reemitted import (
    TARGETS,
    Target,
    body_of,
    named,
    own_streams,
    read,
    read_back,
    reemitted,
    wire_chunks,
)
from reemitted_checks import assert_same, check_chat_helper, check_responses_helper
from strategies.answers import answers

from penstock.events import ChunkResponse, ProviderError, ToolInvocation
from penstock.events.chunk_response import FinishReason
from penstock.operators import adrive, drive, parse_text, to_invocations
from penstock.sinks.web import openai_chat_frames, openai_responses_frames

OWN = [pytest.param(api, path, id=named(path)) for api, path in own_streams()]
of_every_target = pytest.mark.parametrize("target", TARGETS)


@of_every_target
@looped("api, path", OWN)
def test_every_own_stream_is_read_back(api: str, path: str, target: Target):
    chunks, error = wire_chunks(api, Path(path).read_bytes())
    assert_same(read_back(reemitted(chunks, error, target), target), read(chunks, error), target)


ERRORS = st.sampled_from((None, None, None, ProviderError("no"), ProviderError("cut", transport=True)))


@given(answers(), ERRORS)
def test_any_answer_is_read_back_from_chat(chunks: list[ChunkResponse], error: ProviderError | None):
    check_read_back(chunks, error, "openai-chat")


@given(answers(choices=1), ERRORS)
def test_any_answer_is_read_back_from_responses(chunks: list[ChunkResponse], error: ProviderError | None):
    check_read_back(chunks, error, "openai-responses")


def check_read_back(chunks: list[ChunkResponse], error: ProviderError | None, target: Target) -> None:
    truth = read(chunks, error)
    assert_same(read_back(reemitted(chunks, error, target), target), truth, target)


@of_every_target
@looped("name", WRITING)
def test_the_calls_of_every_dialect_are_read_back(name: str, target: Target):
    call = written(name, 'a "b"\n\u00fc')
    chain = (parse_text(call.dialect, tools=call.tools, turn_id="t"), to_invocations(keep_segments=True))
    pieces = [call.text[at : at + 3] for at in range(0, len(call.text), 3)]
    [invocation] = [each for each in drive(pieces, *chain) if isinstance(each, ToolInvocation)]
    [said] = read_back(body_of(adrive(pieces, *chain), target), target).answers.values()
    assert [(each.id, each.name, json.loads(each.arguments)) for each in said.calls] == [
        (invocation.id, call.name, invocation.arguments)
    ]
    assert (said.whole, said.finish) == ((True,), "tool_calls")


@looped("api, path", OWN)
def test_the_sdks_helper_for_chat_puts_together_what_was_said(api: str, path: str):
    check_chat_helper(*wire_chunks(api, Path(path).read_bytes()))


@looped("api, path", OWN)
def test_the_sdks_helper_for_responses_puts_together_what_was_said(api: str, path: str):
    check_responses_helper(*wire_chunks(api, Path(path).read_bytes()))


def test_every_finish_reason_has_its_word():
    reasons = set(get_args(FinishReason))
    assert set(openai_chat_frames.FINISHES) == set(openai_responses_frames.FINISHES) == reasons


MUTANTS = {
    "a cut call is whole in Responses": ("any_answer", ("sinks/web/openai_responses_frames.py", 'item.end("completed" if status == "complete" else "incomplete")', 'item.end("completed")')),
}  # fmt: skip
