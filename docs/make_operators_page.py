"""Makes the whole of operators.md, with every public name of `operators/`, and how `studio/` shows what they do.

The pictures are made by running the marble diagrams of the docstrings, so it runs where Penstock is installed.
"""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from penstock import operators
from penstock.studio.marble_diagrams.docstring_marble import docstring_diagram
from penstock.studio.marble_diagrams.marbles import MarblePicture

FOLDER = Path(__file__).parents[1] / "operators"
STUDIO = Path(__file__).parents[1] / "studio"
BLOCKS = runpy.run_path(str(Path(__file__).with_name("docstring_blocks.py")))
HEAD = Path(__file__).with_name("operators.md")
DIALECTS = "Dialects"
SEEN = "To see a stream, with `penstock.studio`"
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
ROOMS = {
    "calls": "Fields that stream",
    "catalogue": DIALECTS,
    "grammar": DIALECTS,
    "writing": DIALECTS,
    "engine": "To run operators, and to write one",
    "marble_diagrams": SEEN,
    "tracing": SEEN,
}
"""What stands in these sub-folders is told under these titles, after the operators."""
ELSEWHERE = {
    FOLDER: {
        "aggregate_fragments": ["PathValue"],
        "calls.field_spec": ["FILE_TOOLS", "KNOWN_FILE_TOOLS", "MARKED_FILE_TOOLS"],
        "engine.stage": ["Stage"],
        "engine.withheld": ["Withheld"],
        "grammar.dialect": ["ModelDialect"],
        "schemas.value_typing": ["TypingRules"],
    },
    STUDIO: {"marble_diagrams.marbles": ["MarblePicture"], "tracing.trace": ["Trace"]},
}
"""Names that users may need, and that are imported from the file where they live."""
MARBLES = re.compile(r" {4}\w+ {2,}-\S*-")
"""The beginning of a marble diagram: the name of an input, and its marbles."""


def whole_page() -> str:
    """Return the whole page."""
    sections: dict[str, list[_Definition]] = {"The operators": []}
    for folder, module, names in (*_public(FOLDER), *_public(STUDIO)):
        *room, stem = module.split(".")
        if folder == STUDIO and SEEN not in map(ROOMS.get, room):
            continue
        section = sections.setdefault(ROOMS.get(room[0], room[0]), []) if room else sections["The operators"]
        path = folder.joinpath(*room, f"{stem}.py")
        section += [_Definition(name, path) for name in sorted(names, key=lambda name: (name != stem, name))]
    blocks = [HEAD.read_text(encoding="utf-8").rstrip()]
    for title, section in sections.items():
        rows = (f"| {each.link()} | {each.gives()} | {each.summary()} |" for each in section)
        blocks += [f"## {title}", "\n".join(("| | returns | |", "| --- | --- | --- |", *rows))]
        blocks += [block for each in section for block in each.blocks()]
    return "\n\n".join(blocks) + "\n"


def _public(folder: Path) -> Iterator[tuple[Path, str, list[str]]]:
    """Yield a room's files with public names, and these, with those of `ELSEWHERE`."""
    elsewhere = dict(ELSEWHERE[folder])
    for node in ast.walk(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level and not str(node.module).endswith("engine.lazy_names"):
            names = [alias.name for alias in node.names]
            yield folder, str(node.module), names + elsewhere.pop(str(node.module), [])
    yield from ((folder, module, names) for module, names in elsewhere.items())


class _Definition:
    """A function, class or value, as it stands in its file."""

    def __init__(self, name: str, file: Path) -> None:
        self._name = name
        self._source = file.read_text(encoding="utf-8")
        # The last one: a function stands behind its overloads.
        found = [each for each in ast.parse(self._source).body if _name_of(each) == name]
        self._node = found[-1] if found else None
        if self._node is None:
            message = f"{file.name} has no {name}"
            raise SystemExit(message)
        self._title = f"class {name}" if isinstance(self._node, ast.ClassDef) else name

    def link(self) -> str:
        return f"[`{self._name}`](#{self._title.lower().replace(' ', '-')})"

    def gives(self) -> str:
        """Return the type that a function returns."""
        returns = self._node.returns if isinstance(self._node, Function) else None
        return f"`{self._written(returns)}`".replace("|", r"\|") if returns is not None else ""

    def summary(self) -> str:
        """Return the first line of a docstring."""
        documented = self._node if isinstance(self._node, Function | ast.ClassDef) else None
        return ((documented and ast.get_docstring(documented)) or "").partition("\n")[0].replace("|", r"\|")

    def blocks(self) -> Iterator[str]:
        yield f"### {self._title}"
        match self._node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield BLOCKS["code"](self._header(self._node))
                yield from _text(self._node, self._picture)
            case ast.ClassDef():
                yield from self._class(self._node)
            case ast.AnnAssign():
                yield BLOCKS["code"](self._written(self._node))
            case _:
                pass

    def _picture(self) -> str:
        """Return the picture of an operator's marble diagram, made by running it."""
        return MarblePicture(docstring_diagram(getattr(operators, self._name)), by_time=False).html

    def _class(self, node: ast.ClassDef) -> Iterator[str]:
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name[0] != "_"]
        if fields or methods:
            lines = [f"    {self._field(each)}" for each in fields]
            lines += [""] if fields and methods else []
            lines += [f"    {self._header(each).strip().removesuffix(' ...')} ..." for each in methods]
            yield BLOCKS["code"]("\n".join((f"class {self._name}:", *lines)))
        yield from _text(node)
        said = [(_name_of(each), _annotated(each)[1]) for each in fields]
        said += [(f"{each.name}()", (ast.get_docstring(each) or "").partition("\n")[0]) for each in methods]
        if any(about for _, about in said):
            yield "\n".join(f"- `{name}`: {about}" for name, about in said if about)

    def _field(self, node: ast.AnnAssign) -> str:
        kind, _ = _annotated(node)
        default = f" = {self._written(node.value)}" if node.value is not None else ""
        return f"{_name_of(node)}: {self._written(kind)}{default}"

    def _header(self, node: Function) -> str:
        """Return a function's signature as it is written, to its colon."""
        first, body = node.lineno, node.body[0].lineno
        lines = self._source.splitlines()[first - 1 : max(body - 1, first)]
        return "\n".join(lines).replace("    **options: Unpack[ParseTextOptions]", _text_options())

    def _written(self, node: ast.AST) -> str:
        return ast.get_source_segment(self._source, node) or ""


def _text_options() -> str:
    """Return the options of `parse_text` with their defaults: one class has the names, the other the defaults, too."""
    source = FOLDER.joinpath("text", "text_options.py").read_text(encoding="utf-8")
    classes = {each.name: each.body for each in ast.parse(source).body if isinstance(each, ast.ClassDef)}
    names = {_name_of(each) for each in classes["ParseTextOptions"]}
    told = (each for each in classes["TextOptions"] if isinstance(each, ast.AnnAssign) and _name_of(each) in names)
    return ",\n".join(f"    {ast.get_source_segment(source, each)}" for each in told)


def _name_of(node: ast.AST) -> str:
    match node:
        case (
            ast.FunctionDef(name=name)
            | ast.AsyncFunctionDef(name=name)
            | ast.ClassDef(name=name)
            | ast.AnnAssign(target=ast.Name(id=name))
        ):
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


def _text(node: Function | ast.ClassDef, picture: Callable[[], str] | None = None) -> Iterator[str]:
    """Yield a docstring as Markdown, with the picture of a marble diagram before it."""
    for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
        if picture is not None and MARBLES.match(paragraph):
            yield picture()
        yield BLOCKS["block"](paragraph)
