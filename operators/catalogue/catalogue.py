"""The catalogue of dialects in Markdown, for a page and for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import indent

from ..grammar.dialect import Dialect, KnownDialect
from ..grammar.grammar_items import holds_several
from ..writing.describe_dialect import as_code, describe_dialect
from .dialect_for import AUTO, AUTO_WITH_TOOLS, DIALECTS


def about_dialect(name: str) -> str:
    """Return what is known of a dialect: which models write it, and its peculiarities.

    >>> about_dialect("jamba")
    'AI21 Jamba: a list of calls between tags.'
    """
    return DIALECTS[name].about


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
    - models: `jamba`, `jamba-1.*`
    - calls: any number, several in a block
    - values: JSON: its own types
    - reasoning: no markers
    - carries every call that JSON can say
    - in `auto`
    - proven by the test cases of vLLM
    """
    dialect = DIALECTS[name]
    described = describe_dialect(dialect, dialect.example)
    blocks = [about_dialect(name)]
    if described.grammar:
        blocks.append(_block("\n".join(described.grammar)))
    if described.example:
        blocks += ["A call:", _block(described.example)]
    facts = [*_models(dialect), f"- calls: {_how_many(dialect)}", *_listed("values", described.values)]
    facts += _listed("reasoning", described.reasoning) or ["- reasoning: no markers"]
    if dialect.reasoning_from:
        facts.append(f"- what opens and ends the reasoning is known from {dialect.reasoning_from}")
    facts += _listed("spelling", described.spelling)
    if described.example:
        facts += _listed("cannot carry", described.limits) or ["- carries every call that JSON can say"]
    return "\n\n".join((*blocks, "\n".join((*facts, *_known_by(dialect)))))


def _models(dialect: KnownDialect) -> Iterator[str]:
    """Yield the model families for which `dialect_for` returns the dialect, and other names of it on servers."""
    for what, names in (("models", dialect.all_models), ("servers' names for it", dialect.parsers)):
        if names:
            yield f"- {what}: {', '.join(map(as_code, names))}"


def _how_many(dialect: Dialect) -> str:
    if not dialect.grammar:
        return "none"
    return (
        "any number, several in a block" if holds_several(dialect.grammar) else "any number, each in a block of its own"
    )


def _known_by(dialect: KnownDialect) -> Iterator[str]:
    why = dialect.not_in_auto
    if not why:
        yield "- in `auto`"
    elif dialect.name in AUTO_WITH_TOOLS:
        yield f"- in `auto` only where tools are declared: {why}"
    else:
        yield f"- not in `auto`: {f'`{why}` reads it' if why in AUTO else why}"
    if dialect.proven_by:
        yield f"- proven by the test cases of {', '.join(dialect.proven_by)}"
    if dialect.written_from:
        yield f"- the texts of its tests are written after {dialect.written_from}"


def _listed(what: str, phrases: Iterable[str]) -> list[str]:
    """Return an item of a Markdown list, with a nested list if there are several phrases."""
    found = list(phrases)
    if len(found) < 2:
        return [f"- {what}: {each}" for each in found]
    return [f"- {what}:", *(f"    - {each}" for each in found)]


def _block(text: str) -> str:
    """Return a text as a block of Markdown code; it is indented if it contains a fence."""
    return indent(text, "    ") if "```" in text else f"```text\n{text}\n```"
