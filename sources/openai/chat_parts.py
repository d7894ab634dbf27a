"""Parts of a chat delta that providers name and nest differently: reasoning, images, speech, whole calls."""

from __future__ import annotations

from typing import Any

from ..fields.sdk_fields import Fields, entries_of, fields_of
from ..fields.surrogates import plain_json, without_halves
from ..machine.call_tracker import CallTracker

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

    >>> from penstock.sources.machine.call_tracker import CallTracker
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
