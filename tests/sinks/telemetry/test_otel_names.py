from __future__ import annotations

import warnings
from types import ModuleType

import pytest
from msgspec.structs import asdict
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.semconv.attributes import error_attributes

from penstock.events import UsageError
from penstock.sinks.telemetry.otel_names import NAMES, OPT_IN, PROVIDERS, otel_names
from penstock.sinks.telemetry.otel_setup import OtelInstruments


def constants(module: ModuleType) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some names are deprecated there
        values = [getattr(module, name) for name in dir(module) if name.isupper()]
    return {value for value in values if isinstance(value, str)}


METRICS = set(OtelInstruments.__struct_fields__)
OPERATIONS = {"chat", "execute_tool"}


def stated(conventions: str, *, metrics: bool) -> set[str]:
    names = asdict(NAMES["latest" if conventions == "latest" else "released"])
    fields = [name for name in names if (name in METRICS) is metrics and name not in OPERATIONS]
    return {names[field] for field in fields if names[field] and not names[field].startswith("penstock.")}


def test_the_released_names_are_those_of_the_package():
    assert stated("released", metrics=True) <= constants(gen_ai_metrics)
    known = constants(gen_ai_attributes) | constants(error_attributes)
    assert stated("released", metrics=False) - known == {"gen_ai.token.modality"}  # of the latest ones only
    assert {each.value for each in gen_ai_attributes.GenAiOperationNameValues} >= OPERATIONS


def test_the_latest_names_differ_in_metrics_only():
    assert stated("latest", metrics=False) == stated("released", metrics=False)
    assert stated("latest", metrics=True) == {
        "gen_ai.client.inference.duration",
        "gen_ai.client.inference.time_to_first_chunk",
        "gen_ai.client.inference.time_per_output_chunk",
        "gen_ai.client.inference.usage.input_tokens",
        "gen_ai.client.inference.usage.output_tokens",
        "gen_ai.client.inference.usage.cache_read.input_tokens",
        "gen_ai.client.inference.usage.reasoning.output_tokens",
        "gen_ai.client.inference.operation.input_tokens",
        "gen_ai.client.inference.operation.output_tokens",
        "gen_ai.execute_tool.duration",
    }


def test_the_providers_that_the_conventions_know_have_their_names():
    known = {each.value for each in gen_ai_attributes.GenAiProviderNameValues}
    assert set(PROVIDERS.values()) - known == {"ollama"}


def test_no_name_is_used_twice():
    for names in NAMES.values():
        used = [name for name in asdict(names).values() if name]
        assert sorted(used) == sorted(set(used))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (None, "released"),
        ("", "released"),
        ("http", "released"),
        ("gen_ai_latest_experimental", "latest"),
        ("http/dup, gen_ai_latest_experimental", "latest"),
        ("gen_ai_latest_experimental_not", "released"),
    ],
)
def test_the_environment_chooses_unless_the_caller_does(
    words: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv(OPT_IN, raising=False)
    if words is not None:
        monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", words)
    assert otel_names() is NAMES["latest" if expected == "latest" else "released"]
    assert otel_names("released") is NAMES["released"]
    assert otel_names("latest") is NAMES["latest"]


def test_other_conventions_are_refused():
    with pytest.raises(UsageError, match="conventions= must be one of 'released', 'latest', got 'v1'"):
        otel_names("v1")  # type: ignore[arg-type]
