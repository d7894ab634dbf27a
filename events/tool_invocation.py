"""The results of a chain: calls that may be run or must not, what became of each as text or JSON, and warnings."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct
from pydantic_core import to_json

from .errors import UsageError
from .segment_event import Fragment
from .showing import shown_by


class _OfCall(Struct, frozen=True, gc=False):
    id: Annotated[str, Meta(description="The call's id, as its ToolInvocation or InvocationFailed has it.")]


class ToolResult(
    _OfCall, frozen=True, gc=False, kw_only=True, repr_omit_defaults=True, tag="TOOL_RESULT", tag_field="type"
):
    """The result of one call: a value, an error, or the reason why it was not run.

    >>> ToolResult("call_1", value={"celsius": 21}).is_error, ToolResult("call_2", denied="not on Sundays").is_error
    (False, True)

    Raises `UsageError` if more than one of `value`, `error` and `denied` is given. Without any, the value is None.
    """

    turn_id: Annotated[str | None, Meta(description="The turn that the call belongs to.")] = None
    value: Annotated[Any, Meta(description="What the tool returned: text, or anything that JSON can represent.")] = None
    error: Annotated[str | None, Meta(description="What went wrong, in words for the model.")] = None
    denied: Annotated[str | None, Meta(description="Why the call was not run, in words for the model.")] = None

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "event_bundle")

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.value, self.error, self.denied)) > 1:
            message = f"a ToolResult has one of value=, error= and denied=; {self.id!r} has several"
            raise UsageError(message)

    @property
    def is_error(self) -> bool:
        """Whether the call did not succeed."""
        return self.error is not None or self.denied is not None


FileAction: TypeAlias = Literal["created", "changed", "unchanged", "deleted", "moved"]


class FileChange(Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """What a call did to one file, or would do."""

    path: Annotated[str, Meta(description="The file, relative to the root, with '/' between folders.")]
    action: Annotated[FileAction, Meta(description="What happened to it; moved: it was `moved_from` before.")]
    moved_from: Annotated[str | None, Meta(description="Where the file was before it was moved.")] = None
    size: Annotated[int | None, Meta(description="Its bytes; null of a deleted file.")] = None
    sha256: Annotated[str | None, Meta(description="SHA-256 of its bytes, hexadecimal; null of a deleted file.")] = None
    additions: Annotated[int | None, Meta(description="Lines that are new; null if they were not counted.")] = None
    deletions: Annotated[int | None, Meta(description="Lines that are gone; null if they were not counted.")] = None
    diff: Annotated[
        str | None,
        Meta(description="The change as a unified diff; null if the file is not text, or the diff is too long."),
    ] = None
    executable: Annotated[
        bool | None, Meta(description="Whether the file may be executed from now on; null if that does not change.")
    ] = None


class FileResult(
    ToolResult, frozen=True, gc=False, kw_only=True, repr_omit_defaults=True, tag="FILE_RESULT", tag_field="type"
):
    """The `ToolResult` of a call that writes files: `value` is a sentence for the model, `files` is for programs.

        ToolInvocation  FileResult(value="created a.py (2 lines)", files=(FileChange("a.py", "created", ...),))
        ToolInvocation  FileResult(error="the path '../a.py' is refused: '..' leads out of a folder")

    With an error or a denial nothing was written, and `files` is empty.
    """

    files: Annotated[tuple[FileChange, ...], Meta(description="What happened to each file, in the call's order.")] = ()
    dry_run: Annotated[bool, Meta(description="Whether nothing was written, because only a trial was asked for.")] = (
        False
    )


ToolCallState: TypeAlias = Literal["requested", "approved", "denied", "started", "finished", "failed"]


class ToolCallStatus(Struct, frozen=True, gc=False, repr_omit_defaults=True, tag="TOOL_CALL_STATUS", tag_field="type"):
    """One moment in the life of a call that a step acts on.

        ToolInvocation  requested  approved  started  finished  ToolResult(value=...)
        ToolInvocation  requested  denied                       ToolResult(denied=...)
        ToolInvocation                       started  failed    ToolResult(error=...)
        requested  approved  started  ToolInvocation  finished  ToolResult(value=...)
        requested  approved  started  InvocationFailed  failed

    The last two are calls of a tool that reads an argument while the model writes it.

    >>> ToolCallStatus("call_1", name="deploy", state="denied", reason="not on Fridays")
    ToolCallStatus(id='call_1', name='deploy', state='denied', reason='not on Fridays')
    """

    id: Annotated[str, Meta(description="The call's id, which is also its segment's id.")]
    turn_id: Annotated[str | None, Meta(description="The turn that the call belongs to.")] = None
    name: Annotated[str, Meta(description="The tool's name.")] = ""
    state: Annotated[
        ToolCallState,
        Meta(
            description="requested: somebody is asked whether the call may run. approved, denied: the answer. "
            "started: it runs. finished, failed: it ran, or could not."
        ),
    ] = "started"
    sha256: Annotated[
        str | None,
        Meta(
            description="SHA-256 of the call's raw text as UTF-8, hexadecimal: the same text in every state; null as "
            "long as the model writes the call, for a tool that reads it meanwhile."
        ),
    ] = None
    reason: Annotated[str | None, Meta(description="Why it was denied or failed.")] = None

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "event_bundle")


FailureReason: TypeAlias = Literal[
    "truncated",
    "interrupted",
    "malformed",
    "invalid",
    "unknown_tool",
    "limit",
    "duplicate_key",
    "missing_path",
    "provider_error",
    "contradiction",
    "guarded",
]


class RedactedArguments(dict[str, Any]):
    """Arguments to be shown, in place of those in `true`, with which the call runs.

    In JSON, and wherever else they are written, they are the ones to be shown.
    """

    __slots__ = ("true",)

    def __init__(self, shown: dict[str, Any], *, true: dict[str, Any]) -> None:
        super().__init__(shown)
        self.true = true


class ToolInvocation(Struct, frozen=True, gc=False, tag="TOOL_INVOCATION", tag_field="type"):
    """A sealed and valid call, which may be run."""

    id: Annotated[str, Meta(description="The call's id, which is also its segment's id.")]
    turn_id: Annotated[str | None, Meta(description="The turn that the call belongs to.")] = None
    name: Annotated[str, Meta(description="The tool's name.")] = ""
    arguments: Annotated[
        dict[str, Any],
        Meta(description="The arguments; of a free-form tool: {'input': text}."),
    ] = {}  # msgspec gives each instance its own
    model: Annotated[Any, Meta(description="The validated pydantic instance, if the tool has a model.")] = None
    raw: Annotated[str, Meta(description="The call's source text, unchanged.")] = ""
    repaired: Annotated[bool, Meta(description="True if the arguments were repaired.")] = False
    native: Annotated[
        dict[str, Any] | None,
        Meta(description="The minimal plain dict needed to replay the call to its provider."),
    ] = None
    claimed_by: Annotated[
        str | None,
        Meta(description="The step that answers the call, so that no other does; in JSON absent without one."),
    ] = None

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "event_bundle")


class InvocationFailed(Struct, frozen=True, gc=False, tag="INVOCATION_FAILED", tag_field="type"):
    """A call that must not be run, with the reason and all of its text."""

    id: Annotated[str, Meta(description="The call's id, which is also its segment's id.")]
    turn_id: Annotated[str | None, Meta(description="The turn that the call belongs to.")] = None
    name: Annotated[str, Meta(description="The tool's name.")] = ""
    raw: Annotated[str, Meta(description="The call's source text, as far as it arrived.")] = ""
    reason: Annotated[FailureReason, Meta(description="Why it must not be run.")] = "malformed"
    errors: Annotated[
        tuple[dict[str, Any], ...],
        Meta(description="Details: of JSON errors at, expected, found; of validation loc, msg, type."),
    ] = ()

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "event_bundle")


class ToolCallArgumentProgress(Struct, frozen=True, gc=False, tag="TOOL_CALL_ARGUMENT_PROGRESS", tag_field="type"):
    """One fragment of a call's arguments, with the call's name. Not meant to be stored."""

    tool_call_id: Annotated[str, Meta(description="The call's id.")]
    tool_name: Annotated[str, Meta(description="The tool's name.")]
    fragment: Annotated[Fragment, Meta(description="The piece.")]


class ToolCallUpdate(
    Struct,
    frozen=True,
    gc=False,
    rename="camel",
    omit_defaults=True,
    tag="assistant_streaming_tool_call",
    tag_field="type",
):
    """A raw delta of a call's arguments, or its completion; in JSON the event `assistant_streaming_tool_call`."""

    tool_call_id: Annotated[str, Meta(description="The call's id.")]
    tool_name: Annotated[str, Meta(description="The tool's name.")]
    arguments: Annotated[str, Meta(description="The raw delta, never repaired; empty at completion.")]
    is_complete: Annotated[bool, Meta(description="Whether the call has ended.")]
    message_id: Annotated[
        str | None, Meta(description="Links the update to its message; the turn's id unless given.")
    ] = None
    status: Annotated[str | None, Meta(description="How the call ended, at completion.")] = None


class Notice(Struct, frozen=True, gc=False, tag="NOTICE", tag_field="type"):
    """A warning as a value in the stream; nothing was lost and nothing stopped."""

    code: Annotated[str, Meta(description="The code, for programs.")]
    detail: Annotated[str, Meta(description="The message, for people.")]

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "event_bundle")


def true_arguments(call: ToolInvocation) -> dict[str, Any]:
    """Return the arguments with which a call runs, where `redact` has others to be shown."""
    arguments = call.arguments
    return arguments.true if isinstance(arguments, RedactedArguments) else arguments


def result_text(result: ToolResult) -> str:
    """Return a result as text for the model: a text as it is, any other value as JSON.

    >>> result_text(ToolResult("c", value={"celsius": 21})), result_text(ToolResult("c", denied="not on Sundays"))
    ('{"celsius":21}', 'The call was denied: not on Sundays')

    Pydantic's models, dataclasses, dates and the like have the form that pydantic gives them; numbers that JSON lacks,
    such as infinity, are texts. `UsageError` for a value that cannot be written as JSON.
    """
    value = result.value
    if result.denied is not None:
        value = f"The call was denied: {result.denied}"
    elif result.error is not None:
        value = f"Error: {result.error}"
    try:
        if isinstance(value, str):
            value.encode()  # half a surrogate pair cannot be sent
            return value
        return to_json(value, inf_nan_mode="strings").decode()
    except ValueError as error:
        message = (
            f"the result of call {result.id!r} cannot be written as JSON ({error}); pass text, or plain data, as value="
        )
        raise UsageError(message) from error


def result_data(result: ToolResult) -> Any:
    """Return the value of a result as plain JSON data: text, numbers, lists and objects."""
    text = result_text(result)
    return text if isinstance(result.value, str) else json.loads(text)
