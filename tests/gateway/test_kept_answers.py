from __future__ import annotations

import pytest
from msgspec.structs import replace

from penstock.gateway.kept_answers import (
    MemoryStore,
    keep_answer,
    keep_reasoning,
    with_previous,
    with_reasoning,
)
from penstock.gateway.neutral import Call, Image, Message, NeutralRequest, Reasoning, RequestError, Result, Text

USER = Message("user", (Text("Look."), Image("https://a.example")))
ANSWER = Message(
    "assistant", (Reasoning("Hm.", "proof"), Text("I look."), Call("c1", "look", "{}"), Call("c2", "look", "{"))
)
RESULT = Message("tool", (Result("c1", (Text("A dot."),)), Result("c2", (), is_error=True)))
FIRST = NeutralRequest(api="openai-responses", model="m", messages=(USER,), system=(Text("Be kind."),))


def test_a_conversation_goes_on_from_an_answer_with_instructions_of_its_own():
    store = MemoryStore()
    keep_answer(store, "r1", FIRST, ANSWER)
    second = replace(FIRST, messages=(RESULT,), system=(), previous_response_id="r1")
    whole = with_previous(store, second)
    assert whole.messages == (USER, ANSWER, RESULT)
    assert (whole.system, whole.previous_response_id) == ((), None)
    keep_answer(store, "r2", whole, ANSWER)
    third = with_previous(store, replace(second, messages=(USER,), previous_response_id="r2"))
    assert third.messages == (USER, ANSWER, RESULT, ANSWER, USER)
    assert with_previous(store, second) == whole, "an earlier answer may be continued again"


def test_an_answer_that_is_not_kept_is_an_error_of_the_request():
    store = MemoryStore()
    keep_answer(store, "r1", replace(FIRST, store=False), ANSWER)
    with pytest.raises(RequestError, match=r"^previous_response_id: the response 'r1' is not kept here") as raised:
        with_previous(store, replace(FIRST, previous_response_id="r1"))
    assert (raised.value.status, raised.value.code) == (400, "previous_response_not_found")
    assert with_previous(store, FIRST) is FIRST


def test_reasoning_is_put_back_before_its_calls():
    store = MemoryStore()
    keep_reasoning(store, ANSWER)
    silent = replace(ANSWER, parts=ANSWER.parts[1:])
    request = replace(FIRST, messages=(USER, silent, RESULT))
    put_back = with_reasoning(store, request).messages
    assert put_back == (USER, replace(ANSWER, parts=(Reasoning("Hm."), *silent.parts)), RESULT)
    assert with_reasoning(store, replace(FIRST, messages=put_back)).messages == put_back, "once"
    other = replace(
        FIRST, messages=(Message("assistant", (Call("c3", "look", "{}"),)), Message("assistant", (Text("a"),)))
    )
    assert with_reasoning(store, other) == other


def test_what_the_client_sent_back_is_left_as_it_is():
    store = MemoryStore()
    keep_reasoning(store, ANSWER)
    own = Message("assistant", (Reasoning("Mine."), *ANSWER.parts[2:]))
    assert with_reasoning(store, replace(FIRST, messages=(own,))).messages == (own,)
    hidden = Message("assistant", (Reasoning("", "proof"), *ANSWER.parts[2:]))
    (shown,) = with_reasoning(store, replace(FIRST, messages=(hidden,))).messages
    assert shown.parts[0] == Reasoning("Hm.")


def test_a_store_keeps_so_many_bytes_and_forgets_what_was_not_asked_for():
    store = MemoryStore(most=12)
    for name in "abc":
        store.put(name, b"four")
    assert store.get("a") == b"four"
    store.put("d", b"four")
    assert [store.get(name) for name in "abcd"] == [b"four", None, b"four", b"four"]
    store.put("c", b"1")
    store.put("e", b"7777777")
    assert [store.get(name) for name in "acde"] == [None, b"1", b"four", b"7777777"]
    store.put("f", b"more than it holds")
    assert [store.get(name) for name in "acdef"] == [None] * 5
    store.put("g", b"four")
    assert store.get("g") == b"four"
