"""`Dialect`: the format of a model's tool calls and reasoning, as a grammar; `ModelDialect`: those of a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Role: TypeAlias = Literal[
    "name", "key", "value", "id", "reasoning", "content", "recipient", "skip", "flag", "arguments", "wrong"
]
Trim: TypeAlias = Literal["", "newline", "blanks"]
Typing: TypeAlias = Literal["text", "schema", "literal", "json", "python", "flagged", "xml", "marked_xml"]


class Text(Struct, frozen=True):
    """A slot for text: a tool's name, a key, a value. It ends where something begins that may follow it."""

    role: Role
    chars: str = ""
    """The allowed characters, as the inside of a regular expression's character class; empty allows all."""
    at_once: bool = False
    """Of a slot with `chars`: whether a blank before it, on the same line, shows that it is prose and not a call."""
    trim: Trim = ""
    """What is trimmed: nothing; one newline at the beginning, and then one at the end too (`newline`); or all
    whitespace at the ends (`blanks`)."""
    typing: Typing = "text"
    """How a value is converted: `text` not at all; `schema` by the tool's schema; `literal` likewise, but where it says
    nothing, a literal such as 12 or true keeps its type, and all else is text; `json` and `python` from such a literal;
    `flagged` as an attribute with the role `flag` says; `xml` from nested elements, if there are any; `marked_xml`
    likewise, with a mark before each tag."""
    entities: bool = False
    """Whether XML entities such as `&lt;` are decoded."""
    section: tuple[str, str] | None = None
    """A pair of markers, such as those of CDATA; text between them is taken literally."""
    guards: tuple[tuple[str, str], ...] = ()
    """Of a raw value: pairs of markers; if one begins the value, nothing ends it before the other. They are a part of
    the value."""
    at_line: bool = False
    """Of a raw value: whether the markers behind it are lines of their own, and count only at the beginning of a line.
    """
    key: str = ""
    """For a value without a key: the name of its argument; empty means `input`."""
    also: tuple[tuple[str, str], ...] = ()
    """For a value: pairs of an argument's name as some models write it and the name that is meant."""
    only_declared: bool = False
    """Of a value: whether it is dropped if the tool's schema does not have the argument."""
    instead: tuple[tuple[str, Text], ...] = ()
    """For a value: pairs of `tool.argument` and the slot that replaces this one for that argument."""
    named: str = ""
    """For an id that contains the tool's name: a regular expression with the name as its group."""

    def says_name(self, text: str) -> bool:
        """Return whether a text is enough for a slot that says which tool is called."""
        return bool(text) and (not self.named or self.name_in(text) is not None)

    def name_in(self, text: str) -> str | None:
        r"""Return the tool's name that an id contains, or None.

        >>> Text("id", named=r"functions\.(\w+):\d+").name_in("functions.add:0")
        'add'
        """
        found = re.fullmatch(self.named, text) if self.named else None
        return found[1] if found else None

    def of(self, tool: str, argument: str) -> Text:
        """Return the slot with which the value of an argument is read.

        >>> Text("value", instead=(("note.draft", Text("skip")),)).of("Note", "draft").role
        'skip'
        """
        if not self.instead:
            return self
        return dict(self.instead).get(f"{tool.casefold()}.{argument}", self)


class Json(Struct, frozen=True):
    """JSON, which ends where its brackets balance: an object that is a call, an array of calls, or bare arguments.

    Keys are written with dots: `function.name`. With `name=()` the object is the arguments of a call whose name came
    before it. `calls` are the keys under which a call or a list of calls may lie. `sole_key`: the only key of an object
    is the tool's name, and its value the arguments. Arguments written as a string of JSON are decoded a second time.
    """

    name: tuple[str, ...] = ("name",)
    args: tuple[str, ...] = ("arguments", "parameters")
    id: tuple[str, ...] = ("id",)
    calls: tuple[str, ...] = ()
    content: tuple[str, ...] = ()
    """Keys of the outermost object whose text belongs to the answer and is emitted as it arrives."""
    sole_key: bool = False
    root: Literal["object", "array", "any"] = "any"
    """Whether the JSON begins as an object, as an array, or as either."""
    whole: bool = False
    """Whether an object is a call only if it has arguments, because other objects have names too."""
    under: Literal["", "object", "array"] = ""
    """For writing a call: whether even a single one is written under the first key of `calls`, as an object or in an
    array; if there are `content` keys, an empty text is written before it."""


class CallArgs(Struct, frozen=True):
    """Arguments as code or a custom literal writes them: `(a=1, b="x")`, `{a:1}`.

    `quotes`: the marks that open and close a string. `escapes`: whether a backslash escapes in a string.
    `lenient_quotes`: a quote is text if what follows it cannot follow a string. `unmarked`: the opening alone is not
    yet a call; an argument or the closing must follow.
    """

    open: str = "("
    close: str = ")"
    assign: str = "="
    quotes: tuple[str, ...] = ("'", '"')
    escapes: bool = True
    lenient_quotes: bool = False
    unmarked: bool = False
    mends: bool = False
    """Whether slips are read whose meaning is certain, as `LiteralMachine` says; such a call is `repaired`."""


class Attrs(Struct, frozen=True):
    """Attributes of a tag, in any order, cut anywhere: `path="a.py" mode='w'`.

    `roles` says what an attribute is; another one is an argument of the call, named as the attribute. One with the
    role `flag` says `true` or `string` where a `flagged` value is text and anything else where it is JSON; one with
    the role `arguments` has arguments inside. A tag that lacks a required name or key does not match.
    """

    roles: tuple[tuple[str, Role], ...] = ()
    required: tuple[str, ...] = ()
    """Names of the attributes without which a tag does not match."""
    fixed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Pairs of an attribute and its allowed values, in any letter case; with no values, the attribute must be
    absent."""
    also: tuple[tuple[str, str], ...] = ()
    """Pairs of an attribute's name as some models write it and the name that is meant."""
    form: Literal["tag", "json"] = "tag"
    """Whether the attributes are written as in a tag, or as one JSON object."""

    @property
    def needed(self) -> frozenset[str]:
        """The required attributes; a tag without them does not match."""
        return frozenset((*self.required, *(name for name, role in self.roles if role in ("name", "key"))))


class Back(Struct, frozen=True):
    """A literal that repeats the last slot of a role: `Back("</", ">")` is `</path>` after the key `path`."""

    before: str = "</"
    after: str = ">"
    role: Role = "key"


class _Group:
    """The base of groups: items one after the other."""

    def __init__(self, *items: Item) -> None:
        self.items = items

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.items))})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.items == other.items

    def __hash__(self) -> int:
        return hash((type(self), self.items))


class Many(_Group):
    """Its items, any number of times or not at all."""


class Maybe(_Group):
    """Its items, once or not at all."""


class Alt(_Group):
    """Exactly one of its items; an alternative of several items is a tuple."""


class Call(_Group):
    """The extent of a call; in a grammar without it, the whole block is a call.

    `name`: the tool's name, for calls whose text does not contain it.
    """

    def __init__(self, *items: Item, name: str = "") -> None:
        super().__init__(*items)
        self.name = name

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.name == other.name  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.name))


Item: TypeAlias = "str | Text | Json | CallArgs | Attrs | Back | Many | Maybe | Alt | Call | tuple[Item, ...]"


class Dialect(Struct, frozen=True):
    """A grammar with a name.

    >>> HERMES = Dialect("hermes", ("<tool_call>", Json(), Maybe("</tool_call>")))
    >>> HERMES.name
    'hermes'

    - `grammar`: the items of one block, in order. A `str` is a literal marker. Blanks between items do not matter,
      except in a `Text`.
    - `reasoning`: pairs of markers with reasoning between them.
    - `reasoning_anywhere`: whether an opener of reasoning counts behind text, because it is a token that prose cannot
      have; if not, it counts only if there are nothing but blanks between it and the beginning or the last block. A
      closer behind text is dropped then.
    - `calls_in_reasoning`: whether a call inside reasoning ends it if it is not closed behind the call, because its
      models call so.
    - `ends_reasoning`: openers of a block, of text or calls, with which reasoning ends though its closer did not come.
    - `aliases`: pairs of a marker as some models write it and the marker that is meant.
    - `leading`: markers that would often occur in prose; they open a block only if there are nothing but blanks between
      them and the beginning or the last block.
    - `fence_languages`: the languages of the Markdown fences in which calls are read, `""` for a fence without one and
      `"*"` for all; in other fences they are text.
    - `only_declared`: whether a call of a tool that is not in `tools` is text, because other texts have such markers.
      It always is if its block begins with a single character, such as `{`.
    - `ignore_case`: whether markers may be written in any letter case.
    - `has_suffix`: whether each checkpoint's tags may have a suffix of their own, as in `<think:6124c78e>`: the first
      tag that has one says it, for all of the answer.
    - `behind_name`: what follows the name of a declared tool where the name alone opens a call, because the marker
      before it is in the prompt; it counts only at the beginning of a line, or of the text.
    - `layout`: the blanks written between items when a call is rendered, such as a newline.
    - `unmarked`: the names of dialects that are read as well where it is alone and `tools=` are declared, because its
      models also write calls without its markers.
    """

    name: str
    grammar: tuple[Item, ...] = ()
    reasoning: tuple[tuple[str, str], ...] = ()
    reasoning_anywhere: bool = False
    calls_in_reasoning: bool = False
    ends_reasoning: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    leading: tuple[str, ...] = ()
    fence_languages: tuple[str, ...] = ()
    only_declared: bool = False
    ignore_case: bool = False
    has_suffix: bool = False
    behind_name: str = ""
    layout: str = ""
    unmarked: tuple[str, ...] = ()

    @property
    def spellings(self) -> dict[str, tuple[str, ...]]:
        """The other spellings of each marker."""
        found: dict[str, tuple[str, ...]] = {}
        for written, meant in self.aliases:
            found[meant] = (*found.get(meant, ()), written)
        return found


class KnownDialect(Dialect, frozen=True, kw_only=True):
    """A dialect of the catalogue: its grammar, and what is known about it.

    - `about`: which models write it, and its peculiarities; its first line stands in lists.
    - `models`: patterns for the names of the models that write it, as matched by `dialect_for`; a model that writes
      several dialects is listed with each of them.
    - `thinking`: such patterns for models whose chat template ends the prompt inside the reasoning, unless thinking is
      switched off; `thinking_if_asked`: only if it is switched on; `thinking_always`: whatever the request says. A
      pattern of one of the three may be in `models` too.
    - `switches`: the variables of their chat templates that switch thinking, if nothing else does; None if it may be
      any that is known. `low_efforts`: the efforts of reasoning with which thinking is off, beside `none`.
    - `reasoning_from`: the templates and parsers that say how a prompt ends, and that a call ends the reasoning.
    - `parsers`: the names of its parsers in vLLM and SGLang, where they differ from `name`.
    - `proven_by`: the projects whose test cases pass; those that do not are listed in the tests, with the reason.
    - `written_from`: the public page, prompt or chat template from which the texts of the tests were written.
    - `not_in_auto`: why `auto` does not read it, or which dialect of `auto` reads all of it; empty if `auto` reads it.
    - `example`: the call that the catalogue shows, if the format is for certain tools only.
    - `answer`: a text for the tests, with the call in `example`, or else with the call that all dialects share.
    """

    about: str = ""
    models: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    thinking_if_asked: tuple[str, ...] = ()
    thinking_always: tuple[str, ...] = ()
    switches: tuple[str, ...] | None = None
    low_efforts: tuple[str, ...] = ()
    reasoning_from: str = ""
    parsers: tuple[str, ...] = ()
    proven_by: tuple[str, ...] = ()
    written_from: str = ""
    not_in_auto: str = ""
    example: tuple[str, Mapping[str, str]] | None = None
    answer: str = ""

    def __hash__(self) -> int:
        return hash((self.name, self.grammar))

    @property
    def all_models(self) -> tuple[str, ...]:
        """All patterns for the names of its models, each once."""
        of_reasoning = (*self.thinking, *self.thinking_if_asked, *self.thinking_always)
        return tuple(dict.fromkeys((*self.models, *of_reasoning)))


NAME = Text("name", r"\w.:/-")
"""A tool's name as most formats have it."""


class ModelDialect(Struct, frozen=True, repr_omit_defaults=True):
    """The dialects of a model, and how it writes them.

    >>> row = ModelDialect(("hermes",), starts_in_reasoning=True)
    >>> row.names, row.options
    (('hermes',), {'starts_in_reasoning': True})

    - `names`: the dialects for `parse_text`; several if the model, or the template that it is served with, uses
      several.
    - `starts_in_reasoning`: whether the model's own chat template ends the prompt inside the reasoning, so that the
      text has only the closer: unless thinking is switched off (True), never (False), or only if thinking is switched
      on (`asked`).
    - `opener_in_reasoning`: as in `parse_text`; None: as the dialect says.
    - `switches`: the variables of the chat template that switch thinking; others that a request sets change nothing.
      None: any that is known; with `()` the template has none, and what the request says does not count.
    - `low_efforts`: the efforts of reasoning with which thinking is off, beside `none`.
    - `is_guess`: whether `dialect_for` was given no more than the name of a family, such as `qwen`, of which some
      models write another dialect.
    """

    names: tuple[str | Dialect, ...]
    starts_in_reasoning: bool | Literal["asked"] = False
    opener_in_reasoning: Literal["text", "ends"] | None = None
    switches: tuple[str, ...] | None = None
    low_efforts: tuple[str, ...] = ()
    is_guess: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The options of `parse_text` for this model: `parse_text(*row.names, **row.options)`."""
        given = {
            "starts_in_reasoning": self.starts_in_reasoning is True,
            "opener_in_reasoning": self.opener_in_reasoning,
        }
        return {name: each for name, each in given.items() if each}
