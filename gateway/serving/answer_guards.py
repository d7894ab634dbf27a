"""`AnswerGuards`: what stands between the upstream and the client: allowed tools, a folder, redaction, time limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from ...events.answer_end import AnswerEnd
from ...events.errors import ProviderError, UsageError
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import InvocationFailed, Notice, ToolInvocation
from ...operators.engine.operator_call import reiterable
from ...operators.guard import guard
from ...operators.machines.json_values import read_path
from ...operators.policies.ready import PATH_FIELDS, AllowedTools, ClosedField, FieldsJudgedBy, InsideRoot
from ...operators.redact import redact
from ...operators.redaction.detectors import CARD, EMAIL, KEYS, PHONE, Wanted, detectors_of
from ...operators.redaction.plain_data import redacted_data, redacted_text
from ...operators.redaction.rules import rules_of
from ...operators.to_invocations import to_invocations
from ...pipeline.chain import name_of
from ...pipeline.pipeline import Pipeline
from ...sinks.parts.part_reader import tool_of
from ...sources.base.sdk_fields import entries_of
from ...sources.watchdog import watchdog
from ..neutral import Api, NeutralRequest, RequestError

REDACTED: Final[Mapping[str, Wanted | Sequence[Wanted]]] = {"keys": KEYS, "email": EMAIL, "card": CARD, "phone": PHONE}
"""What can be redacted, by the names that the command line has for it."""
_MAKING_SEGMENTS: Final = ("to_segments", "parse_text")
_LONGEST_TOLD: Final = 2000
"""Characters that are told of an error. They are counted when it has been redacted, so that no match is cut."""


class AnswerGuards:
    """The guards of a gateway; `UsageError` for values that nobody can mean.

    - `allow_tools`: the only tools that may be called, by the names that the client has for them; one in a namespace
      is `namespace__name`.
    - `root`: the folder in which the paths of all calls must be.
    - `redacted`: patterns as for `redact`.
    - `limits`: those of `watchdog`, in seconds, by their names.
    """

    def __init__(
        self,
        *,
        allow_tools: Iterable[str] | None = None,
        root: str | PathLike[str] | None = None,
        redacted: Wanted | Sequence[Any] = (),
        limits: Mapping[str, float] | None = None,
    ) -> None:
        self._allowed = None if allow_tools is None else AllowedTools(reiterable(allow_tools)).names
        if self._allowed is not None and not any(self._allowed):
            message = "--allow-tools needs the names of tools, such as read,write; without it all may be called"
            raise UsageError(message)
        self._root = None if root is None else _checked_root(root)
        self._detectors = detectors_of([redacted])
        self.rules = rules_of(self._detectors) if self._detectors else None
        """What is redacted; None for nothing."""
        self._limits: dict[str, Any] = dict(limits or {})
        self.timed(lambda: ())  # raises for wrong limits now, not at the first request

    def allowed(self, asked: NeutralRequest) -> NeutralRequest:
        """Return a request without the tools that may not be called, so that the model does not try them.

        `RequestError` if the client demands one of them.
        """
        if self._allowed is None:
            return asked
        allowed = self._upstream_names(asked)
        if asked.named_tool is not None and asked.named_tool not in allowed:
            detail = f"the gateway does not allow the tool {asked.named_tool!r:.80}"
            raise RequestError(detail, field="tool_choice")
        kept = tuple(each for each in asked.tools if each.name in allowed)
        count = len(asked.tools) - len(kept)
        dropped = (f"{count} tools that are not allowed",) if count else ()
        return replace(asked, tools=kept, dropped=(*asked.dropped, *dropped))

    def put_into(self, pipeline: Pipeline, asked: NeutralRequest) -> Pipeline:
        """Return a pipeline with the guards directly behind what makes the segments."""
        names = [*map(name_of, pipeline.chain)]
        [finder] = (name for name in names if name in _MAKING_SEGMENTS)
        policies: list[Any] = [] if self._allowed is None else [AllowedTools(self._upstream_names(asked))]
        policies += [] if self._root is None else [_inside(self._root)]
        if policies:
            if "to_invocations" not in names:  # a server may send calls although the client has no tools
                pipeline = pipeline.insert(to_invocations(keep_segments=True, fields=()), after=finder)
            pipeline = pipeline.insert(guard(*policies), after=finder)
        return pipeline.insert(redact(self._detectors), after=finder) if self._detectors else pipeline

    def _upstream_names(self, asked: NeutralRequest) -> list[str]:
        """Return the names of the allowed tools as the upstream has them."""
        changed = {flat: f"{space}__{name}" if space else name for flat, (space, name) in asked.names.items()}
        allowed = self._allowed or ()
        return [
            *(name for name in allowed if name not in changed),
            *(flat for flat, name in changed.items() if name in allowed),
        ]

    def timed(self, source: Callable[[], Any]) -> Callable[[], Any]:
        """Return a source with its time limits."""
        return watchdog(source, **self._limits) if self._limits else source

    def new_calls(self, api: Api) -> HeldCalls | None:
        """Return what holds the calls of one answer; None if all pass as they come."""
        if self._allowed is None and self._root is None:
            return None
        return HeldCalls(self, judges_arguments=self._root is not None, joins_texts=api == "openai-chat")

    def shown_text(self, text: str) -> str:
        """Return a text as a client or a log may have it."""
        return text if self.rules is None else redacted_text(self.rules, text)

    def shown_data(self, data: Any) -> Any:
        """Return plain data as a client or a log may have it."""
        return data if self.rules is None else redacted_data(self.rules, data)

    def hide(self, error: ProviderError) -> None:
        """Take from an error what may not be shown, and what is too long to be."""
        error.detail = self.shown_text(error.detail)[:_LONGEST_TOLD]
        error.code, error.type = self.shown_data((error.code, error.type))
        error.args = (error.detail, error.code, error.type, error.status, error.transport)


def _checked_root(root: str | PathLike[str]) -> str:
    path = Path(root)
    if not fspath(root) or not path.is_dir():
        message = f"--root must be a folder that is there, got {fspath(root)!r}"
        raise UsageError(message)
    return str(path.absolute())


def _plain(name: object) -> str:
    """Return the name of an argument however it is spelt: models and clients write `filePath` for `file_path`."""
    return str(name).replace("_", "").replace("-", "").casefold()


def _texts(value: Any) -> Iterator[str]:
    """Yield a text, or those of a list and of the lists in it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in entries_of(value):
            yield from _texts(each)


_PATHS: Final = frozenset(map(_plain, (*(read_path(each)[-1] for each in PATH_FIELDS), "files", "paths")))
"""The names of arguments that are a path, or a list of them."""


def _inside(root: str) -> FieldsJudgedBy:
    """Return the policy for paths at any depth, as `files[0].path`: which tools clients have is not known here."""
    policy = InsideRoot(root)

    def inside_root(field: ClosedField) -> str | None:
        if _plain(field.path[-1]) not in _PATHS:
            return None
        said = (policy.judge_field(replace(field, value=each)) for each in _texts(field.value))
        return next((why for why in said if why is not None), None)

    return FieldsJudgedBy(inside_root)


_BROKEN: Final = frozenset(("interrupted", "provider_error"))
"""Why calls fail whose answer was broken off."""


class HeldCalls:
    """Holds each call until it is whole, and says in a text which call the client does not get, and why.

    What a client has of a call cannot be taken back, and some clients mend what was cut and run it.

    - `judges_arguments`: whether calls do not pass whose arguments no policy could read.
    - `joins_texts`: whether all texts of an answer are one for the client.
    """

    def __init__(self, guards: AnswerGuards, *, judges_arguments: bool, joins_texts: bool) -> None:
        self._guards = guards
        self._judges_arguments = judges_arguments
        self._joins_texts = joins_texts
        self._held: dict[tuple[str | None, str], list[Any]] = {}
        self._has_text = self._has_calls = self._lacks_calls = self._is_stopped = False
        """Whether the client has a text, has calls, does not have some; whether a guard has ended the answer."""

    def feed(self, event: Any) -> Sequence[Any]:
        """Return what the client gets."""
        match event:
            case SegmentStart() if tool_of(event) is not None and event.metadata.get("executed_by") != "provider":
                self._held[event.turn_id, event.segment_id] = [event]
                return ()
            case SegmentContent() | SegmentEnd():
                if (held := self._held.get((event.turn_id, event.segment_id))) is not None:
                    held.append(event)
                    return ()
                self._has_text = self._has_text or event.segment_type == "text"
            case ToolInvocation():
                self._has_calls = True
                return (*self._held.pop((event.turn_id, event.id), ()), event)
            case InvocationFailed():
                return self._failed(event, self._held.pop((event.turn_id, event.id), []))
            case AnswerEnd():
                return (self._end(event),)
            case _:
                pass
        return (event,)

    def _failed(self, call: InvocationFailed, held: list[Any]) -> Sequence[Any]:
        name = call.name or "a tool without a name"
        if call.reason == "guarded":
            self._is_stopped = True
            policy, why = call.errors[0]["type"], call.errors[0]["msg"]
            return self._told(call, policy, f"The gateway blocked a call of {name} by {policy}: {why}")
        if call.reason in _BROKEN:
            self._lacks_calls = True
            if not self._is_stopped:  # the answer ends with an error, which says it
                return ()
            return self._told(call, call.reason, f"The gateway left out a call of {name}, which was not whole")
        if self._judges_arguments:
            why = "is not whole" if call.reason == "truncated" else f"cannot be judged ({call.reason})"
            return self._told(call, call.reason, f"The gateway left out a call of {name}, which {why}")
        self._has_calls = True
        return (*held, call)

    def _told(self, call: InvocationFailed, why: str, words: str) -> Sequence[Any]:
        """Return the text in the place of a call, and what is logged of it."""
        self._lacks_calls = True
        text = self._guards.shown_text(f"[{words}. Nothing of it was run.]")
        text = f"\n\n{text}" if self._has_text and self._joins_texts else text
        self._has_text = True
        segment_id, turn_id = f"{call.id}:blocked", call.turn_id
        return (
            Notice("blocked", f"{call.name}({why})"),
            SegmentStart(segment_id, "text", turn_id=turn_id),
            SegmentContent(segment_id, "text", text, turn_id=turn_id, raw=text),
            SegmentEnd(segment_id, "text", "complete", turn_id=turn_id),
        )

    def _end(self, end: AnswerEnd) -> AnswerEnd:
        """Return an end that lets the client run the calls that it has, and take the turn as over if it has none."""
        if self._is_stopped:
            finish: Any = "tool_calls" if self._has_calls else "stop"
            return replace(end, status="complete", finish_reason=finish, finish_reason_raw=None)
        if self._lacks_calls and not self._has_calls and end.finish_reason == "tool_calls":
            return replace(end, finish_reason="stop", finish_reason_raw=None)
        return end
