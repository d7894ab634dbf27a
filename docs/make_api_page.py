"""Makes the whole of the pages api-*.md: every public name of these folders.

griffe reads the files, so nothing on the pages depends on what is installed beside Penstock.
"""

from __future__ import annotations

import re
import runpy
from ast import literal_eval
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import griffe

DOCS = Path(__file__).parent
BLOCKS = runpy.run_path(str(DOCS / "docstring_blocks.py"))
SECTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "pipeline": {
        "Pipelines": ("Pipeline", "Settings", "Answer"),
        "To act on calls": ("call_tools", "turns"),
        "Tools": ("tool", "Tool", "as_tools", "Streamed", "CallKey", "FILE_TOOL_DEFINITIONS"),
        "Requests": ("tool_schemas", "tool_choice", "provider_named", "output_options", "OutputType"),
        "Strategies": (
            *("STRATEGIES", "strategy_named", "api_tool_call", "pass_through", "TextStrategy"),
            *("auto", "harmony", "hermes", "json_answer", "pythonic", "qwen3_coder", "sentinel", "tool_call"),
        ),
    },
    "scale": {
        "The log": (
            *("StreamLog", "open_log", "MemoryLog", "SqliteLog", "RedisLog", "JetStreamLog", "Retention"),
            *("stream_name", "LogItem", "LogState", "LogWriter"),
        ),
        "What a log raises": ("FencedError", "ClosedError", "LogGapError", "LogUnavailableError"),
        "The buffer": ("Buffer", "BufferOptions", "from_log"),
        "The ledger": ("Ledger", "SqliteLedger", "PostgresLedger", "LedgerEntry", "call_key", "LedgerUnavailableError"),
        "Reading in bulk": ("read_dataset", "BatchResult"),
    },
    "sinks": {
        "To collect and to call": ("collect", "acollect", "callbacks", "each_event"),
        "To show": ("terminal_view", "plain_view", "notebook_view"),
        "To store": ("json_lines", "read_json_lines", "store_events", "stored_events"),
        "To write files": ("write_files", "FileTool", "LiveEdit", "LiveFile", "LiveHunk", "Mismatch"),
        "To approve": ("ApprovalRequest", "Denied", "Postponed", "ag_ui_approval", "ai_sdk_approval", "acp_approval"),
        "To serve": (
            *("to_sse", "to_json_lines", "to_websocket", "sse_headers", "SSE_HEADERS", "JSON_LINES_HEADERS"),
            *("stream_routes", "StreamRuns"),
        ),
        "For other packages": ("to_langchain", "to_pydantic_ai", "to_acp"),
        "To log": ("log_answers", "observe_otel"),
        "Between a stream and a sink": ("coalesce", "async_queue", "thread_queue"),
        "What is raised": ("SlowSinkError", "StuckSinkError", "StreamCutError"),
    },
    "sources": {
        "Any provider": ("from_stream", "decode_sdk"),
        "The bytes of a response": ("from_wire", "decode_wire"),
        "One SDK": ("from_openai_chat", "from_openai_responses", "from_anthropic", "from_gemini", "from_ollama"),
        "Recordings": ("from_recording",),
        "Text": ("from_text",),
        "To guard a stream": ("watchdog", "failover", "Shown"),
        "To end a stream": ("wake_stream",),
    },
}
"""By folder, under each title, its public names."""
WIDTH = 88
"""A signature that is longer has a line for each parameter."""
_NOT_TOLD = ("args", "model_config")
"""What a base class of another package is told by."""
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def whole_page(name: str) -> str:
    """Return a whole page."""
    room = name.removeprefix("api-").removesuffix(".md")
    blocks = [(DOCS / name).read_text(encoding="utf-8").rstrip()]
    for title, names in SECTIONS[room].items():
        entries = [Entry(room, each) for each in names]
        rows = (f"| [`{each.name}`](#{each.anchor}) | {_cell(each.docstring)} |" for each in entries)
        blocks += [f"## {title}", "\n".join(("| name | |", "| --- | --- |", *rows))]
        blocks += [block for each in entries for block in each.blocks()]
    return "\n\n".join(blocks) + "\n"


class Entry:
    """A public name: what it is, as its file says it."""

    def __init__(self, room: str, name: str) -> None:
        self.name = name
        module, _, own_name = _module(f"penstock.{room}").imports[name].rpartition(".")
        self._found = _module(module).members[own_name]
        self._page = f"api-{room}.md"
        kind = "class " if self._found.is_class else "constant " if self._found.is_attribute else ""
        self._title = f"{kind}{name}"

    @property
    def anchor(self) -> str:
        return self._title.lower().replace(" ", "-")

    @property
    def docstring(self) -> str:
        return _docstring(self._found)

    def blocks(self) -> Iterator[str]:
        yield f"### {self._title}"
        yield from _told(self._found)
        if pages := [f"[{title}]({page})" for page, title in _explaining(f"{self._page}#{self.anchor}")]:
            yield f"Explained in {', '.join(pages)}."
        if isinstance(self._found, griffe.Class):
            yield from _members(self._found)


@cache
def _module(path: str) -> griffe.Module:
    """Return a module, found as Python finds it: where the folders lie is said in `penstock/__init__.py` alone."""
    spec = find_spec(path)
    if spec is None or spec.origin is None:
        message = f"there is no {path}"
        raise SystemExit(message)
    file, (parent, _, _) = Path(spec.origin), path.rpartition(".")
    return griffe.visit(path, file, file.read_text(encoding="utf-8"), parent=_module(parent) if parent else None)


@cache
def _explaining(link: str) -> list[tuple[str, str]]:
    """Return the pages, with their titles, that link to an entry."""
    pages = ((path, path.read_text(encoding="utf-8")) for path in sorted(DOCS.glob("*.md")))
    return [(path.name, _TITLE.findall(text)[0]) for path, text in pages if f"]({link})" in text]


def _docstring(found: griffe.Object | griffe.Alias) -> str:
    return found.docstring.value if found.docstring else ""


def _cell(docstring: str) -> str:
    """Return the first line of a docstring, for a table."""
    return docstring.partition("\n")[0].replace("|", r"\|")


def _told(found: griffe.Object | griffe.Alias) -> Iterator[str]:
    """Yield how a name is used, and its docstring."""
    yield BLOCKS["code"]("\n\n".join(_forms(found)))
    if said := _docstring(found):
        yield from map(BLOCKS["block"], said.split("\n\n"))


def _members(kind: griffe.Class) -> Iterator[str]:
    """Yield what a class has besides: its attributes in a list, and each method."""
    public = [each for each in kind.members.values() if each.name[0] != "_" and each.name not in _NOT_TOLD]
    said = [(each.name, _meaning(each)) for each in public if isinstance(each, griffe.Attribute)]
    if any(about for _, about in said):
        yield "\n".join(f"- `{name}`: {about}" for name, about in said if about)
    for each in public:
        if isinstance(each, griffe.Function) and each.docstring:  # what has none is told by the protocol that it keeps
            yield f"#### {kind.name}.{each.name}"
            yield from _told(each)


def _meaning(attribute: griffe.Attribute) -> str:
    """Return what an attribute says of itself: the `Meta` of its type, or its docstring."""
    return _annotated(attribute)[1] or " ".join(_docstring(attribute).split())


def _annotated(attribute: griffe.Attribute) -> tuple[str, str]:
    """Return the type of an attribute, and what its `Meta` says."""
    match attribute.annotation:
        case griffe.ExprSubscript(
            left=griffe.ExprName(name="Annotated"),
            slice=griffe.ExprTuple(elements=[kind, griffe.ExprCall(arguments=[griffe.ExprKeyword(value=said)])]),
        ):
            return _written(kind), literal_eval(str(said))
        case None:
            return "", ""
        case kind:
            return _written(kind), ""


def _forms(found: griffe.Object | griffe.Alias) -> Iterator[str]:
    """Yield the forms of a name: a signature for each overload, a class with its fields, a value with its type."""
    match found:
        case griffe.Function():
            yield from (_signature(each, found.name) for each in found.overloads or [found])
        case griffe.Class():
            yield from _class(found)
        case griffe.Attribute(value=value):
            kind, _ = _annotated(found)
            yield f"{found.name} = {_written(value)}" if kind in ("", "Final") else f"{found.name}: {kind}"
        case _:
            message = f"{found.path} is neither a function nor a class nor a value"
            raise SystemExit(message)


def _class(kind: griffe.Class) -> Iterator[str]:
    bases = [_written(each) for each in kind.bases]
    bases = [each for each in bases if each != "Struct" and not each.startswith("Generic[")]
    head = f"class {kind.name}" + (f"({', '.join(bases)})" if bases else "")
    made = kind.members.get("__init__")
    fields = [_field(each) for each in kind.members.values() if isinstance(each, griffe.Attribute) and _is_field(each)]
    if made is None:
        yield "\n".join((f"{head}:", *(f"    {each}" for each in fields))) if fields else head
        return
    if bases:
        yield head
    if isinstance(made, griffe.Function):
        yield _signature(made, kind.name).removesuffix(" -> None")


def _is_field(attribute: griffe.Attribute) -> bool:
    return attribute.annotation is not None and attribute.name[0] != "_" and "property" not in attribute.labels


def _field(attribute: griffe.Attribute) -> str:
    value = attribute.value
    if isinstance(value, griffe.ExprCall) and str(value.function) == "Field":  # of pydantic
        said = {each.name: each.value for each in value.arguments if isinstance(each, griffe.ExprKeyword)}
        value = said.get("default")
    default = "" if value is None else f" = {_written(value)}"
    return f"{attribute.name}: {_annotated(attribute)[0]}{default}"


def _signature(function: griffe.Function, name: str) -> str:
    """Return a signature, with a line for each parameter where it is long."""
    kinds = griffe.ParameterKind
    parameters = [*function.parameters]
    if function.parent is not None and function.parent.is_class and "staticmethod" not in function.labels:
        del parameters[0]
    parts: list[str] = []
    before = None
    for each in parameters:
        if before is kinds.positional_only and each.kind is not before:
            parts.append("/")
        if each.kind is kinds.keyword_only and before not in (each.kind, kinds.var_positional):
            parts.append("*")
        parts.append(_parameter(each))
        before = each.kind
    parts += ["/"] if before is kinds.positional_only else []
    start = "async def " if "async" in function.labels else ""
    returns = "" if function.returns is None else f" -> {_written(function.returns)}"
    line = f"{start}{name}({', '.join(parts)}){returns}"
    if len(line) <= WIDTH:
        return line
    return "\n".join((f"{start}{name}(", *(f"    {each}," for each in parts), f"){returns}"))


def _parameter(each: griffe.Parameter) -> str:
    kinds = griffe.ParameterKind
    stars = {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(each.kind, "")
    kind = "" if each.annotation is None else f": {_written(each.annotation)}"
    default = "" if each.default is None or stars else f" = {_written(each.default)}"
    return f"{stars}{each.name}{kind}{default}"


def _written(expression: object) -> str:
    """Return an expression in the quotes of the house."""
    return _QUOTED.sub(r'"\1"', str(expression))


_QUOTED = re.compile(r"""'([^'"\\]*)'""")
