"""Gateways that share a log: what one has answered, or has begun to answer, any other goes on with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from away_log import Away
from looped import looped
from scripted_upstream import ScriptedUpstream, body_of, gateway, text_chunks
from starlette.responses import JSONResponse

from penstock.gateway.serving import answer_response
from penstock.gateway.serving.gateway_app import PATHS
from penstock.scale import SqliteLog
from penstock.sinks import StreamRuns

USER: Any = [{"role": "user", "content": "Go."}]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "m-1", "messages": USER, "stream": True},
    "/v1/responses": {"model": "m-1", "input": "Go.", "stream": True},
    "/v1/messages": {"model": "m-1", "messages": USER, "max_tokens": 99, "stream": True},
}
WORDS = [f"word{number} " for number in range(20)]
NAME = {"x-penstock-stream": "mine"}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_response, "StreamRuns", partial(StreamRuns, lease=0.4))


@contextmanager
def sharing(upstream: ScriptedUpstream, file: Path, **options: Any) -> Iterator[str]:
    log = SqliteLog(file)
    with gateway(upstream, log=log, **options) as url:
        yield url
    asyncio.run(log.aclose())


def events(text: str) -> list[str]:
    return [line for line in text.split("\n\n") if line and not line.startswith((":", "event: ping", "event: keep"))]


def begun(url: str, path: str, until: str, **headers: str) -> str:
    """Return the beginning of an answer, whose client then leaves."""
    got = ""
    with httpx2.stream("POST", url + path, json=BODIES[path], headers={**NAME, **headers}, timeout=20) as response:
        for piece in response.iter_text():
            got += piece
            if until in got:
                break
    whole, _, _ = got.rpartition("\n\n")
    return whole + "\n\n"


def asked(url: str, path: str, **headers: str) -> str:
    response = httpx2.post(url + path, json=BODIES[path], headers={**NAME, **headers}, timeout=20)
    assert response.status_code == 200, response.text
    return response.text


def last_id(text: str) -> str:
    return [line[4:] for line in text.splitlines() if line.startswith("id: ")][-1]


def test_another_gateway_goes_on_behind_the_event_that_the_client_has(tmp_path: Path):
    for path in PATHS:
        upstream = ScriptedUpstream(
            [*body_of(text_chunks(WORDS[:5], None), done=False), None, *body_of(text_chunks(WORDS[5:]))]
        )
        with sharing(upstream, tmp_path / "log") as first, sharing(upstream, tmp_path / "log") as second:
            beginning = begun(first, path, WORDS[4])
            upstream.go()
            rest = asked(second, path, **{"last-event-id": last_id(beginning)})
            whole = events(asked(second, path))
            assert events(beginning) + events(rest) == whole
            assert events(asked(first, path)) == whole
            text = "".join(whole)
            assert [text.count(word) >= 1 for word in WORDS] == [True] * 20
            assert [text.count(f'"{word}"') for word in WORDS] == [1] * 20
        assert len(upstream.requests) == 1


def test_a_gateway_that_ends_leaves_its_answers_and_another_asks_for_them_again(tmp_path: Path):
    for path in PATHS:
        whole_body = body_of(text_chunks(WORDS))
        upstream = ScriptedUpstream([*whole_body[:6], None, None], whole_body)
        with sharing(upstream, tmp_path / f"log{len(path)}") as second:
            with sharing(upstream, tmp_path / f"log{len(path)}") as first:
                beginning = begun(first, path, WORDS[3])
            rest = asked(second, path, **{"last-event-id": last_id(beginning)})
            whole = events(asked(second, path))
        assert events(beginning) + events(rest) == whole
        assert [("".join(whole)).count(f'"{word}"') for word in WORDS] == [1] * 20
        assert '"error":{' not in whole[-1]
        assert upstream.requests[0] == upstream.requests[1]
        assert len(upstream.requests) == 2
        names = {each["x-penstock-stream"] for each in upstream.headers}
        assert len(names) == 1, "a buffer finds by it what the model has sent"


def test_where_another_answer_comes_the_old_one_ends_with_an_error(tmp_path: Path):
    upstream = ScriptedUpstream(
        [*body_of(text_chunks(WORDS), done=False)[:6], None, None], body_of(text_chunks(["Another."]))
    )
    with sharing(upstream, tmp_path / "log") as second:
        with sharing(upstream, tmp_path / "log") as first:
            begun(first, "/v1/chat/completions", WORDS[3])
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("penstock.sinks.resume.logged_run._PAUSES", (0.01,))
            shown = asked(second, "/v1/chat/completions")
    assert WORDS[3] in shown
    assert "Another." not in shown
    assert "is not what was shown" in shown


def test_another_request_or_another_key_is_another_answer(tmp_path: Path):
    upstream = ScriptedUpstream(
        body_of(text_chunks(["One."])), body_of(text_chunks(["Two."])), body_of(text_chunks(["Three."]))
    )
    with sharing(upstream, tmp_path / "log") as url:
        path = "/v1/chat/completions"
        assert "One." in asked(url, path, authorization="Bearer a")
        assert "Two." in asked(url, path, authorization="Bearer b")
        body = {**BODIES[path], "temperature": 0.5}
        other = httpx2.post(url + path, json=body, headers={**NAME, "authorization": "Bearer a"}, timeout=20)
        assert "Three." in other.text
        assert "One." in asked(url, path, authorization="Bearer a")


def test_the_sdk_reads_a_kept_answer(tmp_path: Path):
    upstream = ScriptedUpstream(body_of(text_chunks(WORDS)))
    with sharing(upstream, tmp_path / "log") as url, openai.OpenAI(base_url=f"{url}/v1", api_key="k") as client:
        for _ in range(2):
            chunks = client.chat.completions.create(model="m-1", messages=USER, stream=True, extra_headers=NAME)
            assert "".join(each.choices[0].delta.content or "" for each in chunks if each.choices) == "".join(WORDS)
    assert len(upstream.requests) == 1


def test_what_fails_before_it_begins_has_its_status_and_is_not_kept(tmp_path: Path):
    upstream = ScriptedUpstream(JSONResponse({"error": {"message": "no"}}, 400), body_of(text_chunks(["Yes."])))
    with sharing(upstream, tmp_path / "log") as url:
        path = "/v1/chat/completions"
        assert httpx2.post(url + path, json=BODIES[path], headers=NAME, timeout=20).status_code == 400
        assert "Yes." in asked(url, path)


@looped(
    "path, headers, told",
    [
        ("/v1/chat/completions", {}, "start it with --log"),
        ("/v1/messages", {"last-event-id": "x"}, "start it with --log"),
    ],
)
def test_without_a_log_a_named_stream_is_refused(path: str, headers: dict[str, str], told: str):
    with gateway(ScriptedUpstream([])) as url:
        response = httpx2.post(url + path, json=BODIES[path], headers={**NAME, **headers})
    assert response.status_code == 400
    assert told in response.text


def test_while_the_log_is_away_a_named_stream_is_refused_and_the_client_comes_again():
    log = Away()
    log.is_away = True
    for path, status in (("/v1/chat/completions", 503), ("/v1/responses", 503), ("/v1/messages", 529)):
        upstream = ScriptedUpstream(body_of(text_chunks(WORDS)))
        with gateway(upstream, log=log) as url:
            response = httpx2.post(url + path, json=BODIES[path], headers=NAME)
        assert (response.status_code, response.headers["retry-after"]) == (status, "1")
        assert "the log is away" in response.json()["error"]["message"]
        assert upstream.requests == []


def test_the_same_request_twice_at_once_is_asked_once(tmp_path: Path):
    path = "/v1/chat/completions"
    upstream = ScriptedUpstream([None, *body_of(text_chunks(WORDS))])

    async def twice(url: str) -> list[str]:
        async with httpx2.AsyncClient(timeout=20) as client:
            both = [asyncio.create_task(client.post(url + path, json=BODIES[path], headers=NAME)) for _ in range(2)]
            while (await client.get(f"{url}/health")).json()["open_streams"] == 0:
                pass
            upstream.go()
            return [each.text for each in await asyncio.gather(*both)]

    with sharing(upstream, tmp_path / "log") as url:
        one, other = asyncio.run(twice(url))
    assert events(one) == events(other)
    assert len(upstream.requests) == 1


def test_an_event_that_is_no_number_is_refused(tmp_path: Path):
    with sharing(ScriptedUpstream([]), tmp_path / "log") as url:
        path = "/v1/responses"
        response = httpx2.post(url + path, json=BODIES[path], headers={**NAME, "last-event-id": "x"})
    assert response.status_code == 400
    assert "must be the number of an event" in response.json()["error"]["message"]


def test_a_conversation_goes_on_at_another_gateway(tmp_path: Path):
    upstream = ScriptedUpstream(body_of(text_chunks(["Green."])), body_of(text_chunks(["Because."])))
    with sharing(upstream, tmp_path / "log") as first, sharing(upstream, tmp_path / "log") as second:
        body = {"model": "m-1", "input": "Which colour?"}
        answered = httpx2.post(f"{first}/v1/responses", json=body, timeout=20).json()
        body = {"model": "m-1", "input": "Why?", "previous_response_id": answered["id"]}
        again = httpx2.post(f"{second}/v1/responses", json=body, timeout=20)
        assert again.status_code == 200, again.text
    said = [json.dumps(each["content"]) for each in upstream.requests[1]["messages"]]
    assert ["Which colour?" in said[0], "Green." in said[1], "Why?" in said[2]] == [True] * 3


def test_the_health_says_what_is_open_without_a_key(tmp_path: Path):
    upstream = ScriptedUpstream([*body_of(text_chunks(WORDS[:2], None), done=False), None])
    with sharing(upstream, tmp_path / "log", key="ours") as url:
        idle = httpx2.get(f"{url}/health").json()
        assert idle == {"status": "ok", "open_streams": 0, "waiting_requests": 0, "log_lag_seconds": 0.0}
        begun(url, "/v1/chat/completions", WORDS[1], authorization="Bearer ours")
        assert httpx2.get(f"{url}/health").json()["open_streams"] == 1
