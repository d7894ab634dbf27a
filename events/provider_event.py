"""`ProviderEvent`: what a provider sends and no other event stands for."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from .showing.shown_by import shown_by

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

    _repr_mimebundle_ = shown_by("penstock.events.event_card", "event_bundle")
