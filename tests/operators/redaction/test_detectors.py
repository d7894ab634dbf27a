from __future__ import annotations

import base64
import json
import re

import pytest
from redaction_oracle import redacted_whole

from penstock.events import UsageError
from penstock.operators import CARD, EMAIL, KEYS, PHONE, Detector
from penstock.operators.redaction.detectors import detectors_of

LETTERS = "aB3" * 40
SECRETS = {
    "sk-ant-api03-" + LETTERS[:80]: "anthropic key",
    "sk-proj-" + LETTERS[:40]: "api key",
    "AIza" + LETTERS[:35]: "google key",
    "ya29." + LETTERS[:50]: "google token",
    "ghp_" + LETTERS[:36]: "github token",
    "gho_" + LETTERS[:36]: "github token",
    "github_pat_" + LETTERS[:22] + "_" + LETTERS[:59]: "github token",
    "glpat-" + LETTERS[:20]: "gitlab token",
    "AKIAIOSFODNN7EXAMPLE": "aws key",
    "ASIAIOSFODNN7EXAMPLE": "aws key",
    "xoxb-123456789012-" + LETTERS[:24]: "slack token",
    "xoxp-123456789012-" + LETTERS[:24]: "slack token",
    "hf_" + LETTERS[:34]: "hugging face token",
    "gsk_" + LETTERS[:52]: "groq key",
    "xai-" + LETTERS[:80]: "xai key",
    "pplx-" + LETTERS[:48]: "perplexity key",
    "nvapi-" + LETTERS[:64]: "nvidia key",
    "r8_" + LETTERS[:37]: "replicate token",
    "sk_live_" + LETTERS[:24]: "stripe key",
    "SG." + LETTERS[:22] + "." + LETTERS[:43]: "sendgrid key",
    "npm_" + LETTERS[:36]: "npm token",
    "pypi-" + LETTERS[:100]: "pypi token",
}


@pytest.mark.parametrize(("secret", "name"), SECRETS.items())
def test_the_keys_of_providers_are_found(secret: str, name: str):
    for around in ("{}", "key={}", '"{}"', "a {}, b", "({})"):
        assert redacted_whole(KEYS, around.format(secret)) == around.format(f"[redacted:{name}]")


def test_a_web_token_and_a_private_key_are_found():
    parts = (
        base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=")
        for each in ({"alg": "HS256"}, {"sub": "1"})
    )
    token = ".".join((*parts, LETTERS[:43]))
    assert redacted_whole(KEYS, f"Bearer {token}; x") == "Bearer [redacted:jwt]; x"
    body = "MIIEowIBAAKCAQEA" * 4 + "\n" + "wJalrXUtnFEMI/K7" * 4
    for kind in ("RSA ", "", "OPENSSH ", "EC "):
        key = f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----\n"
        shown = redacted_whole(KEYS, key)
        assert shown == f"[redacted:private key]-----END {kind}PRIVATE KEY-----\n"
    locked = f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B2C\n\n{body}\n"
    assert redacted_whole(KEYS, locked) == "[redacted:private key]"


@pytest.mark.parametrize(
    "text",
    [
        "task-list-of-many-things-to-do",
        "disk-usage-of-all-the-volumes-here",
        "AKIA is short",
        "sha_1234567890",
        "eyJhbGciOi.x",
    ],
)
def test_what_only_looks_like_a_key_stays(text: str):
    assert redacted_whole(KEYS, text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("write to joe.b+x@mail.example.co.uk.", "write to [redacted:email]."),
        ("<a@b.io>", "<[redacted:email]>"),
        ("a@b and @c.de", "a@b and @c.de"),
        ("4111 1111 1111 1111", "[redacted:card]"),
        ("5105-1051-0510-5100,", "[redacted:card],"),
        ("378282246310005 123", "[redacted:card] 123"),
        ("4111111111111112", "4111111111111112"),
        ("14111111111111111", "14111111111111111"),
        ("call +49 30 1234567 or", "call [redacted:phone] or"),
        ("0049301234567", "[redacted:phone]"),
        ("(555) 123-4567, 555.123.4567", "[redacted:phone], [redacted:phone]"),
        ("1555-123-45678 v1.555.123.4567", "1555-123-45678 v1.555.123.4567"),
    ],
)
def test_addresses_and_numbers(text: str, shown: str):
    assert redacted_whole((EMAIL, CARD, *PHONE), text) == shown


def test_texts_patterns_and_sets_are_detectors():
    pattern = re.compile("x{1,3}")
    found = detectors_of(("a+b", pattern, [EMAIL, (CARD,)]))
    assert [each.name for each in found] == ["secret", "secret", "email", "card"]
    assert found[0].pattern == r"a\+b"
    assert found[1].pattern is pattern


def test_a_name_reads_the_same_in_each_dialect():
    for name in ("", "<b>", 'a"', "a\nb", " a", "é"):
        with pytest.raises(UsageError, match="the name of a detector must be"):
            Detector(name, "x")
