"""What each server of open models needs, so that the gateway gets a model's own text; and which server an address has.

A lane is `raw`, where the server leaves the model's calls in the text, or `parsed`, where it makes calls of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from ...sources.base.sdk_fields import Fields, entries_of, fields_of
from ..upstream_body import Lane

ServerName: TypeAlias = Literal["vllm", "sglang", "llamacpp", "ollama", "lmstudio", "openai"]
SERVERS: Final[tuple[ServerName, ...]] = get_args(ServerName)


class Profile(NamedTuple):
    """One server.

    - `shown_by`: a path that only it answers, and a key of the answer. `owner`: what it says as `owned_by` of a model.
    - `lane`: the lane that is taken. `why`: the reason, for whoever starts the gateway.
    - `counts`: the path where it counts the tokens of a request, and the key of the number.
    """

    lane: Lane
    why: str
    shown_by: tuple[str, str] | None = None
    owner: str = ""
    counts: tuple[str, str] | None = None


PROFILES: Final[Mapping[ServerName, Profile]] = {
    "llamacpp": Profile(
        "raw",
        'llama.cpp leaves the text alone with tool_choice "none", and still shows the model its tools',
        ("/props", "default_generation_settings"),
        "llamacpp",
        ("/v1/chat/completions/input_tokens", "input_tokens"),
    ),
    "sglang": Profile(
        "raw",
        "SGLang without --tool-call-parser leaves the text alone",
        ("/get_model_info", "model_path"),
        "sglang",
    ),
    "ollama": Profile("parsed", "Ollama parses what its models write", ("/api/tags", "models"), "library"),
    "lmstudio": Profile("parsed", "LM Studio parses what its models write", ("/api/v0/models", "data")),
    "vllm": Profile(
        "raw",
        'vLLM without --tool-call-parser leaves the text alone with tool_choice "none"',
        ("/version", "version"),
        "vllm",
        ("/tokenize", "count"),
    ),
    "openai": Profile("parsed", "a server of which nothing more is known parses what its models write"),
}
"""The servers, in the order in which they are looked for."""
PARSING: Final = "vLLM was started with a parser of calls, which would throw calls away that it is asked not to parse"

GetJson: TypeAlias = Callable[[str], Awaitable[Any]]
"""Return the JSON of a path; None if the server has none there."""


def models_in(listed: Any) -> tuple[Fields, ...]:
    """Return the models in the answer of `/v1/models`, in whatever form that came."""
    given = entries_of((fields_of(listed) or {}).get("data"))
    found = (each for each in map(fields_of, given) if each is not None)
    return tuple(each for each in found if isinstance(each.get("id"), str))


async def find_server(get: GetJson, models: Any) -> ServerName:
    """Return which server answers, by the owner of its models, else by a path that only it has.

    - `models`: the answer of `/v1/models`.
    """
    owners = {each.get("owned_by") for each in models_in(models)}
    for name, profile in PROFILES.items():
        if profile.owner and profile.owner in owners:
            return name
    for name, profile in PROFILES.items():
        if profile.shown_by is not None:
            path, key = profile.shown_by
            if key in (fields_of(await get(path)) or {}):
                return name
    return "openai"
