"""`Settings`: the defaults of pipelines, from environment variables."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from pydantic import AliasChoices, Field, PositiveInt, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from ..events.errors import UsageError
from ..operators.engine.limits import Limits

DEFAULT_STRATEGY = "api_tool_call"
DEFAULT_IN_TEXT = "auto"
"""The strategy for streams of plain text, in which no native call can come."""

_OURS = ("PENSTOCK_", "AUTOBYTEUS_STREAM_PARSER")

LimitName: TypeAlias = Literal[
    "depth", "key_length", "number_length", "arguments_length", "open_calls", "deferred_length", "held_length"
]


class Settings(BaseSettings):
    """The default options of every `Pipeline`; its arguments override them.

        PENSTOCK_STREAM_PARSER=hermes          the strategy, by name; AUTOBYTEUS_STREAM_PARSER is understood too
        PENSTOCK_START=immediate               when segments with metadata begin
        PENSTOCK_EAGER=true                    seal a call as soon as its JSON closes
        PENSTOCK_LIMITS__DEPTH=64              any field of `Limits`

    Blanks around a value and the case of a strategy's name do not matter; an empty value counts as none.
    """

    model_config = SettingsConfigDict(
        env_prefix="PENSTOCK_", env_nested_delimiter="__", env_ignore_empty=True, populate_by_name=True
    )

    stream_parser: str = Field(
        default="",
        validation_alias=AliasChoices("PENSTOCK_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER"),
    )
    start: Literal["deferred", "immediate"] = "deferred"
    eager: bool = False
    limits: dict[LimitName, PositiveInt] = Field(default_factory=dict[LimitName, int])

    @field_validator("*", mode="before")
    @classmethod
    def _without_blanks(cls, value: Any) -> Any:
        return value.strip() if isinstance(value, str) else value

    @property
    def strategy(self) -> str:
        return self.stream_parser.lower() or DEFAULT_STRATEGY

    @property
    def is_strategy_chosen(self) -> bool:
        """Whether a strategy was named; if not, the kind of stream decides."""
        return bool(self.stream_parser)

    def checked_limits(self) -> Limits:
        given: dict[str, int] = {str(name): number for name, number in self.limits.items()}
        return Limits(**given)


def settings_from_environment() -> Settings:
    """Read the settings from the environment; `UsageError` names each variable with an invalid value."""
    ours = tuple(each for each in os.environ.items() if each[0].upper().startswith(_OURS))
    return _settings_of(ours).model_copy(deep=True)


@lru_cache(maxsize=8)
def _settings_of(_environment: tuple[tuple[str, str], ...]) -> Settings:
    """Return the settings of an environment; reading them takes longer than all else of a pipeline's making."""
    try:
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(
            f"{_variable(each['loc'])}: {each['msg'].lower()}, got {each['input']!r}" for each in error.errors()
        )
        message = f"invalid value in the environment: {wrong}"
        raise UsageError(message) from None
    except SettingsError as error:
        message = f"invalid value in the environment: {error} ({error.__cause__})"
        raise UsageError(message) from error


def _variable(place: tuple[int | str, ...]) -> str:
    name = "__".join(str(each) for each in place if each != "[key]").upper()
    return name if "STREAM_PARSER" in name else f"PENSTOCK_{name}"
