"""The catalogue of dialects in Markdown, for a page and for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from textwrap import indent
from types import MappingProxyType
from typing import Final

from ..grammar.dialect import Dialect, Text
from ..grammar.grammar_items import holds_several, leaves_of
from ..writing.as_code import as_code
from ..writing.describe_dialect import ExampleCall, describe_dialect
from .models import MODELS, PARSERS
from .provenance import PROVENANCE
from .table import DIALECTS

_FILES: Final = {"json": "json_shapes"}
"""Where a file has another name than its dialect: one that is no module of Python's own."""
_EXAMPLES: Final[Mapping[str, ExampleCall]] = MappingProxyType(
    {
        "bolt_artifact": ("file", {"filePath": "app.js", "content": "let x = 1"}),
        "cline": ("read_file", {"path": "app.py"}),
        "sentinel": ("run_bash", {"command": "ls"}),
    }
)
"""Where a format is for certain tools."""


def about_dialect(name: str) -> str:
    """Return the docstring of a dialect's file: which models write it, and its peculiarities.

    >>> about_dialect("jamba")
    'AI21 Jamba: a list of calls between tags.'
    """
    return (import_module(f"..dialects.{_FILES.get(name, name)}", __package__).__doc__ or "").strip()


def catalogue_entry(name: str) -> str:
    """Return the catalogue entry of a dialect, in Markdown and without a heading.

    >>> print(catalogue_entry("jamba"))
    AI21 Jamba: a list of calls between tags.
    <BLANKLINE>
    ```text
    "<tool_calls>"
    ( JSON [{"name": NAME, "arguments"|"parameters": {ARGUMENTS}}, …]
    | JSON {"name": NAME, "arguments"|"parameters": {ARGUMENTS}}
    )
    "</tool_calls>"?
    ```
    <BLANKLINE>
    A call:
    <BLANKLINE>
    ```text
    <tool_calls>[{"name": "weather", "arguments": {"city": "Oslo", "days": 2}}]</tool_calls>
    ```
    <BLANKLINE>
    - models: `jamba`
    - calls: any number, several in a block
    - values: JSON: its own types
    - reasoning: no markers
    - carries every call that JSON can say
    - proven by the test cases of vLLM
    """
    described = describe_dialect(DIALECTS[name], _EXAMPLES.get(name))
    blocks = [about_dialect(name)]
    if described.grammar:
        blocks.append(_block("\n".join(described.grammar)))
    if described.example:
        blocks += ["A call:", _block(described.example)]
    facts = [*_models(name), f"- calls: {_how_many(DIALECTS[name])}", *_listed("values", described.values)]
    facts += _listed("reasoning", described.reasoning) or ["- reasoning: no markers"]
    facts += _listed("spelling", described.spelling)
    if described.example:
        facts += _listed("cannot carry", described.limits) or ["- carries every call that JSON can say"]
    return "\n\n".join((*blocks, "\n".join((*facts, *_proofs(name)))))


def _models(name: str) -> Iterator[str]:
    """Yield the families of models that `dialect_for` knows to write it, and other names that servers have for it."""
    if families := [as_code(family) for family, model in MODELS.items() if name in model.names]:
        yield f"- models: {', '.join(families)}"
    if parsers := [as_code(parser) for parser, names in PARSERS.items() if name in names]:
        yield f"- servers' names for it: {', '.join(parsers)}"


def _how_many(dialect: Dialect) -> str:
    if not dialect.grammar:
        return "none"
    if any(isinstance(leaf, Text) and leaf.until == "last" for leaf in leaves_of(dialect.grammar)):
        return "one an answer"
    return (
        "any number, several in a block" if holds_several(dialect.grammar) else "any number, each in a block of its own"
    )


def _proofs(name: str) -> Iterator[str]:
    provenance = PROVENANCE[name]
    if provenance.proven_by:
        yield f"- proven by the test cases of {', '.join(provenance.proven_by)}"
    if provenance.written_from:
        yield f"- the texts of its tests are written after {provenance.written_from}"


def _listed(what: str, phrases: Iterable[str]) -> list[str]:
    """Return an item of a list, which has items inside where there are several phrases."""
    found = list(phrases)
    if len(found) < 2:
        return [f"- {what}: {each}" for each in found]
    return [f"- {what}:", *(f"    - {each}" for each in found)]


def _block(text: str) -> str:
    """Return a text as a block of code: indented where a fence is in it."""
    return indent(text, "    ") if "```" in text else f"```text\n{text}\n```"
