"""`read_config`: what a file says, what is wrong with it, and a gateway that works by it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from app_server import serving
from chat_templates import PLAIN
from looped import looped
from scripted_upstream import ScriptedUpstream, body_of, completed, text_chunks
from starlette.responses import JSONResponse

from penstock import UsageError
from penstock.gateway.serving.answer_guards import REDACTED
from penstock.gateway.serving.gateway_app import Gateway
from penstock.gateway.serving.gateway_config import read_config

ROOT = Path(__file__).parents[3]
LOCAL = '[upstreams.local]\nurl = "http://127.0.0.1:8080"\n'
OTHER = '[upstreams.other]\nurl = "http://127.0.0.1:8081"\n'
WRONG = [
    ("", "upstreams is missing; add a table such as [upstreams.local] with a url"),
    ("upstreams = 5", "upstreams: must be a valid dictionary, got 5"),
    ("[upstreams]", "upstreams: must not be empty"),
    ("a =", "it is not TOML: Invalid value (at end of document)"),
    (LOCAL + "b\n", "it is not TOML: Expected '=' after a key in a key/value pair (at line 3, column 2)"),
    ("[upstreams.a]", 'upstreams.a.url is missing; add it, as "http://127.0.0.1:8080"'),
    (LOCAL + 'sever = "vllm"', "upstreams.local.sever: unknown key; did you mean 'server'?"),
    (LOCAL + 'server = "vlm"', "upstreams.local.server: must be 'vllm', 'sglang', 'llamacpp', 'ollama', 'lmstudio' or 'openai', got 'vlm'"),
    ('[upstreams."a b"]\nurl = "x"', 'upstreams."a b".url: an upstream must be an address such as http://127.0.0.1:8000, got x'),
    (LOCAL + 'key_env = "NOWHERE"', "upstreams.local.key_env: the environment variable 'NOWHERE' is not set; put the key into it"),
    (LOCAL + 'key_env = "BROKEN"', "upstreams.local.key_env: a key has a line end or a control character; set it as one line"),
    (LOCAL + 'dialect = "herms"', "upstreams.local.dialect: unknown dialect 'herms'; did you mean 'hermes'?"),
    (LOCAL + "silence = 0", "upstreams.local.silence: must be greater than 0, got 0"),
    ('key_env = ""\n' + LOCAL, "key_env: the environment variable '' is not set; put the key into it"),
    ('prt = 1\nport = "1"\n' + LOCAL, "port: must be a valid integer, got '1'; prt: unknown key; did you mean 'port'?"),
    ("most_at_once = 0\n" + LOCAL, "most_at_once: must be greater than or equal to 1, got 0"),
    (LOCAL + OTHER, "there are several upstreams, so each model needs a table such as [models.NAME] with upstreams"),
    (LOCAL + OTHER + "[models.a]", "models.a.upstreams: there are several; name one of local, other"),
    (LOCAL + '[models.a]\nupstreams = ["locl"]', "models.a.upstreams: unknown 'locl'; did you mean 'local'?"),
    (LOCAL + "[models.a]\naliases = []", "models.a.aliases: must not be empty"),
    (LOCAL + '[models.a]\naliases = [""]', "models.a.aliases.0: must not be empty"),
    ("allow_tools = []\n" + LOCAL, "allow_tools: must not be empty"),
    (LOCAL + '[models.a]\nroot = "nowhere"', "models.a: --root must be a folder that is there, got 'FOLDER/nowhere'"),
    ('redact = ["key"]\n' + LOCAL, "redact.0: must be 'keys', 'email', 'card', 'phone' or 'all', got 'key'"),
    ("[watchdog]\nfrst = 3\n" + LOCAL, "watchdog.frst: unknown key; did you mean 'first'?"),
    (LOCAL + "[models.a.watchdog]\nfirst = 0", "models.a.watchdog.first: must be greater than 0, got 0"),
    (LOCAL + '[models."claude-*"]', 'models."claude-*": clients see this name, so it cannot be a pattern; move it to the aliases of a model'),
    (LOCAL + '[models.a]\nmodle = "x"', "models.a.modle: unknown key; did you mean 'model'?"),
    (LOCAL + '[models.a]\ndialect = "herms"', "models.a.dialect: unknown dialect 'herms'; did you mean 'hermes'?"),
    (LOCAL + '[models.a]\ntemplate = "none.jinja"', "models.a.template: cannot read the chat template FOLDER/none.jinja: No such file or directory"),
    (LOCAL + '[models."a.b"]\naliases = ["c"]\n[models.c]', "models.c: 'c' is a name of models.\"a.b\" too; take it out of one of them"),
]  # fmt: skip


def written(folder: Path, text: str) -> Path:
    path = folder / "gateway.toml"
    path.write_text(text, encoding="utf-8")
    return path


@looped("text, complaint", WRONG)
def test_what_is_wrong_is_told_with_its_key_and_what_to_do(text: str, complaint: str, tmp_path: Path):
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as raised:
        read_config(path, {"BROKEN": "one\ntwo"})
    assert str(raised.value) == f"{path}: {complaint.replace('FOLDER', str(tmp_path))}"


def test_a_file_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(UsageError, match=r"nowhere\.toml: No such file"):
        read_config(tmp_path / "nowhere.toml")
    (tmp_path / "gateway.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="it is not TOML: 'utf-8' codec"):
        read_config(tmp_path / "gateway.toml")


def test_what_the_file_leaves_out_is_left_to_the_defaults(tmp_path: Path):
    models, options, running = read_config(written(tmp_path, LOCAL), {})
    assert (options, running) == ({}, {})
    assert [(each.names, each.upstreams[0].url, each.is_any) for each in models] == [
        (("*",), "http://127.0.0.1:8080", True)
    ]


def test_the_file_in_the_docs_is_read(tmp_path: Path):
    page = (ROOT / "docs/gateway.md").read_text(encoding="utf-8")
    [text] = re.findall(r"```toml\n(# gateway\.toml\n.*?)```", page, re.DOTALL)
    environment = {"GATEWAY_KEY": "ours", "VLLM_KEY": "theirs"}
    (tmp_path / "work").mkdir()
    models, options, running = read_config(written(tmp_path, text), environment)
    assert [each.names for each in models] == [("qwen3-coder", "claude-*", "gpt-*"), ("llama",)]
    assert [len(each.upstreams) for each in models] == [2, 1]
    assert options == {"key": "ours", "most_at_once": 16, "most_waiting": 32, "record": tmp_path / "recordings"}
    assert running == {"host": "0.0.0.0", "port": 4141, "grace": 30.0}
    fields = {*re.findall(r"(?m)^(\w+) =", text)}
    for field in fields:
        assert f"`{field}`" in page, "each key is explained"


@contextmanager
def configured(folder: Path, upstreams: Sequence[ScriptedUpstream], models: str, **environment: str) -> Iterator[str]:
    """Yield the address of a gateway by a file, in front of upstreams `a` and `b`."""
    first, second = upstreams
    with serving(first.app) as a, serving(second.app) as b:
        text = f'[upstreams.a]\nurl = "http://{a}"\nkey_env = "KEY"\n[upstreams.b]\nurl = "http://{b}/v1"\n{models}'
        config = read_config(written(folder, text), environment)
        with serving(Gateway(config.models).app()) as address:
            yield f"http://{address}"


MODELS = """
[models.coder]
upstreams = ["a"]
dialect = "hermes"
aliases = ["claude-*", "gpt-*", "gpt-5"]

[models.small]
upstreams = ["b"]
model = "tiny-1b"
aliases = ["claude-haiku-*"]

[models.rest]
upstreams = ["b"]
aliases = ["*"]
"""


def several(*names: str) -> ScriptedUpstream:
    models = {"/v1/models": {"data": [{"id": name, "owned_by": "sglang"} for name in names]}}
    return ScriptedUpstream(body_of(text_chunks(["Hi"])), routes=models)


@pytest.fixture
def upstreams() -> tuple[ScriptedUpstream, ScriptedUpstream]:
    return several("qwen"), several("x", "y")


@pytest.fixture
def url(upstreams: tuple[ScriptedUpstream, ScriptedUpstream], tmp_path: Path) -> Iterator[str]:
    with configured(tmp_path, upstreams, MODELS, KEY="theirs") as address:
        yield address


@looped(
    "name, at, model",
    [
        ("coder", 0, "qwen"),  # the only one of its server
        ("claude-sonnet-4-5[1m]", 0, "qwen"),
        ("gpt-5", 0, "qwen"),
        ("claude-haiku-4", 0, "qwen"),  # the first pattern that fits
        ("small", 1, "tiny-1b"),
        ("rest", 1, "rest"),
        ("something", 1, "rest"),
    ],
)
def test_a_name_leads_to_its_server_and_model(
    name: str, at: int, model: str, url: str, upstreams: tuple[ScriptedUpstream, ScriptedUpstream]
):
    for each in upstreams:
        each.requests.clear()
        each.headers.clear()
    with openai.OpenAI(base_url=f"{url}/v1", api_key="mine", max_retries=0) as client:
        answer = client.responses.create(model=name, input="Go.")
    with anthropic.Anthropic(base_url=url, api_key="mine", max_retries=0) as other:
        other.messages.create(model=name, max_tokens=9, messages=[{"role": "user", "content": "Go."}])
    assert (answer.output_text, answer.model) == ("Hi", name)
    assert [request["model"] for request in upstreams[at].requests] == [model] * 2
    assert [headers["authorization"] for headers in upstreams[at].headers] == [
        f"Bearer {'mine' if at else 'theirs'}"
    ] * 2
    assert upstreams[1 - at].requests == []


def test_each_model_has_its_own_dialect_and_all_are_listed(url: str):
    listed = httpx2.get(f"{url}/v1/models").json()["data"]
    assert [each["id"] for each in listed] == ["coder", "gpt-5", "small", "rest"]
    body = {"model": "coder", "messages": [{"role": "user", "content": "Go."}]}
    answer = httpx2.post(f"{url}/v1/chat/completions", json=body)
    assert answer.headers["x-penstock-lane"] == "raw; hermes; sglang"
    assert httpx2.post(f"{url}/v1/messages/count_tokens", json=body).json()["input_tokens"] > 0


def test_an_unknown_name_is_told_in_the_words_of_the_api(tmp_path: Path):
    models = '[models.coder]\nupstreams = ["a"]\naliases = ["claude-*"]\n[models.small]\nupstreams = ["b"]'
    body = {"model": "gpt-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Go."}], "input": "Go."}
    with configured(tmp_path, (several("qwen"), several("x")), models, KEY="theirs") as url:
        for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages"):
            answer = httpx2.post(url + path, json=body)
            error: dict[str, Any] = answer.json()["error"]
            assert answer.status_code == 404
            assert error["message"] == "model: unknown 'gpt-5'; known are coder, small"
            assert error.get("code", error["type"]) in ("model_not_found", "not_found_error")


def test_a_model_has_a_template_of_its_own(tmp_path: Path):
    (tmp_path / "own.jinja").write_text(PLAIN, encoding="utf-8")
    models = '[models.a]\nupstreams = ["a"]\ntemplate = "own.jinja"\n[models.b]\nupstreams = ["b"]\n'
    one, other = ScriptedUpstream(completed(["Hi"])), ScriptedUpstream(body_of(text_chunks(["Hi"])))
    with configured(tmp_path, [one, other], models, KEY="-") as url:
        for model in ("a", "b"):
            body = {"model": model, "messages": [{"role": "user", "content": "Go."}]}
            answer = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=20).json()
            assert answer["choices"][0]["message"]["content"] == "Hi"
    assert (one.paths, other.paths) == (["/v1/completions"], ["/v1/chat/completions"])
    assert one.requests[0]["prompt"] == "user: Go.\nassistant:"


def test_the_next_server_of_a_model_is_asked_where_one_fails(tmp_path: Path):
    broken = ScriptedUpstream(JSONResponse({"error": {"message": "no"}}, 500))
    models = '[models.coder]\nupstreams = ["a", "b"]\nmodel = "x"'
    with configured(tmp_path, (broken, several("x", "y")), models, KEY="theirs") as url:
        answer = httpx2.post(f"{url}/v1/responses", json={"model": "coder", "input": "Go."}).json()
    assert answer["output"][0]["content"][0]["text"] == "Hi"
    assert len(broken.requests) == 1


GUARDS = """
allow_tools = ["read"]
redact = ["all"]
root = "work"
[watchdog]
first = 30

[upstreams.a]
url = "http://127.0.0.1:1"
dialect = "hermes"

[models.plain]

[models.own]
dialect = "qwen3_coder"
allow_tools = ["read", "write"]
redact = ["keys", "email"]
[models.own.watchdog]
between = 10
"""


def test_what_a_model_says_comes_before_its_server_and_the_top(tmp_path: Path):
    (tmp_path / "work").mkdir()
    plain, own = (each.options for each in read_config(written(tmp_path, GUARDS), {}).models)
    assert (plain.dialect, own.dialect) == ("hermes", "qwen3_coder")
    assert (plain.allow_tools, own.allow_tools) == (["read"], ["read", "write"])
    assert (plain.redact, own.redact) == ([*REDACTED.values()], [REDACTED["keys"], REDACTED["email"]])
    assert (plain.watchdog, own.watchdog) == ({"first": 30.0}, {"between": 10.0})
    assert plain.root == own.root == tmp_path / "work"


def test_guards_of_a_model_are_for_its_answers_and_redaction_for_all_that_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call> me@example.org'
    upstreams = [several("qwen"), several("x")]
    for each in upstreams:
        each.scripts = [body_of(text_chunks([call]))]
    models = (
        '[models.guarded]\nupstreams = ["a"]\ndialect = "hermes"\nallow_tools = ["g"]\nredact = ["email"]\n'
        '[models.free]\nupstreams = ["b"]\ndialect = "hermes"'
    )
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    with caplog.at_level("INFO", "penstock.gateway"), configured(tmp_path, upstreams, models, KEY="theirs") as url:
        for model, is_free in (("guarded", False), ("free", True)):
            body = {"model": model, "messages": [{"role": "user", "content": "Go."}], "tools": tools}
            said = httpx2.post(f"{url}/v1/chat/completions", json=body).text
            assert ('"tool_calls":[' in said) is is_free
            assert ("me@example.org" in said) is is_free
        httpx2.post(f"{url}/v1/chat/completions", json={**body, "model": "me@example.org"})
    assert "blocked=f(allowed_tools)" in caplog.text
    assert "me@example.org" not in caplog.text
