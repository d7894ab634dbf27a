"""The markers that mean something outside of blocks, for each state of the text, with code spans and end tokens.

The table of the markers is filled as it is needed. Inside reasoning it may be the closer alone; some openers count only
where nothing came before them; in code hardly any does. Code is as Markdown writes it: between backticks on one line,
or in a fence with a language. With end tokens models end their answer, and some servers leave them in the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from ..engine.state import Stateful
from ..machines.marker_search import Marker, MarkerSearch, end_of_run, literal_search
from .compiled_grammar import CompiledGrammar, States

_BACKTICKS: Final = re.compile(r"`*+")
_BLANKS: Final = re.compile(r"[ \t\r]*+")
_LANGUAGE: Final = re.compile(r"[ \t]*([\w+#./-]*)[ \t\r]*")
_FEWEST_OF_FENCE: Final = 3
_LONGEST_LANGUAGE: Final = 80
ANY_LANGUAGE: Final = "*"
Place: TypeAlias = tuple[str, str]
"""Where in the markup a text is: the state, and the language of the fence."""
NO_CODE: Final[Place] = ("text", "")
_TO_STOP: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"text": ("`",), "span": ("`", "\n"), "fence": ("`",), "closing": ()}
)


class CodeSpans(Stateful):
    """Where in a text code begins and ends, as far as it has been read.

        text      a run of backticks                          span
        span      as many backticks                           text
                  the end of the line                         fence, if three or more backticks and a word began it;
                                                              else text
        fence     as many backticks or more                   closing
        closing   the end of the line                         text
                  other text                                  fence

    The left column is the state, the middle one what comes, and the right one the next state. An inline code span ends
    with its line, even without its closer, so that one stray backtick hides only what is on its line.

    - `language`: the word behind the opener of the fence, in lower case.
    """

    STATE = __slots__ = ("_length", "_run", "_info", "_state", "language")

    def __init__(self) -> None:
        self._state = "text"
        self._length = 0
        """Of the backticks that began the code."""
        self._run = 0
        """Of the backticks that came last, if more may come."""
        self._info = ""
        """What came in the line behind the backticks."""
        self.language = ""

    @property
    def stops(self) -> tuple[str, ...]:
        """The markers at which the text must be read by `go_on`."""
        return stops_in(self.place)

    @property
    def is_undecided(self) -> bool:
        """Whether the next character must be read by `go_on`, whatever it is."""
        return self._run > 0 or self._state == "closing"

    @property
    def place(self) -> Place:
        """Where in the markup the text is, which tells what `hides` and `stops_in` return."""
        return self._state, self.language

    @property
    def keeps_line(self) -> bool:
        """Whether the text of the line must be passed to `note`, because it may be the language of a fence."""
        return self._state == "span" and self._length >= _FEWEST_OF_FENCE

    def note(self, text: str) -> None:
        """Note text of the line, in which there is no marker."""
        self._info = (self._info + text)[:_LONGEST_LANGUAGE]

    def go_on(self, buffer: str, position: int) -> int:
        """Read on from a position, at which a marker is unless it is undecided; return how far."""
        if buffer[position] == "`" and self._state != "closing":
            upto = end_of_run(_BACKTICKS, buffer, position)
            self._run += upto - position
            if upto < len(buffer):
                self._end_run()
            return upto
        if self._run:
            self._end_run()
            if self._state != "closing":
                return position
        if self._state == "closing":
            upto = end_of_run(_BLANKS, buffer, position)
            if upto < len(buffer):
                self._state = "text" if buffer[upto] == "\n" else "fence"
            return upto
        self._end_line()
        return position + 1

    def _end_run(self) -> None:
        length, self._run = self._run, 0
        if self._state == "text":
            self._state, self._length, self._info = "span", length, ""
        elif self._state == "span" and length == self._length:
            self._state = "text"
        elif self._state == "span":
            self.note("`" * length)
        elif length >= self._length:
            self._state = "closing"

    def _end_line(self) -> None:
        said = _LANGUAGE.fullmatch(self._info) if self.keeps_line else None
        self._state = "text" if said is None else "fence"
        self.language = "" if said is None else said[1].casefold()


def stops_in(place: Place) -> tuple[str, ...]:
    """Return the markers at which the text must be read by `CodeSpans.go_on`."""
    return _TO_STOP[place[0]]


def hides(place: Place, languages: Collection[str]) -> bool:
    """Return whether what comes next is code, and not in a fence of one of these languages."""
    state, language = place
    if state == "text":
        return False
    return state == "span" or not (language in languages or ANY_LANGUAGE in languages)


END_TOKENS: Final = (
    # of Llama, Qwen, Gemma, DeepSeek and many more
    *("</s>", "<eos>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|endoftext|>", "<|end_of_text|>"),
    *("<|end|>", "<end_of_turn>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>"),
    # of one family each: Command, Kimi K3, GLM, Hunyuan, ERNIE, Apertus, HyperCLOVA X, Seed-OSS,
    # MiniMax-M1, Nemotron Nano v2, Reka, LongCat
    *("<|END_OF_TURN_TOKEN|>", "<|end_of_msg|>", "<|user|>", "<|observation|>", "<|eos|>"),
    *("<｜hy_eos｜>", "<｜hy_eos:opensource｜>", "<|end_of_sentence|>", "<|assistant_end|>", "<|endofturn|>"),
    *("<|stop|>", "<seed:eos>", "<end_of_sentence>", "<SPECIAL_12>", "<sep>", "</longcat_s>"),
    "<|python_end|>",  # of Llama 4, behind code that is no call
)
"""They are dropped at the very end of an answer; everywhere else they are text. None of them opens a block."""

OPENED_BY: Final = {"</s>": "<s>"}
"""A token that is also a closer, and its opener: where that came before, the token is text at the end too."""

CODE_TOKENS: Final = ("<|python_tag|>", "<|python_start|>")
"""Tokens of Llama with which code begins. Where they come first, and no call behind them, they are nobody's text."""

LONGEST_END: Final = 48
"""The most characters of such tokens, with the blanks between, that are held while they may be the end."""

_ALL: Final = "|".join(map(re.escape, END_TOKENS))
_ONE: Final = re.compile(rf"(?:{_ALL})[ \t\r\n]*+")
_RUN: Final = re.compile(rf"(?:(?:{_ALL})[ \t\r\n]*+)++")


def end_of_text(text: str, position: int, *, final: bool) -> int:
    """Return where the text ends that has end tokens at a position: at that position if the answer may end with them.

    >>> [end_of_text(text, 2, final=False) for text in ("Hi</s>", "Hi</s></", "Hi</s> you")]
    [2, 2, 7]

    `final`: whether nothing more will arrive, so that a cut token is text.
    """
    run = _RUN.match(text, position)
    if run is None:
        return position
    rest = text[run.end() :]
    if rest and (final or not any(each.startswith(rest) for each in END_TOKENS)):
        return run.end()
    while len(text) - position > LONGEST_END and (token := _ONE.match(text, position)) is not None:
        position = token.end()
    return position


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
    at: States


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
    resume: States
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


@lru_cache(maxsize=4096)
def markers_at(grammar: CompiledGrammar, rules: MarkerRules, where: Where) -> Markers:
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


def _markers(grammar: CompiledGrammar, rules: MarkerRules, where: Where) -> dict[str, tuple[States, ...]]:
    """Return the markers, each with the positions that it may lead to."""
    hidden = _hidden(grammar, rules, where)
    stops = stops_in(where.code) if where.kind == "text" or _reads_reasoning(grammar, rules) else ()
    plain = (*stops, *END_TOKENS, *(each for each in OPENED_BY.values() if each not in where.opened))
    found: dict[str, tuple[States, ...]] = dict.fromkeys(plain, ((),))
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


def _hidden(grammar: CompiledGrammar, rules: MarkerRules, where: Where) -> frozenset[int]:
    """Return the dialects in which nothing that comes next is a call, because it is code or reasoning."""
    dialects = enumerate(grammar.dialects)
    if where.kind == "reasoning":
        ends, is_code = rules.opener_in_reasoning == "ends", where.code != NO_CODE
        return frozenset(place for place, each in dialects if is_code or not (ends or each.calls_in_reasoning))
    of_all = {"calls": (ANY_LANGUAGE,), "text": ()}.get(rules.fences)
    return frozenset(
        place for place, each in dialects if hides(where.code, each.fence_languages if of_all is None else of_all)
    )


def _reads_reasoning(grammar: CompiledGrammar, rules: MarkerRules) -> bool:
    """Return whether some opener of a call counts inside reasoning."""
    if rules.opener_in_reasoning is None:
        return rules.calls and any(each.calls_in_reasoning for each in grammar.dialects)
    return rules.calls and rules.opener_in_reasoning == "ends"


def _openers(grammar: CompiledGrammar, rules: MarkerRules, where: Where) -> dict[str, tuple[States, ...]]:
    """Return the markers of blocks and of reasoning, each with the positions that it may lead to."""
    found: dict[str, tuple[States, ...]] = {}
    if rules.calls and (where.kind == "text" or rules.opener_in_reasoning != "text"):
        opening = grammar.openers(leading=where.leading)
        if where.resume:
            # Right behind a call its block may end though something before the closer is missing, or is there twice.
            closers: Mapping[str, States] = grammar.block_closers(where.resume) if where.leading else {}
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


@lru_cache(maxsize=2048)
def _compiled(grammar: CompiledGrammar, markers: tuple[tuple[str, tuple[States, ...]], ...]) -> Markers:
    """Return the search for some markers, and the meanings of each; those of a marker that is its prefix come last."""
    literals = {
        text: grammar.literal(text, tuple(here for at in several for here in at)) if all(several) else Marker(text)
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
