"""What a chat chunk has on the wire, and what providers name, nest and count differently: reasoning, media, calls."""

from __future__ import annotations

import re
from typing import Any

from ...events.chunk_response import TokenUsage
from ..base.answers import Choice
from ..base.call_tracker import CallTracker
from ..base.response import (
    COUNTS,
    FRAME,
    LOGPROBS,
    PADDING,
    REPEATED,
    SERVER,
    STATE,
    TIMES,
    TOKENS,
    WireKeys,
    rows,
    token_count,
)
from ..base.sdk_fields import (
    EventKinds,
    Fields,
    entries_of,
    fields_of,
    plain_json,
    plain_object,
    says_something,
    without_halves,
)
from ..framing.served import Served

_ERROR_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_ERROR_CODES = {404: "model_not_found"}
OPENAIS_CLIENT = 'openai.OpenAI(base_url="{url}/v1", api_key="-")'


def openai_error(status: int, message: str) -> Any:
    kind = _ERROR_KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": _ERROR_CODES.get(status)}}


def _chat_event(message: str) -> tuple[str, Any]:
    return "", openai_error(500, message)


CHAT_SERVED = Served(
    re.compile(r"/chat/completions/?\Z"), "/v1/chat/completions", OPENAIS_CLIENT, openai_error, _chat_event
)
_OF_CALLS = "function(name arguments) custom(name input)"
_DELTA = (
    f"(* tool_calls(* {_OF_CALLS}) function_call(name arguments)"
    " content(* thinking(type text)) images(type index image_url(url detail))"
    " reasoning_details(type text summary data signature id index format))"
)
_SHAPES = {
    "": (
        f"* choices(* delta{_DELTA} message{_DELTA})"
        " usage(prompt_tokens completion_tokens total_tokens cached_tokens cache_read_input_tokens"
        " prompt_cache_hit_tokens prompt_tokens_details completion_tokens_details reasoning_tokens market_cost)"
    )
}

KEYS = WireKeys(
    "openai-chat",
    left_out=(
        *rows("the first id of a response counts", "id"),
        *rows(FRAME, "object", "choices.index", "choices.delta.role", "choices.delta.index", "choices.delta.channel"),
        *rows(FRAME, "choices.delta.content.type", "choices.delta.content.closed"),
        *rows(FRAME, "choices.delta.content.thinking.type", "choices.delta.tool_calls.index"),
        *rows(FRAME, "choices.delta.tool_calls.type", "choices.delta.images.type"),
        *rows(FRAME, "choices.delta.reasoning_details.type", "choices.delta.reasoning_details.index"),
        *rows(FRAME, "choices.delta.reasoning_details.format", "choices.delta.reasoning_details.id"),
        *rows(FRAME, "choices.message.role", "choices.message.tool_calls.index", "choices.message.tool_calls.type"),
        *rows(REPEATED, "choices.message", "choices.text"),
        *rows(STATE, "choices.native_finish_reason", "choices.stop_reason", "choices.matched_stop"),
        *rows(TOKENS, "choices.token_ids", "choices.delta.token_id", "choices.delta.token_ids", "prompt_token_ids"),
        *rows(TOKENS, "prompt_text"),
        *rows(LOGPROBS, "choices.logprobs"),
        *rows(TIMES, "created", "timings", "time_info", "meta", "amazon-bedrock-invocationMetrics", "*usage.*_time*"),
        *rows(TIMES, "usage.avg_*"),
        *rows(SERVER, "provider", "service_tier", "system_fingerprint", "generationId", "choices.seed"),
        *rows(SERVER, "choices.trace_details", "x_groq.id", "x_groq.seed"),
        *rows(PADDING, "obfuscation", "p"),
        *rows(COUNTS, "usage.*_details", "usage.*cost*", "usage.cache_*", "usage.prompt_cache_*", "usage.is_byok"),
        *rows(COUNTS, "usage.num_sources_used", "copilot_usage", "cost", "usage.search_context_size"),
        *rows(COUNTS, "usage.service_tier"),
    ),
    shapes=_SHAPES,
)


_VERCELS_PRICE = "market_cost"
_DIGITS = 19
"""The most digits of a token count; longer numbers are ignored."""


def chat_usage(given: Any) -> TokenUsage | None:
    """Read a usage object; None for one without counts.

    The provider's total decides whether the completion includes the reasoning: xAI adds it to the total only; ours
    includes it in the completion. Vercel's gateway, known by its price, leaves it out of the total, too. Other servers
    count more reasoning than completion and include it all the same; their numbers stay. DeepSeek, Moonshot and
    Anthropic's relatives have names of their own for what came from the cache.

    >>> chat_usage({"prompt_tokens": 361, "completion_tokens": 26, "total_tokens": 622,
    ...             "completion_tokens_details": {"reasoning_tokens": 235}})
    TokenUsage(prompt=361, completion=261, total=622, cached=0, reasoning=235)
    """
    fields = fields_of(given)
    if fields is None:
        return None
    prompt, completion = _count(fields, "prompt_tokens"), _count(fields, "completion_tokens")
    total = _count(fields, "total_tokens") or prompt + completion
    prompt_details = fields_of(fields.get("prompt_tokens_details")) or {}
    completion_details = fields_of(fields.get("completion_tokens_details")) or {}
    cached = (
        _count(prompt_details, "cached_tokens")
        or _count(fields, "prompt_cache_hit_tokens")
        or _count(fields, "cached_tokens")
        or _count(fields, "cache_read_input_tokens")
    )
    reasoning = _count(completion_details, "reasoning_tokens") or _count(fields, "reasoning_tokens")
    is_apart = total == prompt + completion + reasoning or (_VERCELS_PRICE in fields and reasoning > completion)
    if reasoning and is_apart:
        completion += reasoning
    if cached > prompt:
        prompt += cached
    usage = TokenUsage(prompt, completion, max(total, prompt + completion), cached, reasoning)
    return usage if usage != TokenUsage() else None


def _count(fields: Fields, name: str) -> int:
    value = fields.get(name)
    if isinstance(value, float) and not value.is_integer():
        return 0
    if isinstance(value, str):  # the SDK makes numbers of digits where all of a usage fits its types
        return int(value) if value.isdecimal() and len(value) < _DIGITS else 0
    return token_count(fields, name)


_TOOLS = frozenset(("tool", "function"))
"""The roles of what a tool returned, which servers that run tools themselves stream in the answer."""
REASONING = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
"""The names of reasoning in a delta; `reasoning_text` is GitHub Copilot's."""
OPAQUE = "reasoning_opaque"
"""GitHub Copilot's name of what has to be sent back."""


def is_of_tool(delta: Fields) -> bool:
    """Return whether a delta is what a tool returned, and not the model's.

    >>> is_of_tool({"role": "tool", "content": "5 files"}), is_of_tool({"role": "assistant"})
    (True, False)
    """
    role = delta.get("role")
    return isinstance(role, str) and role in _TOOLS


def text_delta(choice: Fields) -> Fields | None:
    """Return the text of a choice without delta and message as a delta: a completion of a prompt has nothing else.

    >>> text_delta({"index": 0, "text": "Hi"}), text_delta({"index": 0, "text": "Hi", "delta": {"content": "Hi"}})
    ({'content': 'Hi'}, None)
    """
    text = choice.get("text")
    is_alone = choice.get("delta") is None and choice.get("message") is None
    return {"content": text} if is_alone and isinstance(text, str) else None


def reasoning_text(delta: Fields) -> str:
    """Return the reasoning, which some send under two or three names at once: it is the same text each time."""
    for name in REASONING:
        if isinstance(text := delta.get(name), str) and text:
            return text
    details = entries_of(delta.get("reasoning_details"))
    if not details:
        return ""
    texts = ((part.get("text") or part.get("summary")) for part in map(fields_of, details) if part)
    return "".join(text for text in texts if isinstance(text, str))


def replayable_details(details: Any) -> list[Any]:
    """Return the reasoning details that must be sent back to the provider: those with a signature or encrypted data."""
    parts = ((each, fields_of(each)) for each in entries_of(details))
    return [plain_json(each) for each, part in parts if part and (part.get("signature") or part.get("data"))]


def replayable(delta: Fields) -> dict[str, Any]:
    """Return what of a delta must be sent back to the provider; empty for nothing."""
    details, opaque = delta.get("reasoning_details"), delta.get(OPAQUE)
    found: dict[str, Any] = {}
    if details and (details := replayable_details(details)):
        found["reasoning_details"] = details
    if isinstance(opaque, str) and opaque:
        found[OPAQUE] = without_halves(opaque)
    return found


def reasoning_part(part: Fields) -> dict[str, Any]:
    """Read a content part with reasoning: Mistral's thinking, or Databricks' summary, whose entries may be signed."""
    entries = [each for each in map(fields_of, entries_of(part.get("summary"))) if each]
    is_signed = any(each.get(name) for each in (part, *entries) for name in ("signature", "encrypted_content"))
    text = thinking_text(part.get("thinking")) + thinking_text(part.get("summary"))
    return {"reasoning": text, "native": {"content": [plain_json(part)]} if is_signed else None}


def thinking_text(thinking: Any) -> str:
    if isinstance(thinking, str):
        return thinking
    parts = map(fields_of, entries_of(thinking))
    return "".join(text for part in parts if part and isinstance(text := part.get("text"), str))


def add_images(said: dict[str, Any], images: Any) -> None:
    urls: list[str] = []
    for image in map(fields_of, entries_of(images)):
        place = image and image.get("image_url")
        url = place if isinstance(place, str) else (fields_of(place) or {}).get("url")
        if isinstance(url, str) and url:
            urls.append(without_halves(url))
    if urls:
        said["image_urls"] = (*said.get("image_urls", ()), *urls)


def add_audio(said: dict[str, Any], audio: Fields) -> None:
    """Read a piece of speech: its transcript is content; its data is PCM, the only format that streams."""
    if isinstance(text := audio.get("transcript"), str) and text:
        said["content"] = said.get("content", "") + text
    if isinstance(data := audio.get("data"), str) and data:
        said["audio_urls"] = (f"data:audio/pcm;base64,{without_halves(data)}",)


def audio_rest(audio: Fields) -> dict[str, Any]:
    """Return what a piece of speech has besides sound and text: its id, and when it expires."""
    rest = {key: plain_json(value) for key, value in audio.items() if key not in ("transcript", "data") and value}
    return {"audio": rest} if rest else {}


def unsaid_calls(tracker: CallTracker, message: Fields) -> dict[str, Any]:
    """Return the calls of a message that did not come before, as a delta with keys of their own.

    >>> from penstock.sources.base.call_tracker import CallTracker
    >>> tracker = CallTracker(str)
    >>> unsaid_calls(tracker, {"tool_calls": [{"id": "a", "function": {"name": "f"}}]})
    {'tool_calls': [{'id': 'a', 'function': {'name': 'f'}, 'index': 'message:0'}]}
    """
    calls = [each for each in map(fields_of, entries_of(message.get("tool_calls"))) if each is not None]
    if not calls:
        legacy = message.get("function_call")
        return {"function_call": legacy} if legacy and not tracker.has_begun else {}
    unsaid = tracker.unsaid([(call.get("id"), call) for call in calls])
    return {"tool_calls": [{**call, "index": f"message:{place}"} for place, call in enumerate(unsaid)]}


OF_CHUNK: EventKinds = {
    "citations": "grounding",  # Perplexity, xAI
    "search_results": "grounding",  # Perplexity
    "images": "grounding",  # Perplexity
    "related_questions": "grounding",  # Perplexity
    "prompt_filter_results": "safety",  # Azure
    "moderation": "safety",
}
"""Kinds of the keys of a chunk. Servers repeat these in each chunk: an event comes where the value changes."""
OF_CHOICE: EventKinds = {
    "content_filter_results": "safety",  # Azure
    "content_filter_result": "safety",
    "content_filter_offsets": "safety",
}
"""Kinds of the keys of a choice, of which an event comes where the value changes, too."""
OF_DELTA: EventKinds = {
    "annotations": "citation",
    "citations": "citation",
    "executed_tools": "tool_result",  # Groq
    "search_results": "grounding",
    "graph_data": "grounding",  # Writer
    "web_search_data": "grounding",  # Writer
    "llm_data": "other",  # Writer
    "translation_data": "other",  # Writer
    "image_data": "other",  # Writer
    "provider_metadata": "other",  # Vercel's gateway
}
"""Kinds of the keys of a delta."""
OF_PART: EventKinds = {"reference": "citation", "tool_reference": "citation", "tool_file": "file"}
"""Kinds of the parts of Mistral's list-typed content."""
EACH = frozenset(("annotations", "executed_tools"))
"""Keys with a list whose entries are an event each."""

_READ_OF_CHUNK = frozenset(("id", "model", "choices", "usage", "error", "x_groq"))
_READ_OF_CHOICE = frozenset(("delta", "finish_reason", "error", "logprobs"))
_READ_OF_ERROR = frozenset(("message", "type", "code", "status", "status_code"))
_READ_OF_DELTA = frozenset(
    ("content", "reasoning_details", "refusal", "images", "audio", "tool_calls", "function_call", OPAQUE, *REASONING),
)

NOT_UNKNOWN_OF_CHUNK = _READ_OF_CHUNK | OF_CHUNK.keys() | KEYS.left_out()
NOT_UNKNOWN_OF_PART = KEYS.left_out("choices.delta.content") | {
    *("text", "thinking", "summary", "image_url", "signature", "encrypted_content"),
}
_NOT_UNKNOWN_OF_CHOICE = _READ_OF_CHOICE | OF_CHOICE.keys() | KEYS.left_out("choices")
_NOT_UNKNOWN_OF_DELTA = _READ_OF_DELTA | KEYS.left_out("choices.delta")


def add_choice_extras(choice: Choice, fields: Fields, said: dict[str, Any], *, logprobs: bool) -> None:
    """Add the events of a choice's own keys; `said`: what was said last, by key."""
    if rest := unknown(fields, _NOT_UNKNOWN_OF_CHOICE):
        choice.raw(rest)
    for key, data in changed(fields, OF_CHOICE, said, f"{choice.number}:").items():
        choice.event(OF_CHOICE[key], data)
    if logprobs and says_something(plain := plain_json(fields.get("logprobs"))):
        choice.event("logprobs", plain_object(plain))


def add_delta_extras(choice: Choice, delta: Fields) -> None:
    """Add the events of the keys of a delta that are no part of the answer's text."""
    for key, plain in unknown(delta, _NOT_UNKNOWN_OF_DELTA).items():
        kind = OF_DELTA.get(key)
        if kind is None:
            choice.raw({key: plain})
        elif key in EACH:
            for each in entries_of(plain):
                choice.event(kind, plain_object(each))
        else:
            choice.event(kind, {key: plain})


def changed(fields: Fields, kinds: EventKinds, said: dict[str, Any], before: str = "") -> dict[str, dict[str, Any]]:
    """Return the data of the keys with a kind whose value has changed since it was said last."""
    if kinds.keys().isdisjoint(fields):
        return {}
    found: dict[str, dict[str, Any]] = {}
    for key in kinds:
        plain = plain_json(fields.get(key))
        if says_something(plain) and said.get(before + key) != plain:
            said[before + key] = plain
            found[key] = {key: plain}
    return found


def error_rest(error: Any) -> dict[str, Any]:
    """Return what an error has besides the fields of ours; empty for nothing.

    >>> error_rest({"message": "no such tool", "code": "tool_use_failed", "failed_generation": "f(1)"})
    {'error': {'failed_generation': 'f(1)'}}
    """
    rest = unknown(fields_of(error) or {}, _READ_OF_ERROR)
    return {"error": rest} if rest else {}


def unknown(fields: Fields, known: frozenset[str]) -> dict[str, Any]:
    """Return the keys of an object that no table has, with what they say.

    >>> unknown({"id": "x", "new": 1, "empty": []}, frozenset({"id"}))
    {'new': 1}
    """
    if known.issuperset(fields):
        return {}
    plain = {key: plain_json(value) for key, value in fields.items() if key not in known and value is not None}
    return {key: value for key, value in plain.items() if says_something(value)} if plain else {}
