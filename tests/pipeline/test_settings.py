"""`Settings`: the environment's word on pipelines."""

from __future__ import annotations

from typing import get_args

import pytest

from penstock.events import UsageError
from penstock.operators import Limits
from penstock.pipeline import Settings
from penstock.pipeline.strategy_choice import LimitName, settings_from_environment


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PENSTOCK_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER", "PENSTOCK_START", "PENSTOCK_EAGER"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_word_of_the_environment_the_defaults_hold():
    settings = settings_from_environment()
    assert (settings.strategy, settings.start, settings.eager) == ("api_tool_call", "deferred", False)
    assert settings.checked_limits() == Limits()


@pytest.mark.parametrize("name", ["PENSTOCK_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER"])
@pytest.mark.parametrize(("value", "strategy"), [(" XML\n", "xml"), ("", "api_tool_call"), ("  ", "api_tool_call")])
def test_the_strategy_is_trimmed_and_in_any_case(name: str, value: str, strategy: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, value)
    assert settings_from_environment().strategy == strategy


def test_our_own_name_goes_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PENSTOCK_STREAM_PARSER", "json")
    monkeypatch.setenv("AUTOBYTEUS_STREAM_PARSER", "xml")
    assert settings_from_environment().strategy == "json"


def test_limits_are_set_one_by_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PENSTOCK_LIMITS__DEPTH", "12")
    assert settings_from_environment().checked_limits() == Limits(depth=12)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("PENSTOCK_START", "later", "PENSTOCK_START: input should be 'deferred' or 'immediate', got 'later'"),
        ("PENSTOCK_EAGER", "perhaps", "PENSTOCK_EAGER"),
        ("PENSTOCK_LIMITS__DEPTH", "0", "PENSTOCK_LIMITS__DEPTH: input should be greater than 0, got '0'"),
        ("PENSTOCK_LIMITS__DEPHT", "3", "PENSTOCK_LIMITS__DEPHT"),
    ],
)
def test_a_wrong_value_is_told_with_its_variable(name: str, value: str, told: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError) as raised:
        settings_from_environment()
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_settings_may_be_made_in_code():
    assert Settings(start="immediate").start == "immediate"


def test_every_limit_has_its_variable():
    assert get_args(LimitName) == Limits.__struct_fields__
