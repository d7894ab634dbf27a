from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from penstock.events import UsageError
from penstock.gateway.neutral import Call, Image, Message, NeutralRequest, Reasoning, RequestError, Result, Text
from penstock.gateway.operating import kept_answers
from penstock.gateway.operating.kept_answers import DiskStore, MemoryStore, OwnStore, Store

USER = Message("user", (Text("Look."), Image("https://a.example")))
ANSWER = Message(
    "assistant", (Reasoning("Hm.", "proof"), Text("I look."), Call("c1", "look", "{}"), Call("c2", "look", "{"))
)
RESULT = Message("tool", (Result("c1", (Text("A dot."),)), Result("c2", (), is_error=True)))
FIRST = NeutralRequest(api="openai-responses", model="m", messages=(USER,), system=(Text("Be kind."),))


def got(store: Store, name: str) -> bytes | None:
    return asyncio.run(store.get(name))


def put(store: Store, name: str, value: bytes) -> None:
    asyncio.run(store.put(name, value))


def keep_answer(store: Store, response_id: str, request: NeutralRequest, answer: Message) -> None:
    asyncio.run(kept_answers.keep_answer(store, response_id, request, answer))


def keep_reasoning(store: Store, answer: Message) -> None:
    asyncio.run(kept_answers.keep_reasoning(store, answer))


def with_previous(store: Store, request: NeutralRequest) -> NeutralRequest:
    return asyncio.run(kept_answers.with_previous(store, request))


def with_reasoning(store: Store, request: NeutralRequest) -> NeutralRequest:
    return asyncio.run(kept_answers.with_reasoning(store, request))


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


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_a_store_keeps_so_many_bytes_and_forgets_what_was_not_asked_for(kind: str, tmp_path: Path):
    store: Store = MemoryStore(most=12) if kind == "memory" else DiskStore(tmp_path / "kept", most=12)
    for name in "abc":
        put(store, name, b"four")
    assert got(store, "a") == b"four"
    put(store, "d", b"four")
    assert [got(store, name) for name in "abcd"] == [b"four", None, b"four", b"four"]
    put(store, "c", b"1")
    put(store, "e", b"7777777")
    assert [got(store, name) for name in "acde"] == [None, b"1", b"four", b"7777777"]
    put(store, "f", b"more than it holds")
    assert [got(store, name) for name in "acdef"] == [None, b"1", b"four", b"7777777", None]
    put(store, "c", b"more than it holds")
    assert [got(store, name) for name in "cde"] == [None, b"four", b"7777777"]
    put(store, "g", b"four")
    assert got(store, "g") == b"four"
    store.close()


def test_what_is_kept_on_disk_is_found_by_the_next_process_and_stays_within_its_bound(tmp_path: Path):
    with closing(DiskStore(tmp_path / "kept", most=12)) as first:
        keep_reasoning(first, replace(ANSWER, parts=(Reasoning("1234"), Call("\ud800", "f", "{}"))))
        put(first, "b", b"four")
    with closing(DiskStore(tmp_path / "kept", most=12)) as second:
        silent = replace(FIRST, messages=(Message("assistant", (Call("\ud800", "f", "{}"),)),))
        assert with_reasoning(second, silent).messages[0].parts[0] == Reasoning("1234")
        put(second, "c", b"fourfour")
        assert [got(second, name) for name in "bc"] == [None, b"fourfour"]
        assert with_reasoning(second, silent).messages[0].parts[0] == Reasoning("1234")


def test_several_processes_share_a_store_and_its_bound(tmp_path: Path):
    path = tmp_path / "kept"
    with closing(DiskStore(path, most=12)) as first, closing(DiskStore(path, most=12)) as second:
        for name in "abc":
            put(first, name, b"four")
        for name in "def":
            put(second, name, b"four")
        assert [got(first, name) for name in "abcdef"] == [None] * 3 + [b"four"] * 3
        put(first, "g", b"four")  # whose count has what the other has removed
        put(second, "h", b"twelve bytes")
        put(first, "i", b"1")
        assert [got(second, name) for name in "abcdefghi"] == [None] * 8 + [b"1"]


def test_a_client_finds_only_what_it_has_kept_itself():
    store = MemoryStore()
    mine, other, nobody = (OwnStore(store, key) for key in ("Bearer a", "Bearer b", ""))
    keep_answer(mine, "r1", FIRST, ANSWER)
    keep_reasoning(mine, ANSWER)
    second = replace(FIRST, messages=(RESULT,), previous_response_id="r1")
    silent = replace(FIRST, messages=(USER, replace(ANSWER, parts=ANSWER.parts[1:])))
    assert with_previous(mine, second).messages == (USER, ANSWER, RESULT)
    assert with_reasoning(mine, silent) != silent
    for store_of in (other, nobody):
        with pytest.raises(RequestError, match="not kept"):
            with_previous(store_of, second)
        assert with_reasoning(store_of, silent) == silent


def test_a_file_that_is_no_store_is_told(tmp_path: Path):
    (tmp_path / "kept").write_text("something else, and long enough to have a header of a database" * 20)
    with pytest.raises(UsageError, match=r"cannot keep conversations in .*kept: .*; move that file away"):
        DiskStore(tmp_path / "kept")


def test_a_store_that_fails_has_forgotten_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    store = DiskStore(tmp_path / "kept")
    put(store, "a", b"four")
    store.close()
    with caplog.at_level("WARNING", "penstock.gateway"):
        put(store, "a", b"five")
        assert got(store, "a") is None
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "a conversation cannot be kept",
        "a conversation cannot be read",
    ]


@pytest.mark.parametrize("kept", [b'[{"role": "prophet"}]', b'[{"role": "user\xff"}]', b""])
def test_what_another_version_kept_or_is_damaged_counts_as_forgotten(kept: bytes):
    store = MemoryStore()
    put(store, "response r1", kept)
    with pytest.raises(RequestError, match="is not kept here"):
        with_previous(store, replace(FIRST, previous_response_id="r1"))
