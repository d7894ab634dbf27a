"""Credentials in URLs never come out, wherever a URL is shown."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock.events import ProviderError
from penstock.events.errors import shown_url, without_credentials
from penstock.sinks.event_cards import error_card
from penstock.sinks.parts.event_words import stream_error
from penstock.sources.base.endings import error_in_body, provider_error

SECRET = "s3cr3t"
URLS = [
    "https://me:s3cr3t@example.org/v1", "https://s3cr3t@example.org", "https://:s3cr3t@example.org",
    "https://me:s3/cr3t@example.org", "https://me:s3?cr3t@example.org", "https://me:s3#cr3t@example.org/v1?a=b",
    "https://me:a@s3cr3t@example.org", "https://example.org/v1?key=s3cr3t", "https://example.org/?a=1&b=s3cr3t&c=2",
    "https://example.org/?email=me@example.org&key=s3cr3t", "https://example.org/?s3cr3t", "https://example.org/#s3cr3t",
    "https://example.org/v1?alt=sse&s3cr3t", "https://example.org/cb#access_token=s3cr3t", "me:s3cr3t@example.org:80",
    "socks5://me:s3cr3t@example.org:1080", "HTTPS://me:s3cr3t@EXAMPLE.ORG", r"https:\/\/me:s3cr3t@example.org\/v1",
    "/v1beta/models/m:streamGenerateContent?key=s3cr3t", "example.org/v1?key=s3cr3t", "https://me:s3cr3t@[::1]:80/v1",
    "https:/me:s3cr3t@example.org/v1", "https:/example.org/?s3cr3t", "https://example.org/v1?a=b;key=s3cr3t", "https://proxy.example/?to=https://me:s3cr3t@example.org",
]  # fmt: skip
AROUND = [
    "{}",
    "no answer from {}",
    "got '{}'",
    'got "{}".',
    "<{}>",
    "(asked x at {})",
    "URL('{}')",
    "a\n{}\nb",
    "{}, {}",
]


@looped("around", AROUND)
@looped("url", URLS)
def test_nothing_that_a_url_keeps_secret_stays_in_a_text(url: str, around: str):
    shown = without_credentials(around.replace("{}", url))
    assert [part for part in (SECRET, "s3/", "cr3t", "s3?") if part in shown] == []
    assert "***" in shown
    assert without_credentials(shown) == shown


@looped(
    "text",
    [
        "connection lost (ConnectError): [Errno 111] Connection refused (asked openai at http://127.0.0.1:8000/v1)",
        "find your key at https://platform.example/account/api-keys.", "overview?project=123 then", "me@example.org",
        "https://example.org/v1?alt=sse&api-version=2024-10-21", "a: b = c", "Expected 1 @ 2", "what? a=b", "x//y", "C:/Users/me@work/a.sse", "C:\\me@work\\a.sse",
        "https://example.org/v1beta/models/m:streamGenerateContent", "tests/a.py:3: error", "",
    ],
)  # fmt: skip
def test_what_has_no_credentials_stays_as_it_is(text: str):
    assert without_credentials(text) == text


def test_what_helps_to_understand_stays():
    shown = without_credentials("no answer from https://me:s3cr3t@example.org:80/v1?alt=sse&key=s3cr3t)")
    assert shown == "no answer from https://***@example.org:80/v1?alt=sse&key=***)"


@given(st.text(min_size=1).filter(lambda text: text not in "https://***@example.org/v1"), st.booleans())
def test_a_whole_url_is_shown_without_any_password(password: str, in_query: bool):
    url = f"https://example.org/v1?key={password}" if in_query else f"https://me:{password}@example.org/v1"
    shown = shown_url(url)
    if in_query and "&" not in password and ";" not in password and "#" not in password and "@" not in password:
        assert shown in (f"https://example.org/v1?key={'***'}", "https://example.org/v1?key=)")
    if not in_query:
        assert shown in ("https://***@example.org/v1", "https://***")


@looped("unit", ["a", "a:", "a@", "?", "?a", "?a=", "://", "a://", "a:@", "https://a@b?c=d", "=)", "\\/"])
def test_long_texts_take_no_longer_for_each_character(unit: str):
    # With a power of the length more this would take hours.
    assert without_credentials(unit * 200_000)


def test_every_error_of_a_provider_hides_them():
    error = ProviderError(f"no answer from {URLS[0]}", transport=True)
    assert (error.detail, SECRET in str(error), SECRET in repr(error)) == (
        "no answer from https://***@example.org/v1",
        False,
        False,
    )
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert SECRET not in error_in_body({"message": f"bad key: {URLS[7]}"}).detail


@pytest.mark.parametrize("name", ["httpx", "httpx2"])
def test_an_http_clients_words_hide_them(name: str):
    client: Any = pytest.importorskip(name)
    request = client.Request("POST", URLS[0] + "?key=s3cr3t")
    raised = client.HTTPStatusError(
        f"Client error '401 Unauthorized' for url '{request.url!s}'", request=request, response=client.Response(401)
    )
    said = provider_error(raised)
    assert said is not None
    assert SECRET not in f"{said} {said!r}"


@pytest.mark.parametrize("error", [ValueError(f"wrong: {URLS[0]}"), OSError(f"{URLS[7]}"), asyncio.QueueFull(URLS[5])])
def test_what_a_sink_shows_of_an_error_hides_them(error: Exception):
    assert "cr3t" not in stream_error(error)
    assert "cr3t" not in str(error_card(error).body)


MUTANTS = {
    "a URL keeps its user and password": ("", ("events/errors.py", 'shown = f"{_HIDDEN}@{host}" if at and user else authority', "shown = authority")),
    "a URL keeps the values of its parameters": ("", ("events/errors.py", "if name.lower() in _OPEN else", "if name else")),
    "a ProviderError tells what URLs keep secret": ("error", ("events/errors.py", "detail = without_credentials(detail)", "pass")),
}  # fmt: skip
