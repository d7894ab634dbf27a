"""Makes operators.md, with `python docs/make_operators_page.py`, of the docstrings and signatures in the code.

It reads the files and imports nothing, so any Python from 3.11 on will do, with nothing installed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "operators"
PAGE = Path(__file__).with_name("operators.md")

# By what goes in and what comes out; a name that is public and stands nowhere is an error.
GROUPS: dict[str, tuple[str, ...]] = {
    "`ChunkResponse` → `SegmentEvent`": ("to_segments",),
    "`str` or `ChunkResponse` → `SegmentEvent`": (
        *("parse_text", "split_reasoning"),
        *("dialect_for", "ModelDialect", "Dialect", "render_call", "dialect_instructions"),
    ),
    "`SegmentEvent` → `SegmentEvent`": (
        *("stream_fields", "FieldSpec", "FILE_TOOLS", "MARKED_FILE_TOOLS"),
        *("within", "whole_calls", "detect_text_calls"),
    ),
    "`SegmentEvent` → `ToolInvocation` or `InvocationFailed`": ("to_invocations",),
    "`SegmentEvent` → the arguments of a call while they grow": (
        "partial_arguments",
        "PartialArguments",
        "argument_progress",
        "tool_call_updates",
    ),
    "`str` → `str`": ("holdback", "strip_markers"),
    "`str` → `Fragment` → values": ("json_fragments", "extract_json_fields", "aggregate_fragments", "PathValue"),
    "Observable → Observable": ("interrupt_on",),
    "To run them": ("drive", "adrive", "stage", "compose"),
    "To write one": ("lift", "Stage", "Operator", "Completed", "Failed", "Interrupted"),
    "Limits": ("Limits",),
}
HEAD = """\
# Operators

<!-- Made by make_operators_page.py of the docstrings: change those, then run it. -->
<!-- fmt: off -->

An operator turns one stream into another. Each is in a file of its name in `operators/`, and all are imported from
`penstock.operators`. Each runs in four ways: `source.pipe(a, b)` on an Observable,
`drive(items, a, b)` in a plain loop, `adrive(items, a, b)` in an async one, and `stage(a, b).feed(item)` step by step.

In the pictures time runs to the right: `--` is time that passes, `|` the end of the stream; S, C and E are the START,
CONTENT and END of a segment.\
"""


def page() -> str:
    """Return the whole page."""
    files = _public()
    names = [name for group in GROUPS.values() for name in group]
    if missing := files.keys() - set(names):
        message = f"put {', '.join(sorted(missing))} into a group of GROUPS in {Path(__file__).name}"
        raise SystemExit(message)
    if gone := set(names) - files.keys():
        message = f"{', '.join(sorted(gone))} of GROUPS in {Path(__file__).name} is not public in operators/__init__.py"
        raise SystemExit(message)
    found = {name: _Definition(name, FOLDER / f"{file.replace('.', '/')}.py") for name, file in files.items()}
    blocks = [HEAD, _contents(found)]
    for title, group in GROUPS.items():
        blocks.append(f"## {title}")
        blocks += [block for name in group for block in found[name].blocks()]
    return "\n\n".join(blocks) + "\n"


def _public() -> dict[str, str]:
    """Return the public names with the files they come from."""
    tree = ast.parse((FOLDER / "__init__.py").read_text(encoding="utf-8"))
    return {
        alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _contents(found: dict[str, _Definition]) -> str:
    rows = (f"| {title} | {', '.join(found[name].link() for name in group)} |" for title, group in GROUPS.items())
    return "\n".join(("| from → to | |", "| --- | --- |", *rows))


class _Definition:
    """A function, class or value, as it stands in its file."""

    def __init__(self, name: str, file: Path) -> None:
        self._name = name
        self._source = file.read_text(encoding="utf-8")
        self._node = next((each for each in ast.parse(self._source).body if _name_of(each) == name), None)
        if self._node is None:
            message = f"{file.name} has no {name}"
            raise SystemExit(message)
        self._title = f"class {name}" if isinstance(self._node, ast.ClassDef) else name

    def link(self) -> str:
        return f"[`{self._name}`](#{self._title.lower().replace(' ', '-')})"

    def blocks(self) -> Iterator[str]:
        yield f"### {self._title}"
        match self._node:
            case ast.FunctionDef():
                yield _code(self._header(self._node))
                yield from _text(self._node)
            case ast.ClassDef():
                yield from self._class(self._node)
            case ast.AnnAssign():
                yield _code(self._written(self._node))
            case _:
                pass

    def _class(self, node: ast.ClassDef) -> Iterator[str]:
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name[0] != "_"]
        if fields or methods:
            lines = [f"    {self._field(each)}" for each in fields]
            lines += [""] if fields and methods else []
            lines += [f"    {self._header(each).strip().removesuffix(' ...')} ..." for each in methods]
            yield _code("\n".join((f"class {self._name}:", *lines)))
        yield from _text(node)
        said = [(_name_of(each), _annotated(each)[1]) for each in fields]
        said += [(f"{each.name}()", (ast.get_docstring(each) or "").partition("\n")[0]) for each in methods]
        if any(about for _, about in said):
            yield "\n".join(f"- `{name}`: {about}" for name, about in said if about)

    def _field(self, node: ast.AnnAssign) -> str:
        kind, _ = _annotated(node)
        default = f" = {self._written(node.value)}" if node.value is not None else ""
        return f"{_name_of(node)}: {self._written(kind)}{default}"

    def _header(self, node: ast.FunctionDef) -> str:
        """Return a function's signature as it is written, to its colon."""
        first, body = node.lineno, node.body[0].lineno
        lines = self._source.splitlines()[first - 1 : max(body - 1, first)]
        return "\n".join(lines)

    def _written(self, node: ast.AST) -> str:
        return ast.get_source_segment(self._source, node) or ""


def _name_of(node: ast.AST) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return ""


def _annotated(node: ast.AnnAssign) -> tuple[ast.expr, str]:
    """Return a field's type and what its `Meta` says of it."""
    match node.annotation:
        case ast.Subscript(
            value=ast.Name(id="Annotated"),
            slice=ast.Tuple(elts=[kind, ast.Call(keywords=[ast.keyword(value=ast.Constant(value=str(said)))])]),
        ):
            return kind, said
        case kind:
            return kind, ""


def _text(node: ast.FunctionDef | ast.ClassDef) -> Iterator[str]:
    """Yield a docstring as Markdown: pictures and examples are blocks of code, the rest stands as it is."""
    for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
        if paragraph.startswith("    "):
            yield _code("\n".join(line.removeprefix("    ") for line in paragraph.splitlines()), "text")
        elif paragraph.startswith(">>> "):
            yield _code(paragraph, "pycon")
        else:
            yield paragraph


def _code(text: str, language: str = "py") -> str:
    return f"```{language}\n{text}\n```"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
