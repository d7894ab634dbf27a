"""What an application sees of a replay server through the real SDKs, and what becomes of it in the chain."""

from __future__ import annotations

from typing import Any

from chat_client import plain
from looped import looped
from reactivex import operators as ops
from replay_sdks import RUNS, SDKS, STREAMS, Sdk, unchanged

from penstock.events import ProviderError, SegmentEnd, SegmentStart
from penstock.pipeline import api_tool_call
from penstock.sinks import collect
from penstock.sinks.collect import Collected
from penstock.sources import from_recording
from penstock.studio.replay.replay_pieces import ERROR_MESSAGE, split_events
from penstock.studio.testing import ReplayServer


def faulty(sdk: Sdk, fault: str | None = None, **options: Any) -> ReplayServer:
    return ReplayServer({sdk.recording: sdk.body}, fault=fault, **options)


def amount(events: list[Any]) -> Collected:
    """Return what events amount to, having looked that every START has its END."""
    opened = [each.segment_id for each in events if isinstance(each, SegmentStart)]
    ended = [each.segment_id for each in events if isinstance(each, SegmentEnd)]
    assert sorted(opened) == sorted(ended)
    return collect(events)


def acted_on(run: Any, url: str) -> tuple[Collected, Any]:
    events, [end] = run(url, lambda source: source.pipe(api_tool_call(turn_id="t")))
    return amount(events), end


def untouched(sdk: Sdk) -> Collected:
    events: list[Any] = []
    from_recording(STREAMS / sdk.recording, turn_id="t").pipe(api_tool_call(turn_id="t")).subscribe(events.append)
    return amount(events)


@looped("sdk, run", RUNS)
@looped("chunk", [None, 7])
def test_a_recording_arrives_as_from_recording_gives_it(sdk: Sdk, run: Any, chunk: int | None):
    with faulty(sdk, chunk=chunk) as server:
        chunks, ends = run(server.url, unchanged)
        entry = server.wait_for("finished")
    assert ends == ["completed"]
    assert plain(chunks) == plain(sdk.by_wire[0])
    assert (entry.api, entry.recording, entry.bytes_sent, entry.bytes_total) == (
        sdk.api,
        sdk.recording,
        len(sdk.body),
        len(sdk.body),
    )
    writes = [write.bytes_sent for write in entry.sent]
    assert writes == sorted(writes)
    assert len(writes) == (len(split_events(sdk.body)) if chunk is None else -(-len(sdk.body) // chunk))


@looped("sdk, run", RUNS)
@looped("kind", ["cut", "reset"])
def test_a_broken_connection_is_a_transport_error_and_calls_that_it_cut_are_not_invoked(sdk: Sdk, run: Any, kind: str):
    size = len(sdk.body) // 2
    with faulty(sdk, f"{kind}:{size}") as server:
        answer, end = acted_on(run, server.url)
        entry = server.wait_for(kind)  # type: ignore[arg-type]
    assert isinstance(end, ProviderError)
    assert end.transport
    assert entry.bytes_sent == size < entry.bytes_total
    whole = untouched(sdk)
    assert len(answer.invocations) < len(whole.invocations)
    assert answer.invocations == whole.invocations[: len(answer.invocations)]
    for segment, wanted in zip(answer.segments, whole.segments, strict=False):
        assert wanted.content.startswith(segment.content)
    assert {failure.reason for failure in answer.failures} <= {"interrupted"}
    assert all(segment.status == "interrupted" for segment in answer.segments[-1:] if segment.status != "complete")


@looped("sdk, run", RUNS)
def test_an_error_in_band_is_the_providers_and_comes_as_a_chunk_first(sdk: Sdk, run: Any):
    with faulty(sdk, f"error:{len(sdk.body) // 3}") as server:
        chunks, [end] = run(server.url, unchanged)
        answer, again = acted_on(run, server.url)
    assert isinstance(end, ProviderError)
    assert str(end) == str(again)
    assert (end.detail, end.transport) == (ERROR_MESSAGE, False)
    assert chunks[-1].error is not None
    assert chunks[-1].error["detail"] == ERROR_MESSAGE
    whole = untouched(sdk)
    assert answer.invocations == whole.invocations[: len(answer.invocations)] != whole.invocations
    assert {failure.reason for failure in answer.failures} <= {"provider_error"}


@looped("sdk, run", RUNS)
def test_garbage_is_a_provider_error_and_what_came_before_is_kept(sdk: Sdk, run: Any):
    with faulty(sdk, f"garbage:{len(sdk.body) // 3}") as server:
        answer, end = acted_on(run, server.url)
    assert isinstance(end, ProviderError)
    assert end.type == "invalid_json"
    whole = untouched(sdk)
    assert answer.invocations == whole.invocations[: len(answer.invocations)] != whole.invocations


@looped("sdk, run", RUNS)
@looped("status", [401, 429, 500, 529])
def test_a_status_is_the_status_of_the_provider_error(sdk: Sdk, run: Any, status: int):
    with faulty(sdk, f"status:{status}") as server:
        chunks, [end] = run(server.url, unchanged)
        entry = server.wait_for("refused")
    assert isinstance(end, ProviderError)
    assert (end.status, end.transport) == (status, False)
    assert "as the fault demands" in end.detail
    assert [chunk.error is not None for chunk in chunks] == [True]
    assert (entry.status, entry.fault, entry.recording) == (status, f"status:{status}", None)


@looped("sdk, run", RUNS)
def test_a_client_that_leaves_is_in_the_log_with_what_it_was_sent(sdk: Sdk, run: Any):
    size = len(sdk.body) * 4 // 5
    with faulty(sdk, f"stall:{size}") as server:
        chunks, ends = run(server.url, lambda source: source.pipe(ops.take(1)))
        entry = server.wait_for("client_left")
    assert (len(chunks), ends) == (1, ["completed"])
    assert 0 < entry.bytes_sent <= size < entry.bytes_total
    assert entry.ended_at is not None
    assert entry.began_at <= entry.sent[-1].at <= entry.ended_at


@looped("sdk, run", RUNS)
def test_calls_that_sealed_before_the_cut_are_invoked(sdk: Sdk, run: Any):
    with faulty(sdk, f"cut:{len(sdk.body) - len(split_events(sdk.body)[-1])}") as server:
        answer, end = acted_on(run, server.url)
    assert isinstance(end, ProviderError)
    sealed = untouched(sdk).invocations
    if sdk.api in ("gemini", "ollama"):
        sealed.pop()  # the last event would have ended this call: Ollama's has no arguments, which may still come
    assert answer.invocations == sealed != []


def test_of_several_calls_those_before_the_cut_are_invoked():
    [sdk] = [each for each in SDKS if each.api == "openai-chat"]
    sdk = sdk._replace(recording="openai_chat/indexes_that_are_no_keys.sse")
    whole = untouched(sdk).invocations
    counts: list[int] = []
    for size in range(0, len(sdk.body), len(sdk.body) // 7):
        with faulty(sdk, f"cut:{size}") as server:
            answer, _ = acted_on(sdk.sync, server.url)
        assert answer.invocations == whole[: len(answer.invocations)]
        counts.append(len(answer.invocations))
    assert counts == sorted(counts)
    assert 0 < counts[-2] < len(whole)


# What each SDK passes on of the provider's own words for a model that it does not have: the error's code and type.
UNKNOWN_MODEL = {
    "openai-chat": ("model_not_found", "invalid_request_error"),
    "openai-responses": ("model_not_found", "invalid_request_error"),
    "anthropic-messages": (None, "not_found_error"),
    "gemini": ("404", "NOT_FOUND"),
    "ollama": (None, None),
}


@looped("sdk, run", RUNS)
def test_strict_refuses_an_unknown_model_in_the_providers_own_form_and_plays_a_known_one(sdk: Sdk, run: Any):
    end_of_name = sdk.recording.rpartition(".")[2]
    with ReplayServer({f"known.{end_of_name}": sdk.body}, strict=True) as server:
        chunks, [end] = run(server.url, unchanged)
        entry = server.wait_for("refused")
    assert [chunk.error is not None for chunk in chunks] == [True]
    assert isinstance(end, ProviderError)
    assert (end.status, end.transport) == (404, False)
    assert end.detail.startswith(f"no recording named like the model 'm' of {sdk.api}")
    assert (end.code, end.type) == UNKNOWN_MODEL[sdk.api]
    assert (entry.status, entry.model) == (404, "m")
    with ReplayServer({f"m.{end_of_name}": sdk.body}, strict=True) as server:
        chunks, ends = run(server.url, unchanged)
    assert (plain(chunks), ends) == (plain(sdk.by_wire[0]), ["completed"])


@looped("sdk, run", RUNS)
def test_an_event_sent_twice_reaches_the_application_twice(sdk: Sdk, run: Any):
    events = split_events(sdk.body)
    with faulty(sdk, "duplicate:2") as server:
        chunks, _ = run(server.url, unchanged)
        entry = server.wait_for(request=1, bytes_sent=len(sdk.body) + len(events[1]))
    twice = b"".join([*events[:2], events[1], *events[2:]])
    assert entry.bytes_sent == len(twice)
    with ReplayServer({"twice": twice}) as server:
        assert plain(run(server.url, unchanged)[0]) == plain(chunks)
