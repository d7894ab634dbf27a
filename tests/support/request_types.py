"""Entries of a request, checked against the SDKs' own request types, in which unknown keys are refused."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from operator import attrgetter
from types import ModuleType
from typing import Any, Union, cast, get_args

import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter

MISTRALS = {"assistant": "AssistantMessage", "tool": "ToolMessage", "user": "UserMessage"}


def check_request(api: str, entries: list[Any]) -> None:
    """Raise if an SDK's types refuse one of the entries that follow the first message of a request."""
    for entry in entries:
        match api:
            case "gemini":
                _type_of("google.genai.types", "Content").model_validate(entry)
            case "mistral":
                check_model(_type_of("mistralai.client.models", MISTRALS[entry["role"]]), entry)
            case "ollama":
                check_model(_type_of("ollama", "Message"), entry)
            case "bedrock":
                _check_converse(entry)
            case "cohere":
                cohere = pytest.importorskip("cohere", reason="needs cohere, the extra `cohere`")
                name = f"{entry['role'].capitalize()}ChatMessageV2"
                check_model(getattr(cohere, name), entry)
            case "gemini-interactions":
                _interaction().validate_python(entry)
            case "openai-assistants":
                _read_all(_typed_dict(api if "output" in entry else "openai-chat").validate_python(entry))
            case "anthropic":
                _read_all(_typed_dict(api).validate_python(entry))
                # The message's own type takes the models of responses for blocks, too, and these take any key.
                for block in entry["content"] if isinstance(entry["content"], list) else ():
                    _read_all(_typed_dict("anthropic block").validate_python(block))
            case _:
                _read_all(_typed_dict(api).validate_python(entry))


def _type_of(module: str, name: str) -> Any:
    """Return a type of an SDK, which is imported only now: together they take seconds."""
    return getattr(importlib.import_module(module), name)


@cache
def _interaction() -> TypeAdapter[Any]:
    return TypeAdapter(_type_of("google.genai.interactions", "Step"))


def _check_converse(entry: dict[str, Any]) -> None:
    session = pytest.importorskip("botocore.session", reason="needs boto3, the extra `bedrock`")
    validate = importlib.import_module("botocore.validate")
    shape = _converse(session).input_shape
    report = validate.ParamValidator().validate({"modelId": "m", "messages": [entry]}, shape)
    if report.has_errors():
        raise ValueError(report.generate_report())


@cache
def _converse(session: Any) -> Any:
    return session.get_session().get_service_model("bedrock-runtime").operation_model("ConverseStream")


def check_model(kind: type[BaseModel], entry: Any) -> None:
    """Raise if a model refuses an entry, or does not know one of its keys at any depth."""
    known = kind.model_validate(entry).model_dump(mode="json", exclude_unset=True, by_alias=True)
    if unknown := list(_lost(entry, known, "")):
        message = f"{kind.__name__} does not know {unknown}"
        raise ValueError(message)


def _lost(given: Any, known: Any, place: str) -> Iterator[str]:
    if isinstance(given, dict) and isinstance(known, dict):
        for key, value in cast("dict[str, Any]", given).items():
            if key in known:
                yield from _lost(value, known[key], f"{place}.{key}")
            else:
                yield f"{place}.{key}"
    elif isinstance(given, list) and isinstance(known, list):
        for one, other in zip(given, known, strict=True):
            yield from _lost(one, other, place)


def _read_all(value: Any) -> None:
    """Read what pydantic checks only when it is read."""
    if isinstance(value, dict):
        for each in cast("dict[str, Any]", value).values():
            _read_all(each)
    elif isinstance(value, Iterator | list | tuple):
        for each in cast("Iterator[Any]", value):
            _read_all(each)


@cache
def _typed_dict(api: str) -> TypeAdapter[Any]:
    package, kind = {
        "openai-chat": ("openai.types.chat", "ChatCompletionMessageParam"),
        "openai-responses": ("openai.types.responses", "ResponseInputItemParam"),
        "openai-assistants": ("openai.types.beta.threads", "run_submit_tool_outputs_params.ToolOutput"),
        "anthropic": ("anthropic.types.beta", "BetaMessageParam"),
        "anthropic block": ("anthropic.types.beta", "BetaContentBlockParam"),
    }[api]
    module = importlib.import_module(package)
    _forbid_unknown_keys(module)
    found = attrgetter(kind)(module)
    if api == "anthropic block":
        blocks = tuple(each for each in get_args(found) if hasattr(each, "__total__"))
        found = Union[blocks]  # noqa: UP007 - its members are computed
    return TypeAdapter(found)


def _forbid_unknown_keys(package: ModuleType) -> None:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(found.name)).values():
            if isinstance(value, type) and hasattr(value, "__total__") and issubclass(value, dict):
                cast("Any", value).__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
