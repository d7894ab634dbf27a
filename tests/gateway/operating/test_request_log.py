"""`RequestLog`: the line and the metrics of each request, over sockets."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

import httpx2
import pytest
from app_server import serving
from looped import looped
from prometheus_client.parser import text_string_to_metric_families
from scripted_upstream import MODEL, ScriptedUpstream, body_of, chunk, gateway, text_chunks
from starlette.requests import Request
from starlette.responses import JSONResponse

from penstock.gateway.operating.request_log import RequestLog
from penstock.gateway.operating.request_turns import Turns
from penstock.gateway.serving.gateway_app import Gateway
from penstock.gateway.serving.upstream import Upstream

CHAT, RESPONSES, MESSAGES = PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
CUT_CALL = '<tool_call>{"name": "f", "argum'
BEGIN = body_of(text_chunks(["Hi"], None), done=False)


def asked(path: str = MESSAGES, **more: Any) -> dict[str, Any]:
    tools: dict[str, Any] = {
        CHAT: [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        RESPONSES: [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
    }
    messages = [{"role": "user", "content": "Go."}]
    given = tools.get(path, [{"name": "f", "input_schema": {"type": "object"}}])
    return {"model": "m", "stream": True, "max_tokens": 9, "messages": messages, "input": "Go.", "tools": given, **more}


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[Queue[str]]:
    """Lines of the log, each as soon as it is written: a client may have its answer before."""
    written: Queue[str] = Queue()
    with caplog.at_level("INFO", "penstock.gateway"):
        emit = caplog.handler.emit

        def noted(record: Any) -> None:
            emit(record)
            if record.name == "penstock.gateway":
                written.put(record.getMessage())

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(caplog.handler, "emit", noted)
            yield written


def measured(url: str, **headers: str) -> dict[tuple[str, ...], float]:
    """Return the metrics: by the name without its beginning, and the values of its labels."""
    text = httpx2.get(f"{url}/metrics", headers=headers).raise_for_status().text
    return {
        (sample.name.removeprefix("penstock_gateway_"), *(value for _, value in sorted(sample.labels.items()))): value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        for value in [sample.value]
    }


@looped("path", PATHS)
def test_what_became_of_a_request_is_counted(path: str, lines: Queue[str]):
    server = ScriptedUpstream(body_of(text_chunks(["Hm. ", CALL])), body_of(text_chunks([CUT_CALL], "length")))
    with gateway(server, dialect="hermes") as url:
        for _ in range(2):
            assert httpx2.post(url + path, json=asked(path), timeout=20).status_code == 200
            lines.get(timeout=20)
        counts = measured(url)
    assert counts["requests_total", MODEL, path, "200"] == 2
    assert counts["first_output_seconds_count", MODEL, path] == 2
    assert counts["calls_total", MODEL, "mended"] == 1
    assert counts["calls_total", MODEL, "failed"] == 1
    assert ("calls_total", MODEL, "passed") not in counts
    assert [counts["tokens_total", kind, MODEL] for kind in ("prompt", "completion")] == [22, 14]
    assert counts["open_streams",] == counts["waiting_requests",] == 0


@pytest.mark.parametrize(
    ("script", "status", "counted"),
    [
        (JSONResponse({"error": {"message": "no"}}, 429), 429, "429"),
        ([...], 503, "transport"),
        ([*BEGIN, ...], 200, "transport"),
        (body_of([{"error": {"message": "no", "code": 500}}]), 500, "500"),
    ],
)
def test_errors_of_the_upstream_are_counted_by_status(script: Any, status: int, counted: str, lines: Queue[str]):
    with gateway(ScriptedUpstream(script), dialect="hermes") as url:
        assert httpx2.post(url + MESSAGES, json=asked(), timeout=20).status_code == status
        line = lines.get(timeout=20)
        counts = measured(url)
    assert counts["upstream_errors_total", MODEL, counted] == 1
    assert re.match(rf"POST /v1/messages {status} \d+\.\d\ds asked=m stream=True model={MODEL} .*error=\S", line), line


def test_streams_that_are_open_and_requests_that_wait_are_counted(lines: Queue[str]):
    server = ScriptedUpstream([*BEGIN, None, *body_of(text_chunks([])[1:])])
    with (
        gateway(server, dialect="hermes", most_at_once=1) as url,
        ThreadPoolExecutor() as others,
        httpx2.stream("POST", url + MESSAGES, json=asked(), timeout=20) as first,
    ):
        pieces = first.iter_text()
        next(pieces)
        second = others.submit(httpx2.post, url + CHAT, json=asked(CHAT), timeout=20)
        while measured(url)["waiting_requests",] != 1:
            assert not second.done()
        assert measured(url)["open_streams",] == 1
        server.go()
        server.go()
        assert "message_stop" in "".join(pieces)
        assert second.result().status_code == 200
        lines.get(timeout=20)
        assert "waited=" in lines.get(timeout=20)
        assert measured(url)["open_streams",] == measured(url)["waiting_requests",] == 0


def test_a_request_that_the_client_leaves_is_one_whole_line(lines: Queue[str]):
    server = ScriptedUpstream([*BEGIN, None], [None])
    with gateway(server, dialect="hermes") as url:
        with httpx2.stream("POST", url + MESSAGES, json=asked(), timeout=20) as response:
            next(response.iter_lines())
        line = lines.get(timeout=20)
        assert re.match(
            r"POST /v1/messages 499 \d+\.\d\ds asked=m stream=True model=m-1 lane=raw; hermes upstream=http\S+ first=",
            line,
        )
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(url + CHAT, json=asked(CHAT), timeout=0.5)
        assert re.match(r"POST /v1/chat/completions 499 \d+\.\d\ds asked=m stream=True model=", lines.get(timeout=20))
        assert measured(url)["requests_total", MODEL, MESSAGES, "499"] == 1


REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("POST", MESSAGES, {"json": {}}, r"POST /v1/messages 400 .*error=.*messages"),
    ("POST", CHAT, {"content": b"{"}, r"POST /v1/chat/completions 400 .*error=the body: must be JSON"),
    ("POST", RESPONSES, {"json": asked(previous_response_id="resp_x")}, "POST /v1/responses 400 .*error=previous_resp"),
    ("POST", MESSAGES, {"json": asked(pad="x" * 5000)}, "POST /v1/messages 413 .*error=the request is longer than"),
    ("POST", "/chat/completions", {}, "POST /chat/completions 404 .*error=POST /chat/completions is not served"),
    ("GET", CHAT, {}, "GET /v1/chat/completions 405 .*error=GET /v1/chat/completions is not served"),
    ("GET", "/v1/models", {}, r"GET /v1/models 200 \d"),
    ("HEAD", "/", {}, r"HEAD / 200 \d"),
    ("POST", "/v1/messages/count_tokens", {"json": asked()}, "POST /v1/messages/count_tokens 200 .*model=m-1"),
    ("POST", MESSAGES, {"json": asked(), "headers": {"origin": "http://a"}}, "POST /v1/messages 403 .*error=pages in"),
]


@pytest.fixture
def narrow() -> Iterator[str]:
    """The address of a gateway that takes short requests only."""
    with gateway(ScriptedUpstream([]), longest_body=2000) as url:
        yield url


@looped("method, path, sent, wanted", REFUSED)
def test_each_other_request_is_one_line_too(
    method: str, path: str, sent: Any, wanted: str, lines: Queue[str], narrow: str
):
    httpx2.request(method, narrow + path, **sent)
    assert re.match(wanted, lines.get(timeout=20))


def test_a_list_of_models_that_cannot_be_had_is_told(lines: Queue[str]):
    with gateway(ScriptedUpstream([], routes={"/v1/models": []}), key="secret") as url:
        httpx2.get(f"{url}/v1/models")
        assert re.match(r"GET /v1/models 401 \S+ error=the key is missing or wrong", lines.get(timeout=20))
    with serving(Gateway(Upstream("http://127.0.0.1:1")).app()) as address:
        httpx2.get(f"http://{address}/v1/models")
        assert re.match(r"GET /v1/models 503 \S+ error=", lines.get(timeout=20))


def test_a_scrape_is_no_line(lines: Queue[str], narrow: str):
    for path in ("/metrics", "/v1/models"):
        httpx2.get(narrow + path)
    assert lines.get(timeout=20).startswith("GET /v1/models 200")


def test_a_line_stays_one_line_whatever_a_client_or_a_server_sends(lines: Queue[str]):
    server = ScriptedUpstream(JSONResponse({"error": {"message": "no\nPOST /forged 200"}}, 400))
    with gateway(server) as url:
        httpx2.post(url + MESSAGES, json=asked(model="a\r\nPOST /forged 200\x1b[2J" + "x" * 10_000))
        line = lines.get(timeout=20)
        assert line.isprintable()
        assert len(line) < 7000
        httpx2.post(f"{url}/a%0APOST%20/forged")
        assert lines.get(timeout=20).isprintable()


def test_any_number_of_models_makes_a_bounded_number_of_series():
    log = RequestLog((CHAT,), Turns(1, 1, 1.0), lambda: 0)

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        scope["state"]["notes"] |= {"model": scope["model"], "_is_model": True}

    async def ask() -> None:
        for number in range(150):
            for model in (f"m{number}", "long" * 1000):
                scope = {"type": "http", "method": "POST", "path": CHAT, "model": model}
                await log.around(app)(scope, None, None)  # type: ignore[arg-type]  # it uses neither

    asyncio.run(ask())
    text = bytes(log.exposed(Request({"type": "http", "headers": []})).body).decode()
    counts = [float(each.rpartition(" ")[2]) for each in re.findall(r"(?m)^penstock_gateway_requests_total.*$", text)]
    assert (len(counts), max(counts), sum(counts)) == (101, 200, 300)
    assert "long" not in text


@looped("listed, status, labels", [
    (["m-1", "m-2"], 404, {"m-1", "m-2", "other"}),
    (["m-1", "m-2"], 200, {"m-1", "m-2", "other"}),
    ([], 404, {"other"}),
])  # fmt: skip
def test_names_that_clients_make_up_have_no_series_of_their_own(
    listed: list[str], status: int, labels: set[str], lines: Queue[str]
):
    script = body_of(text_chunks(["Hi"])) if status == 200 else JSONResponse({"error": {"message": "no"}}, status)
    server = ScriptedUpstream(script, routes={"/v1/models": {"data": [{"id": name} for name in listed]}})
    with gateway(server) as url:
        for number in range(20):
            for name in (f"junk-{number}", *listed):
                assert httpx2.post(url + CHAT, json=asked(CHAT, model=name), timeout=20).status_code == status
                lines.get(timeout=20)
        assert {key[1] for key in measured(url) if key[0] == "requests_total"} == labels


def test_a_model_that_a_server_without_a_list_answers_has_its_own_series(lines: Queue[str]):
    with gateway(ScriptedUpstream(body_of(text_chunks(["Hi"])), routes={"/v1/models": {"data": []}})) as url:
        httpx2.post(url + CHAT, json=asked(CHAT, model="mine"), timeout=20)
        lines.get(timeout=20)
        assert measured(url)["requests_total", "mine", CHAT, "200"] == 1


def test_metrics_are_for_those_who_have_the_key_and_for_no_page_in_a_browser():
    with gateway(ScriptedUpstream([]), key="secret") as url:
        assert httpx2.get(f"{url}/metrics").status_code == 401
        assert httpx2.get(f"{url}/metrics", headers={"origin": "http://a"}).status_code == 403
        answer = httpx2.get(f"{url}/metrics", headers={"authorization": "Bearer secret"})
        assert answer.headers["content-type"].startswith("text/plain; version=")
        openmetrics = {"authorization": "Bearer secret", "accept": "application/openmetrics-text; version=1.0.0"}
        assert httpx2.get(f"{url}/metrics", headers=openmetrics).text.endswith("# EOF\n")


def test_what_the_server_parsed_and_nobody_mended_has_passed(lines: Queue[str]):
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    script = body_of([chunk({"tool_calls": [call]}), *text_chunks([], "tool_calls")[1:]])
    server = ScriptedUpstream(script, routes={"/v1/models": {"data": [{"id": "x"}]}})
    with gateway(server) as url:
        httpx2.post(url + MESSAGES, json=asked(), timeout=20)
        assert "calls=1 finish=tool_calls tokens=11+7" in lines.get(timeout=20)
        assert measured(url)["calls_total", "x", "passed"] == 1
