"""`ChunkResponse`: a provider's stream, normalised, the input of every chain, and `ProviderEvent` for all else."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from .showing import shown_by
from .tool_invocation import Notice

ProviderEventKind: TypeAlias = Literal[
    "tool_result", "citation", "grounding", "file", "safety", "compaction", "logprobs", "other"
]


class ProviderEvent(Struct, frozen=True, gc=False, repr_omit_defaults=True, tag="PROVIDER_EVENT", tag_field="type"):
    """A part of the answer that is special to its provider: what its own tools returned, a citation, a safety rating.

    A citation follows the text that it belongs to:

        SegmentContent(delta="It is 21 °C")  ProviderEvent("citation", {"type": "url_citation", ...})
    """

    kind: Annotated[
        ProviderEventKind,
        Meta(
            description="tool_result: of a tool that the provider ran. citation, grounding: the sources of a text. "
            "file: made or changed by the provider. safety: ratings and filters. compaction: a summary in place of "
            "earlier turns. logprobs: by option only. other: everything else."
        ),
    ]
    data: Annotated[dict[str, Any], Meta(description="The provider's own object, as plain JSON.")]
    api: Annotated[str | None, Meta(description="The API whose form `data` has.")] = None
    choice: Annotated[int, Meta(description="Which of n answers this belongs to.")] = 0
    turn_id: Annotated[str | None, Meta(description="The turn that it belongs to.")] = None
    segment_id: Annotated[
        str | None, Meta(description="The segment that it belongs to: a call's result, a text's citation.")
    ] = None

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "event_bundle")


ArgumentsKind: TypeAlias = Literal["json", "text", "object"]
CallStatus: TypeAlias = Literal["completed", "incomplete"]
ExecutedBy: TypeAlias = Literal["client", "provider"]
FinishReason: TypeAlias = Literal[
    "stop", "length", "tool_calls", "content_filter", "refusal", "pause", "error", "other"
]


class ToolCallDelta(Struct, frozen=True, gc=False, omit_defaults=True, tag="TOOL_CALL_DELTA", tag_field="type"):
    """One update of one tool call. The first delta of a call has its name and id; later ones have only what is new.

    A name may go on in a later delta without an id, where `name_open` says so.
    """

    index: Annotated[int, Meta(description="Dense 0-based ordinal of the call in this response and choice.")]
    call_id: Annotated[str | None, Meta(description="The call's id; first delta only.")] = None
    name: Annotated[
        str | None, Meta(description="The tool's name in the first delta; in a later one a further piece of it.")
    ] = None
    arguments_delta: Annotated[str, Meta(description="The next piece of the raw argument text.")] = ""
    kind: Annotated[
        ArgumentsKind,
        Meta(
            description="json: the model's own JSON. text: the text of a free-form tool. object: JSON that the "
            "provider made of the model's words, as for built-in tools; its closing does not show that the model had "
            "finished.",
        ),
    ] = "json"
    done: Annotated[
        bool, Meta(description="The provider ended the call's block; this says nothing about its text.")
    ] = False
    executed_by: Annotated[ExecutedBy, Meta(description="provider: it runs the call itself.")] = "client"
    native: Annotated[
        dict[str, Any] | None,
        Meta(description="The minimal plain dict needed to replay the call to its provider."),
    ] = None
    status: Annotated[
        CallStatus | None,
        Meta(description="Whether the model finished the call: the provider's own word, or what came after the call."),
    ] = None
    contradiction: Annotated[
        dict[str, str] | None,
        Meta(description="Arguments that the provider sent more than once and that differ, by their source."),
    ] = None
    name_open: Annotated[
        bool, Meta(description="First delta only: the API may send a further piece of the name before the arguments.")
    ] = False


class TokenUsage(Struct, frozen=True, gc=False, tag="TOKEN_USAGE", tag_field="type"):
    """Tokens used so far, in total; a later one replaces an earlier one."""

    prompt: Annotated[int, Meta(description="Input tokens, cached ones included.")] = 0
    completion: Annotated[int, Meta(description="Output tokens, reasoning included.")] = 0
    total: Annotated[int, Meta(description="What the provider gives as total, else prompt + completion.")] = 0
    cached: Annotated[int, Meta(description="Input tokens read from the provider's cache.")] = 0
    reasoning: Annotated[int, Meta(description="Output tokens spent on reasoning, as the provider counts them.")] = 0


class ChunkResponse(Struct, frozen=True, gc=False, omit_defaults=True, tag="CHUNK_RESPONSE", tag_field="type"):
    """One piece of a provider's answer. Its parts are ordered: notices, reasoning, then content, then calls.

    All sources follow these rules: a call's `index` is ours, dense and stable; its first delta has the name;
    every argument character comes once, in order; unknown wire events pass as `raw`.
    """

    content: Annotated[str, Meta(description="Visible text.")] = ""
    reasoning: Annotated[str, Meta(description="Reasoning text or its summary.")] = ""
    tool_calls: Annotated[tuple[ToolCallDelta, ...], Meta(description="Updates of calls, in order.")] = ()
    usage: Annotated[TokenUsage | None, Meta(description="Tokens so far.")] = None
    is_complete: Annotated[bool, Meta(description="The provider's own end of this choice was seen.")] = False
    finish_reason: Annotated[FinishReason | None, Meta(description="Why it ended, in our words.")] = None
    finish_reason_raw: Annotated[str | None, Meta(description="Why it ended, in the provider's words.")] = None
    is_cut: Annotated[
        bool,
        Meta(description="The provider's words mean that the model was cut, although `finish_reason` does not say so."),
    ] = False
    refusal: Annotated[str, Meta(description="Text of a refusal.")] = ""
    image_urls: Annotated[tuple[str, ...], Meta(description="Images, as URLs or data URLs.")] = ()
    audio_urls: Annotated[tuple[str, ...], Meta(description="Audio, as URLs or data URLs.")] = ()
    video_urls: Annotated[tuple[str, ...], Meta(description="Video, as URLs or data URLs.")] = ()
    error: Annotated[
        dict[str, Any] | None,
        Meta(description="An error inside the stream: detail, code, type, status."),
    ] = None
    response_id: Annotated[str | None, Meta(description="The response's id on the wire.")] = None
    model: Annotated[str | None, Meta(description="The model, as the wire names it.")] = None
    choice: Annotated[int, Meta(description="Which of n answers this belongs to.")] = 0
    raw: Annotated[
        tuple[dict[str, Any], ...],
        Meta(description="Plain JSON of wire events that have no field here."),
    ] = ()
    native: Annotated[
        dict[str, Any] | None,
        Meta(description="The minimal plain dict needed to replay reasoning to its provider."),
    ] = None
    provider_events: Annotated[
        tuple[ProviderEvent, ...],
        Meta(description="What only this provider has; of a call's result, `segment_id` is the call's id."),
    ] = ()
    api: Annotated[str | None, Meta(description="The API whose form `raw` and `message` have.")] = None
    message: Annotated[
        Any,
        Meta(description="The assistant's whole message, as its API takes it back; in the last chunk, by option."),
    ] = None
    notices: Annotated[tuple[Notice, ...], Meta(description="Warnings of what guards the source.")] = ()
    interrupted: Annotated[
        str | None,
        Meta(
            description="What is open ends before this chunk as interrupted, with this reason, but for a text that the "
            "chunk goes on with. If nothing follows, so ends the answer."
        ),
    ] = None

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "event_bundle")
