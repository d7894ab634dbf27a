"""Makes the whole of events.md, with every event, its fields and their types.

It is made of the types themselves, so it runs where Penstock is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import formatannotation, getdoc
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Meta
from msgspec.structs import FieldInfo, fields

from penstock import events
from penstock.events import answer_end, chunk_response, segment_event, tool_invocation

HEAD = Path(__file__).with_name("events.md")
SECTIONS = {
    "From a source": ("ChunkResponse", "ToolCallDelta", "TokenUsage", "ProviderEvent"),
    "Segments": ("SegmentEvent", "SegmentStart", "SegmentContent", "SegmentEnd"),
    "Calls": (
        "ToolInvocation",
        "InvocationFailed",
        "ToolCallUpdate",
        "ToolCallArgumentProgress",
        "Fragment",
        "JsonError",
    ),
    "Results": ("ToolCallStatus", "ToolResult", "FileResult", "FileChange"),
    "Structured answers": ("Output", "OutputFailed"),
    "The end, and what is noticed": ("AnswerEnd", "Notice"),
}
"""Each event, and each value in one, under a title."""
ALIASES = ("AnswerStatus", "FileAction", "OutputFailure", "ProviderEventKind", "ToolCallState")
"""Names of types that fields have, to be imported by who annotates with them."""
_UNIONS = (Union, UnionType)
_MODULES = re.compile(r"\b(?:penstock(?:\.\w+)*|typing|collections\.abc|types)\.")


def whole_page() -> str:
    """Return the whole page."""
    blocks = [HEAD.read_text(encoding="utf-8").rstrip()]
    for title, names in SECTIONS.items():
        kinds = [_named(name) for name in names]
        rows = (
            f"| [`{kind.__name__}`](#{kind.__name__.lower()}) | {_tag(kind)} | {_summary(kind)} |" for kind in kinds
        )
        blocks += [f"## {title}", "\n".join(("| | `type` in JSON | |", "| --- | --- | --- |", *rows))]
        blocks += [block for kind in kinds for block in _blocks(kind)]
    names = (f"| `{name}` | {_type(_named(name))} |" for name in ALIASES)
    blocks += ["## Names for types of fields", "\n".join(("| name | type |", "| --- | --- |", *names))]
    return "\n\n".join(blocks) + "\n"


def _named(name: str) -> Any:
    """Return a type of the room, also one that is imported from where it lives."""
    files = (events, answer_end, chunk_response, segment_event, tool_invocation)
    return next(getattr(file, name) for file in files if hasattr(file, name))


def _blocks(kind: Any) -> Iterator[str]:
    yield f"### {kind.__name__}"
    yield getdoc(kind) or ""
    hints = get_type_hints(kind, include_extras=True)
    rows = [
        f"| `{each.name}` | {_type(hints[each.name])} | {_default(each)} | {_description(hints[each.name])} |"
        for each in fields(kind)
    ]
    yield "\n".join(("| field | type | default | |", "| --- | --- | --- | --- |", *rows))


def _tag(kind: Any) -> str:
    tag = kind.__struct_config__.tag
    return f"`{tag}`" if tag else ""


def _summary(kind: Any) -> str:
    return _cell((getdoc(kind) or "").partition("\n")[0])


def _type(hint: Any) -> str:
    """Return a type as it is written; the words of a `Literal` one by one."""
    return f"`{_MODULES.sub('', _written(_bare(hint)))}`".replace("|", r"\|")


def _written(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " | ".join(f'"{each}"' if isinstance(each, str) else repr(each) for each in get_args(hint))
    if get_args(hint) and get_origin(hint) in _UNIONS:
        return " | ".join(_written(each) for each in get_args(hint))
    return "None" if hint is type(None) else formatannotation(hint)


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _description(hint: Any) -> str:
    """Return what the type itself says of a field."""
    metas = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return _cell(next((each.description for each in metas if isinstance(each, Meta) and each.description), ""))


def _default(field: FieldInfo) -> str:
    if field.required:
        return ""
    made = field.default if field.default is not NODEFAULT else field.default_factory()
    return f"`{made!r}`"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")
