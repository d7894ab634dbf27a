"""`Dialect`: the format in which a model writes tool calls and reasoning, as a grammar of a few items."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

Role: TypeAlias = Literal[
    "name", "key", "value", "id", "reasoning", "content", "recipient", "skip", "flag", "arguments"
]
Trim: TypeAlias = Literal["", "newline", "blanks"]
Typing: TypeAlias = Literal["text", "schema", "json", "python", "flagged", "xml", "marked_xml"]


class Text(Struct, frozen=True):
    """A slot for text: a tool's name, a key, a value. It ends where something begins that may follow it."""

    role: Role
    chars: str = ""
    """What it may be made of, as the inside of a regular expression's class; anything without it."""
    trim: Trim = ""
    """What is trimmed: one newline on either side, or all whitespace."""
    typing: Typing = "text"
    """How a value is converted: as text; by the tool's schema; as JSON; as a Python literal; as `Attrs` flagged it; as
    nested XML elements, or text without them; the same with a mark before each tag."""
    until: Literal["first", "last"] = "first"
    """Whether the first thing that may follow ends it, or the last one."""
    entities: bool = False
    """Whether `&lt;` and the like are decoded, once."""
    section: tuple[str, str] | None = None
    """A pair of markers; text between them is literal."""
    key: str = ""
    """For a value without a key: the name of the argument, by default `input`."""
    also: tuple[tuple[str, str], ...] = ()
    """For a value: (the argument that some models write, the one that they mean)."""
    instead: tuple[tuple[str, Text], ...] = ()
    """For a value: (tool.argument, another typing for it)."""
    named: str = ""
    """For an id that contains the tool's name: a regular expression whose group is the name."""

    def name_in(self, text: str) -> str | None:
        r"""Return the tool's name that an id contains, or None.

        >>> Text("id", named=r"functions\.(\w+):\d+").name_in("functions.add:0")
        'add'
        """
        found = re.fullmatch(self.named, text) if self.named else None
        return found[1] if found else None

    def of(self, tool: str, argument: str) -> Text:
        """Return how the value of an argument is read.

        >>> Text("value", instead=(("note.draft", Text("skip")),)).of("Note", "draft").role
        'skip'
        """
        if not self.instead:
            return self
        return dict(self.instead).get(f"{tool.casefold()}.{argument}", self)


class Json(Struct, frozen=True):
    """JSON, which ends by its own balance: an object that is a call, an array of such, or bare arguments.

    Keys are written with dots: `function.name`. With `name=()` the object is the arguments of a call whose name came
    before it. `calls` are the keys under which a call or a list of calls may lie. `sole_key`: the only key of an object
    is the tool's name, its value the arguments. Arguments that are a JSON text are decoded twice.
    """

    name: tuple[str, ...] = ("name",)
    args: tuple[str, ...] = ("arguments", "parameters")
    id: tuple[str, ...] = ("id",)
    calls: tuple[str, ...] = ()
    content: tuple[str, ...] = ()
    """Keys of the outermost object whose text belongs to the answer and is emitted as it arrives."""
    sole_key: bool = False
    root: Literal["object", "array", "any"] = "any"
    """With which bracket it may begin."""
    whole: bool = False
    """Whether an object needs arguments to be a call, because other objects have names too."""
    under: Literal["", "object", "array"] = ""
    """Whether even a single call is written under the first of `calls`, as it is or in an array; an empty text stands
    before it where there is a key of `content`."""


class CallArgs(Struct, frozen=True):
    """Arguments as code or a custom literal writes them: `(a=1, b="x")`, `{a:1}`.

    `quotes`: what opens and closes a string; `escapes`: whether a backslash escapes in it; `lenient_quotes`: one that
    nothing can follow is text. `unmarked`: the opening alone makes no call, an argument, or the end, has to come.
    """

    open: str = "("
    close: str = ")"
    assign: str = "="
    quotes: tuple[str, ...] = ("'", '"')
    escapes: bool = True
    lenient_quotes: bool = False
    unmarked: bool = False


class Attrs(Struct, frozen=True):
    """Attributes of a tag, in any order, cut anywhere: `path="a.py" mode='w'`.

    `roles` says what an attribute is; another one is an argument of the call, named as the attribute. One with the
    role `flag` says `true` or `string` where a `flagged` value is text and anything else where it is JSON; one with
    the role `arguments` has arguments inside. A tag that lacks a required name or key does not match.
    """

    roles: tuple[tuple[str, Role], ...] = ()
    required: tuple[str, ...] = ()
    """Attributes that must be there."""
    fixed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What an attribute must say, in any case: one of some texts; where there are none, it must be absent."""
    also: tuple[tuple[str, str], ...] = ()
    """(What some models write, the attribute that they mean)."""
    form: Literal["tag", "json"] = "tag"
    """As in a tag, or as one JSON object."""

    @property
    def needed(self) -> frozenset[str]:
        """The required attributes; a tag without them does not match."""
        return frozenset((*self.required, *(name for name, role in self.roles if role in ("name", "key"))))

    def agrees(self, said: Mapping[str, object]) -> bool:
        """Return whether a tag's attributes match.

        >>> Attrs(fixed=(("type", ("run",)), ("old", ()))).agrees({"type": "RUN"})
        True
        """
        return self.needed <= said.keys() and all(
            str(said[name]).casefold() in allowed if name in said else not allowed for name, allowed in self.fixed
        )


class Back(Struct, frozen=True):
    """A literal that repeats the last slot of a role: `Back("</", ">")` is `</path>` after the key `path`."""

    before: str = "</"
    after: str = ">"
    role: Role = "key"


class _Group:
    """Items in a row."""

    __slots__ = ("items",)

    def __init__(self, *items: Item) -> None:
        self.items = items

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.items))})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.items == other.items

    def __hash__(self) -> int:
        return hash((type(self), self.items))


class Many(_Group):
    """Any number of times, none too."""

    __slots__ = ()


class Maybe(_Group):
    """Once or not at all."""

    __slots__ = ()


class Alt(_Group):
    """One of its items; several in a row are a tuple."""

    __slots__ = ()


class Call(_Group):
    """The extent of a call; in a grammar without it, the whole block is a call.

    `name`: the tool's, if the text lacks it.
    """

    __slots__ = ("name",)

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
      but for those in a `Text`.
    - `reasoning`: pairs of markers with reasoning between them.
    - `aliases`: (what some models write, the marker that they mean).
    - `leading`: markers that open a block only where nothing but blanks came before them, since the beginning or the
      last block: what else would often be met in prose.
    - `ignore_case`: of markers.
    - `layout`: what stands between items where blanks do not matter, when a call is written.
    """

    name: str
    grammar: tuple[Item, ...] = ()
    reasoning: tuple[tuple[str, str], ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    leading: tuple[str, ...] = ()
    ignore_case: bool = False
    layout: str = ""


class KnownDialect(Dialect, frozen=True, kw_only=True):
    """A dialect of the catalogue: with its grammar, all that is known of it.

    - `models`: patterns of the names of models that write it, as `dialect_for` takes them; a model that writes several
      dialects stands with each.
    - `thinking`: the same, of models whose chat template ends the prompt inside the reasoning.
    - `parsers`: what vLLM and SGLang call their parser of it, where that is not its name here.
    - `proven_by`: the projects whose test cases pass; those that do not are listed in the tests, with the reason.
    - `written_from`: the public page, prompt or chat template after which the texts of the tests were written.
    - `not_in_auto`: why `auto` does not read it, or which dialect of `auto` reads all of it; nothing if `auto` does.
    - `example`: the call that the catalogue shows, where the format is for certain tools.
    - `answer`: a text with that call, or with the one that all share, which the tests read.
    """

    models: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    parsers: tuple[str, ...] = ()
    proven_by: tuple[str, ...] = ()
    written_from: str = ""
    not_in_auto: str = ""
    example: tuple[str, Mapping[str, str]] | None = None
    answer: str = ""

    def __hash__(self) -> int:
        return hash((self.name, self.grammar))


NAME = Text("name", r"\w.:/-")
"""A tool's name as most formats have it."""
