"""The markers that mean something outside of blocks, for each state of the text: a table, filled as it is needed.

Inside reasoning it may be the closer alone; some openers count only where nothing came before them; in code hardly any
does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ..machines.marker_search import Literal, MarkerSearch, literal_search
from .code_spans import ANY_LANGUAGE, NO_CODE, Place, hides, stops_in
from .dialect_positions import At, Positions
from .end_tokens import END_TOKENS, OPENED_BY

_SUFFIX: Final = re.compile(r"([^\s<>:]{0,64})(>?)")


def suffixed(tag: str) -> str:
    """Return how a tag begins that has a suffix.

    >>> suffixed("<think>")
    '<think:'
    """
    return f"{tag[:-1]}:"


def suffix_in(text: str, position: int, *, final: bool) -> str | None:
    """Return the suffix of a tag, an empty text if there is none, and None if that is not certain yet.

    >>> [suffix_in(text, 7, final=False) for text in ("<think:6124>", "<think: no", "<think:61")]
    ['6124', '', None]
    """
    found = _SUFFIX.match(text, position)
    if found is None or found[2]:
        return found[1] if found else ""
    return "" if final or found.end() < len(text) else None


class Meaning(NamedTuple):
    """What a marker may mean: the beginning of a block at these positions; without positions, reasoning or code."""

    marker: str
    at: At


class MarkerRules(NamedTuple):
    """The options of the reader that decide which markers mean something."""

    calls: bool
    opener_in_reasoning: str | None
    repeated_opener: str | None
    fences: str


class Where(NamedTuple):
    """The state of the text, as far as it decides which markers mean something."""

    kind: str
    closer: str
    """The marker that ends the current reasoning; empty if any closer ends it."""
    resume: At
    """The positions at which the last block ended, if a later marker may continue it."""
    expects_closer: bool
    """Whether a closer of reasoning may come that has no opener: nothing has come, or a call ended the reasoning."""
    leading: bool
    """Whether nothing but blanks has come since the beginning or the last block."""
    may_close: bool
    """Whether a closer of reasoning would say that the text so far was reasoning."""
    code: Place
    opened: tuple[str, ...]
    """The openers that came of tokens which may also end the answer."""


class Markers(NamedTuple):
    """The search for the markers, and the possible meanings of each, in the order to try them."""

    search: MarkerSearch
    meant: Mapping[str, Sequence[Meaning]]
    shown: Sequence[str] = ()
    """The openers of reasoning that are text, though they mean something for what comes behind them."""
    shown_prefixes: Collection[str] = ()
    """Their beginnings that are not those of other markers."""


@lru_cache(maxsize=1024)
def markers_at(grammar: Positions, rules: MarkerRules, where: Where) -> Markers:
    """Return the markers that mean something where the text is."""
    search, meant, *_ = _compiled(grammar, tuple(_markers(grammar, rules, where).items()))
    if where.leading or not where.may_close or where.kind != "text":
        return Markers(search, meant)
    shown = tuple(
        opener
        for opener in grammar.reasoning
        if opener not in grammar.reasoning_anywhere
        and not any(opener.startswith(each) for each in meant if each != opener)
    )
    prefixes = (opener[:length] for opener in shown for length in range(1, len(opener) + 1))
    return Markers(
        search, meant, shown, frozenset(each for each in prefixes if {*search.continuing(each)}.issubset(shown))
    )


def _markers(grammar: Positions, rules: MarkerRules, where: Where) -> dict[str, tuple[At, ...]]:
    """Return the markers, each with the positions that it may lead to."""
    hidden = _hidden(grammar, rules, where)
    stops = stops_in(where.code) if where.kind == "text" or _reads_reasoning(grammar, rules) else ()
    plain = (*stops, *END_TOKENS, *(each for each in OPENED_BY.values() if each not in where.opened))
    found: dict[str, tuple[At, ...]] = dict.fromkeys(plain, ((),))
    for text, several in _openers(grammar, rules, where).items():
        ends = {place for place, each in enumerate(grammar.dialects) if text in each.ends_reasoning}
        shut = hidden - ends if where.kind == "reasoning" else hidden
        seen = (tuple(here for here in at if grammar.owners[here] not in shut) for at in several)
        ways = tuple(at for at, before in zip(seen, several, strict=True) if at or not before)
        if ways:
            found[text] = ways
    if grammar.suffixed:
        found |= {suffixed(text): ((),) for text in grammar.suffixed & found.keys()}
    return found


def _hidden(grammar: Positions, rules: MarkerRules, where: Where) -> frozenset[int]:
    """Return the dialects in which nothing that comes next is a call, because it is code or reasoning."""
    dialects = enumerate(grammar.dialects)
    if where.kind == "reasoning":
        ends, is_code = rules.opener_in_reasoning == "ends", where.code != NO_CODE
        return frozenset(place for place, each in dialects if is_code or not (ends or each.calls_in_reasoning))
    of_all = {"calls": (ANY_LANGUAGE,), "text": ()}.get(rules.fences)
    return frozenset(
        place for place, each in dialects if hides(where.code, each.fence_languages if of_all is None else of_all)
    )


def _reads_reasoning(grammar: Positions, rules: MarkerRules) -> bool:
    """Return whether some opener of a call counts inside reasoning."""
    if rules.opener_in_reasoning is None:
        return rules.calls and any(each.calls_in_reasoning for each in grammar.dialects)
    return rules.calls and rules.opener_in_reasoning == "ends"


def _openers(grammar: Positions, rules: MarkerRules, where: Where) -> dict[str, tuple[At, ...]]:
    """Return the markers of blocks and of reasoning, each with the positions that it may lead to."""
    found: dict[str, tuple[At, ...]] = {}
    if rules.calls and (where.kind == "text" or rules.opener_in_reasoning != "text"):
        opening = grammar.openers(leading=where.leading)
        if where.resume:
            # Right behind a call its block may end though something before the closer is missing, or is there twice.
            closers: Mapping[str, At] = grammar.block_closers(where.resume) if where.leading else {}
            for text, at in {**closers, **grammar.boundary(where.resume).literals}.items():
                # What may come any number of times is a marker too many: behind text, it is text.
                due = at if where.leading else tuple(here for here in at if here not in grammar.follow[here])
                if due:
                    found[text] = (due,)
        found |= {text: (at,) for text, at in opening.literals.items()}
        found |= {
            text: (*((opening.literals[text],) if text in opening.literals else ()), at)
            for text, at in opening.slots.items()
        }
    reasoning = grammar.reasoning
    if where.kind == "text":
        found |= dict.fromkeys((*grammar.reasoning_anywhere, *(reasoning if where.leading else ())), ((),))
        if where.expects_closer:
            found |= dict.fromkeys(reasoning.values(), ((),))
        elif where.may_close and where.code == NO_CODE:
            # A sentence may be the answer's own.
            found |= {each: ((),) for pair in reasoning.items() for each in pair if not each[:1].isalpha()}
    else:
        found |= dict.fromkeys([where.closer] if where.closer else reasoning.values(), ((),))
        if where.leading and not where.closer:
            found |= {each: ((),) for each in reasoning if _drops_repeated(rules, each)}
    return found


def _drops_repeated(rules: MarkerRules, opener: str) -> bool:
    """Return whether an opener of reasoning is dropped where the prompt has opened the reasoning already."""
    is_sentence = opener[:1].isalpha()
    return rules.repeated_opener == "drop" or (rules.repeated_opener is None and not is_sentence)


@lru_cache(maxsize=512)
def _compiled(grammar: Positions, markers: tuple[tuple[str, tuple[At, ...]], ...]) -> Markers:
    """Return the search for some markers, and the meanings of each; those of a marker that is its prefix come last."""
    literals = {
        text: grammar.literal(text, tuple(here for at in several for here in at)) if all(several) else Literal(text)
        for text, several in markers
    }
    readings = dict(markers)
    meant: dict[str, Sequence[Meaning]] = {}
    for text, literal in literals.items():
        shorter = (literals[text[:length]] for length in range(len(text), 0, -1) if text[:length] in literals)
        meant[text] = [
            Meaning(each.text, at) for each in shorter if literal.begins_with(each) for at in readings[each.text]
        ]
    return Markers(literal_search(literals.values()), meant)
