"""The app over HTTP: who is refused, and what runs, stops, resumes and is decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from app_page import TOKEN, Served, app_served
from chat_chunks import call, closing, event
from every_sdk import nothing_left

from penstock.studio.app.app_routes import LONGEST_REQUEST, new_session
from penstock.studio.app.app_sources import Playable, _providers
from penstock.studio.replay.replay_recordings import Recording
from penstock.studio.testing import ReplayServer

FILE = '{"path": "herbs.txt", "content": "mint\\n"}'
EVENTS = [
    event({"role": "assistant", "content": "Here it is."}),
    call(0, FILE[:40], "call_file", "write_file"),
    call(0, FILE[40:]),
    *closing(),
]
BODY = b"".join(EVENTS)
PLAYABLE = (Playable("Herbs", Recording("herbs.sse", "openai-chat", BODY)),)
PLAY = {"kind": "play", "id": "run_1", "recording": "herbs.sse", "pace": "instant"}
ASK = {"kind": "ask", "id": "run_1", "prompt": "herbs", "provider": "openai", "model": "herbalist-1"}
Events = list[dict[str, Any]]


def client(served: Served, **headers: str) -> httpx.Client:
    return httpx.Client(
        base_url=served.address, headers={"authorization": f"Bearer {TOKEN}"} | headers, trust_env=False
    )


def received(response: httpx.Response, *, until: str = "") -> Events:
    """Read the events of a response, to the end or to the first that has the type or the state `until`."""
    events: Events = []
    for line in response.iter_lines():
        if line.startswith("data: "):
            events.append(json.loads(line[6:]))
            if until in (events[-1]["type"], events[-1].get("state")):
                break
    return events


def types(events: Events) -> list[str]:
    return [each["type"] for each in events]


def decided(asked: httpx.Client, request: dict[str, Any], **changes: Any) -> httpx.Response:
    body = {"call_id": request["id"], "sha256": request["sha256"], "approve": True} | changes
    return asked.post("/api/runs/run_1/decisions", json=body)


# ---- who is refused


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "10.0.0.1"])
def test_a_host_that_is_not_this_machine_is_refused_even_for_the_page(monkeypatch: pytest.MonkeyPatch, host: str):
    with app_served(monkeypatch) as served, client(served, host=host) as asked:
        for path in ("/", "/static/app.js", "/api/session"):
            assert asked.get(path).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_page_is_refused_even_with_the_token(monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]):
    with app_served(monkeypatch, playable=PLAYABLE) as served, client(served, **headers) as asked:
        assert asked.get("/api/session").status_code == 403
        assert asked.post("/api/runs", json=PLAY).status_code == 403
        assert asked.delete("/api/runs/run_1/stream").status_code == 403
        assert asked.post("/api/runs/run_1/decisions", json={}).status_code == 403
        assert served.session.history() == []


@pytest.mark.parametrize("token", ["", "Bearer", f"Bearer {TOKEN}x", TOKEN, f"Basic {TOKEN}"])
def test_without_the_token_nothing_is_read_and_nothing_done(monkeypatch: pytest.MonkeyPatch, token: str):
    with app_served(monkeypatch, playable=PLAYABLE) as served, client(served) as asked:
        asked.headers["authorization"] = token
        for refused in (
            asked.get("/api/session"),
            asked.post("/api/runs", json=PLAY),
            asked.get("/api/runs/run_1/stream"),
            asked.delete("/api/runs/run_1/stream"),
            asked.post("/api/runs/run_1/decisions", json={}),
            asked.get("/api/runs/run_1/calls/c"),
        ):
            assert refused.status_code == 401
            assert "penstock app printed" in refused.json()["error"]
        assert served.session.history() == []
        assert asked.get("/").status_code == 200


def test_every_answer_has_the_policy_also_one_that_refuses(monkeypatch: pytest.MonkeyPatch):
    with app_served(monkeypatch) as served, client(served) as asked:
        for path in ("/", "/static/app.js", "/api/session", "/nowhere"):
            for headers in ({}, {"origin": "null"}):
                found = asked.get(path, headers=headers).headers
                assert "default-src 'none'; script-src 'self'; style-src 'self'" in found["content-security-policy"]
                assert "unsafe" not in found["content-security-policy"]
                assert found["x-content-type-options"] == "nosniff"
                assert "access-control-allow-origin" not in found


def test_a_request_that_is_too_long_or_hides_its_length_is_refused(monkeypatch: pytest.MonkeyPatch):
    with app_served(monkeypatch) as served, client(served) as asked:
        assert asked.post("/api/runs", content=b"x" * (LONGEST_REQUEST + 1)).status_code == 413
        assert asked.post("/api/runs", content=iter([b"{}"])).status_code == 413


@pytest.mark.parametrize(
    ("request_body", "said"),
    [
        ({"kind": "play", "id": "a", "recording": "../../etc/passwd"}, "unknown recording"),
        ({"kind": "play", "id": "../x", "recording": "herbs.sse"}, "matching regex"),
        ({"kind": "ask", "id": "a", "prompt": "", "provider": "openai", "model": "m"}, "prompt"),
        ({"kind": "ask", "id": "a", "prompt": "p", "provider": "nobody", "model": "m"}, "unknown provider"),
        ({"kind": "ask", "id": "a", "prompt": "p", "provider": "anthropic", "model": "m"}, "ANTHROPIC_API_KEY"),
        ({"kind": "rm", "id": "a"}, "does not understand"),
        ([1], "does not understand"),
    ],
)
def test_a_wrong_request_is_told_in_words_and_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, request_body: Any, said: str
):
    with app_served(monkeypatch, playable=PLAYABLE) as served, client(served) as asked:
        response = asked.post("/api/runs", json=request_body)
        assert response.status_code == 400
        assert said in response.json()["error"]
        assert served.session.history() == []


# ---- runs


def test_a_recording_plays_through_its_sdk_and_stays_in_the_history(monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), app_served(monkeypatch, playable=PLAYABLE) as served, client(served) as asked:
        with asked.stream("POST", "/api/runs", json=PLAY) as response:
            events = received(response)
        assert types(events)[-2:] == ["ANSWER_END", "STREAM_END"]
        pieces = [each["payload"]["delta"] for each in events if each["type"] == "SEGMENT_CONTENT"]
        assert "".join(pieces) == "Here it is.mint\n"
        (note,) = asked.get("/api/session").json()["runs"]
        assert (note["title"], note["state"]) == ("Herbs", "complete")
        with asked.stream("GET", "/api/runs/run_1/stream") as again:
            assert received(again) == events
        assert asked.post("/api/runs", json=PLAY).status_code == 400  # its id is taken


def test_what_the_page_gets_of_an_invocation_is_not_the_file_again(monkeypatch: pytest.MonkeyPatch):
    long = json.dumps({"path": "a.txt", "content": "x" * 5000})
    body = b"".join([call(0, long, "c", "write_file"), *closing()])
    playable = (Playable("Long", Recording("herbs.sse", "openai-chat", body)),)
    with app_served(monkeypatch, playable=playable) as served, client(served) as asked:
        with asked.stream("POST", "/api/runs", json=PLAY) as response:
            (invocation,) = [each for each in received(response) if each["type"] == "TOOL_INVOCATION"]
        assert invocation["raw"] == ""
        assert len(invocation["arguments"]["content"]) < 500


def test_a_stop_closes_the_providers_connection_at_once(monkeypatch: pytest.MonkeyPatch):
    with (
        nothing_left(),
        ReplayServer({"herbs": BODY}).gated() as provider,
        app_served(monkeypatch, provider) as served,
        client(served) as asked,
    ):
        provider.allow(2)
        with asked.stream("POST", "/api/runs", json=ASK) as response:
            lines = response.iter_lines()
            while "SEGMENT_CONTENT" not in next(lines):
                pass
            assert asked.delete("/api/runs/run_1/stream").status_code == 204
            left = provider.wait_for("client_left")
            assert left.bytes_sent < left.bytes_total
        with asked.stream("GET", "/api/runs/run_1/stream") as again:
            events = received(again)
        ends = [each["payload"]["status"] for each in events if each["type"] == "SEGMENT_END"]
        assert ends[-1] == "interrupted"
        assert types(events)[-1] == "STREAM_END"
        assert served.session.history()[0]["state"] == "interrupted"


def test_a_reader_that_comes_back_gets_each_event_once(monkeypatch: pytest.MonkeyPatch):
    with (
        nothing_left(),
        ReplayServer({"herbs": BODY}).gated() as provider,
        app_served(monkeypatch, provider) as served,
        client(served) as asked,
    ):
        provider.allow(1)
        with asked.stream("POST", "/api/runs", json=ASK) as response:
            first = received(response, until="SEGMENT_CONTENT")
        provider.allow(len(EVENTS))
        headers = {"last-event-id": str(len(first))}
        with asked.stream("GET", "/api/runs/run_1/stream", headers=headers) as again:
            rest = received(again)
        with asked.stream("GET", "/api/runs/run_1/stream") as whole:
            assert received(whole) == first + rest
        assert len(provider.log) == 1


def test_a_provider_that_refuses_is_told_in_its_words(monkeypatch: pytest.MonkeyPatch):
    with (
        nothing_left(),
        ReplayServer({"herbs": BODY}, fault="status:529") as provider,
        app_served(monkeypatch, provider) as served,
        client(served) as asked,
    ):
        with asked.stream("POST", "/api/runs", json=ASK) as response:
            last = received(response)[-1]
        assert last["type"] == "STREAM_ERROR"
        assert "529" in last["error"]["detail"]
        assert served.session.history()[0]["state"] == "failed"


def test_no_more_than_four_run_at_a_time(monkeypatch: pytest.MonkeyPatch):
    with (
        nothing_left(),
        ReplayServer({"herbs": BODY}).gated() as provider,
        app_served(monkeypatch, provider) as served,
        client(served) as asked,
    ):
        for number in range(4):
            with asked.stream("POST", "/api/runs", json=ASK | {"id": f"r{number}"}) as response:
                assert response.status_code == 200
        refused = asked.post("/api/runs", json=ASK | {"id": "r4"})
        assert refused.status_code == 400
        assert "4 answers are running" in refused.json()["error"]
        for number in range(4):
            asked.delete(f"/api/runs/r{number}/stream")
            with asked.stream("GET", f"/api/runs/r{number}/stream") as ended:
                received(ended)


# ---- edits


def test_what_is_known_of_an_edit_can_be_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "herbs.txt").write_text("sage\n")
    arguments = json.dumps({"path": "herbs.txt", "patch": "@@ -1 +1 @@\n-mint\n+dill\n"})
    body = b"".join([event({"role": "assistant"}), call(0, arguments, "call_edit", "edit_file"), *closing()])
    playable = (Playable("Herbs", Recording("herbs.sse", "openai-chat", body)),)
    with app_served(monkeypatch, root=tmp_path, playable=playable) as served, client(served) as asked:
        with asked.stream("POST", "/api/runs", json=PLAY) as response:
            received(response)
        known = asked.get("/api/runs/run_1/edits/call_edit").json()
        assert known == {"counts": "+1 -1 in 1 hunk", "faults": ["hunk 1: line 1 is 'sage', not 'mint'"]}
        assert asked.get("/api/runs/run_1/edits/other").json() == {"counts": "", "faults": []}
        assert asked.get("/api/runs/none/edits/call_edit").status_code == 404


# ---- decisions


def test_a_file_is_written_after_a_yes_and_not_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "herbs.txt").write_text("sage\n")
    with nothing_left(), app_served(monkeypatch, root=tmp_path, playable=PLAYABLE) as served, client(served) as asked:
        with asked.stream("POST", "/api/runs", json=PLAY) as response:
            request = received(response, until="requested")[-1]
        (change,) = asked.get(f"/api/runs/run_1/calls/{request['id']}").json()["preview"]
        assert "-sage\n+mint" in change["diff"]
        assert (tmp_path / "herbs.txt").read_text() == "sage\n"
        assert asked.get("/api/session").json()["runs"][0]["waiting"] == 1  # whose page is gone
        assert decided(asked, request, sha256="0" * 64).status_code == 409
        assert decided(asked, request, call_id="another").status_code == 409
        assert asked.post("/api/runs/nobody/decisions", json={}).status_code == 409
        assert asked.post("/api/runs/run_1/decisions", content=b'{"call_id": "\xff"}').status_code == 409
        assert (tmp_path / "herbs.txt").read_text() == "sage\n"
        assert decided(asked, request).status_code == 204
        with asked.stream("GET", "/api/runs/run_1/stream") as again:
            (result,) = [each for each in received(again) if each["type"] == "FILE_RESULT"]
        assert result["files"][0]["action"] == "changed"
        assert asked.get("/api/session").json()["runs"][0]["waiting"] == 0
        assert (tmp_path / "herbs.txt").read_text() == "mint\n"
        assert decided(asked, request).status_code == 409  # it does not wait any more


def test_a_denied_file_is_not_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    with nothing_left(), app_served(monkeypatch, root=tmp_path, playable=PLAYABLE) as served, client(served) as asked:
        with asked.stream("POST", "/api/runs", json=PLAY) as response:
            request = received(response, until="requested")[-1]
        assert decided(asked, request, approve=False, reason="not today").status_code == 204
        with asked.stream("GET", "/api/runs/run_1/stream") as again:
            (result,) = [each for each in received(again) if each["type"] == "FILE_RESULT"]
        assert result["denied"] == "not today"
        assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_stopped_while_it_waits_writes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    with nothing_left(), app_served(monkeypatch, root=tmp_path, playable=PLAYABLE) as served, client(served) as asked:
        with asked.stream("POST", "/api/runs", json=PLAY) as response:
            request = received(response, until="requested")[-1]
        asked.delete("/api/runs/run_1/stream")
        with asked.stream("GET", "/api/runs/run_1/stream") as again:
            assert types(received(again))[-1] == "STREAM_END"
        assert decided(asked, request).status_code == 409
        assert list(tmp_path.iterdir()) == []


def test_a_command_runs_in_the_folder_after_a_yes_without_the_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    command = json.dumps({"command": "pwd; echo ${OPENAI_API_KEY-no key} >&2; exit 3"})
    body = b"".join([call(0, command, "c", "run_bash"), *closing()])
    playable = (Playable("Run", Recording("herbs.sse", "openai-chat", body)),)
    with app_served(monkeypatch, root=tmp_path, commands=True, playable=playable) as served, client(served) as asked:
        monkeypatch.setenv("OPENAI_API_KEY", "a secret")
        with asked.stream("POST", "/api/runs", json=PLAY) as response:
            request = received(response, until="requested")[-1]
        assert decided(asked, request).status_code == 204
        with asked.stream("GET", "/api/runs/run_1/stream") as again:
            (result,) = [each for each in received(again) if each["type"] == "TOOL_RESULT"]
        assert result["value"] == {"code": 3, "output": f"{tmp_path}\nno key\n"}


def test_without_a_folder_nothing_is_asked_and_nothing_done(monkeypatch: pytest.MonkeyPatch):
    assert new_session(PLAYABLE, None, commands=False).listed()["can"]["root"] is None
    with (
        app_served(monkeypatch, playable=PLAYABLE) as served,
        client(served) as asked,
        asked.stream("POST", "/api/runs", json=PLAY) as response,
    ):
        assert not {"TOOL_CALL_STATUS", "FILE_RESULT"} & set(types(received(response)))


def test_the_page_is_told_which_providers_need_a_key_so_that_without_one_it_offers_recordings():
    needs = {each["name"]: each["needs_key"] for each in _providers()}
    assert needs["openai-chat"]
    assert not needs["bedrock-converse" if "bedrock-converse" in needs else "bedrock"]


MUTANTS = {
    "the app needs no token": ("without_the_token", ("studio/app/app_routes.py", 'return hmac.compare_digest(header.encode(), f"Bearer {self._token}".encode())', "return self._token is not header")),
    "the app approves a call that was not shown": ("after_a_yes", ("studio/app/app_session.py", "if decision.sha256 != question.request.sha256:", "if not question.request.sha256:")),
}  # fmt: skip
