"""Several dialects as one automaton of positions, compiled once (Glushkov's construction).

Every literal and every slot of every grammar is one position. A reader holds all positions that match the text so far;
what may come next is the union of what may follow each of them. So two dialects are told apart by the first text that
fits only one of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from ...events.errors import UsageError
from ..machines.marker_search import BLANKS, Marker, MarkerSearch, literal_search
from .dialect import Attrs, Back, Call, CallArgs, Dialect, Item, Json, Many, Maybe, Text
from .grammar_items import (
    Leaf,
    all_items,
    fault_of,
    fault_of_item,
    fault_of_names,
    is_for_argument,
    leaves_of,
    look_ahead,
    may_begin,
    may_miss,
    opening,
    rows_of,
    says_name,
)

States: TypeAlias = tuple[int, ...]
_IS_MARK: Final = re.compile(r"[^\w\s.:/-]")
_UNMISTAKABLE: Final = re.compile(r"\s*(?!<\w+\Z)[<\[\]]+[^\w\s]*\w.*", re.DOTALL)

_MARKUP: Final = re.compile(r"[^\w\s]")


class Boundary(NamedTuple):
    """The possible continuations of some positions."""

    literals: Mapping[str, States]
    """The markers that may come, each with the positions that it leads to."""
    search: MarkerSearch
    """The search for `literals`."""
    blank: MarkerSearch | None
    """The search for those `literals` that begin with a blank, if there are any."""
    ends: MarkerSearch
    """The search for everything that ends a text here: the literals, and the beginnings of slots."""
    slots: Mapping[str, States]
    """The first characters of slots that begin with a certain character, each with the positions that it leads to."""
    attrs: States
    texts: States
    beside: Mapping[str, frozenset[int]]
    """By marker, or by first character of a slot: the other dialects that could continue in its place."""
    may_end: bool
    """Whether a grammar may end here."""
    only_text: bool
    """Whether a text must come, whatever its first character is."""


class PathStep(NamedTuple):
    """One group on the way from a grammar to one of its leaves: the items of the group, and the place of the way on."""

    group: Item | None
    row: Sequence[Item]
    place: int


class CompiledGrammar:
    """The positions of some dialects, numbered in their order."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self.dialects = tuple(dialects)
        self.items: list[Leaf] = []
        self.texts: dict[int, Text] = {}
        """Those that are text slots, by their position."""
        self.calls: list[int] = []
        """For each position, the number of the call that it is in; -1 outside of calls."""
        self.owners: list[int] = []
        """For each position, the index of its dialect."""
        self.follow: list[set[int]] = []
        self.paths: list[tuple[PathStep, ...]] = []
        """For each position, the groups around it, from the outermost on."""
        self.first: States = ()
        self.anywhere: States = ()
        """Those positions of `first` that may open a block anywhere; the others need nothing but blanks before them."""
        self.last: set[int] = set()
        self.call_first: set[int] = set()
        self.call_last: set[int] = set()
        self.aliases: list[Mapping[str, tuple[str, ...]]] = []
        """For each position, the other spellings of the markers of its dialect."""
        self.ignore_case: list[bool] = []
        """For each position, whether the markers of its dialect may be written in any letter case."""
        self.names: dict[int, str] = {}
        """Tool names by number of the call, for calls that always have the same name."""
        self._call = -1
        self._number_of_calls = 0
        self.reasoning = {opener: closer for each in dialects for opener, closer in each.reasoning}
        """The closer of reasoning for each opener of it."""
        control = (each.reasoning for each in dialects if each.reasoning_anywhere)
        self.reasoning_anywhere = [marker for pairs in control for pair in pairs for marker in pair]
        """The markers of reasoning that count behind text, too."""
        self.suffixed = frozenset(tag for each in dialects if each.has_suffix for tag in _tags_of(each))
        """The tags that may have a suffix, as long as it is not known."""
        for dialect in dialects:
            if dialect.grammar:
                self._add(dialect)
        self._exhausted = [
            not any(self._is_inside(here, after) for after in following) for here, following in enumerate(self.follow)
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return compiled, (self.dialects,)

    def with_suffix(self, suffix: str) -> CompiledGrammar:
        """Return the same positions for tags with a suffix, which is then known."""
        return compiled(tuple(_with_suffix(each, suffix) if each.has_suffix else each for each in self.dialects))

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def boundary(self, at: States, back: tuple[tuple[str, str], ...] = ()) -> Boundary:
        """Return what may follow these positions; `back`: the last slot of each role, if `says_back`."""
        may_end = any(here in self.last for here in at)
        following = sorted({after for here in at for after in self.follow[here]})
        return self.choice(following, dict(back), may_end=may_end)

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def openers(self, *, leading: bool) -> Boundary:
        """Return what a block may begin with; `leading`: whether only blanks came before it."""
        return self.choice(self.first if leading else self.anywhere, {}, may_end=False)

    def choice(self, candidates: Iterable[int], back: Mapping[str, str], *, may_end: bool) -> Boundary:
        """Return the boundary at which one of these positions comes next."""
        literals: dict[str, States] = {}
        slots: dict[str, States] = {}
        attrs: States = ()
        texts: States = ()
        for here in candidates:
            item = self.items[here]
            if isinstance(item, Text):
                texts += (here,)
            elif isinstance(item, Attrs) and item.form == "tag":
                attrs += (here,)
            elif isinstance(item, Json | CallArgs | Attrs):
                for char in opening(item):
                    slots[char] = (*slots.get(char, ()), here)
            else:
                for literal in self.spellings(here, item, back):
                    literals[literal] = (*literals.get(literal, ()), here)
        ends = literals | slots | dict.fromkeys(BLANKS if attrs else "", ())
        begin_blank = {text: at for text, at in literals.items() if text[0] in BLANKS}
        return Boundary(
            literals,
            self.search(literals),
            self.search(begin_blank) if begin_blank else None,
            self.search(ends),
            slots,
            attrs,
            texts,
            self._beside(literals, slots, texts) if len(self.dialects) > 1 else {},
            may_end,
            bool(texts) and not (literals or slots),
        )

    def owned(self, at: Iterable[int]) -> frozenset[int]:
        """Return the dialects of some positions."""
        return frozenset(self.owners[here] for here in at)

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def ahead(self, opener: str, at: States) -> re.Pattern[str] | None:
        """Return what must stand behind the opener of a block at these positions; None if anything may."""
        return look_ahead(self, opener, at)

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def is_name(self, text: str, at: States) -> bool:
        """Return whether a text can be an argument's name: it is not empty, and no marker of the dialect is in it."""
        owners = self.owned(at)
        literals = ((here, item) for here, item in enumerate(self.items) if isinstance(item, str))
        own = (
            each for here, item in literals if self.owners[here] in owners for each in self.spellings(here, item, {})
        )
        return bool(text) and not any(len(each) > 1 and _MARKUP.search(each) and each in text for each in own)

    @property
    def brackets_are_named(self) -> bool:
        """Whether all JSON that a block may begin with says the name of its tool."""
        begins = (self.items[here] for here in self.first)
        return all(says_name(item) for item in begins if isinstance(item, Json))

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def is_json(self, at: States) -> bool:
        """Return whether a block at these positions begins with the bracket of JSON."""
        return bool(at) and all(isinstance(self.items[here], Json) for here in at)

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def only_declared(self, at: States) -> bool:
        """Return whether a call at some positions is text unless its tool was declared."""
        return any(self.dialects[owner].only_declared for owner in self.owned(at))

    def _beside(
        self, literals: Mapping[str, States], slots: Mapping[str, States], texts: States
    ) -> Mapping[str, frozenset[int]]:
        """Return the other dialects that could continue in place of a literal or slot."""
        found: dict[str, frozenset[int]] = {}
        for begin, at in {**slots, **literals}.items():
            others = tuple(here for here in texts if may_begin(self.items[here], begin[0]))
            if begin in literals:
                others += slots.get(begin[0], ())
                for length in range(1, len(begin)):
                    others += literals.get(begin[:length], ())
            if others and (owners := self.owned(others) - self.owned(at)):
                found[begin] = owners
        return found

    def search(self, literals: Mapping[str, States]) -> MarkerSearch:
        """Return the search for the literals at these positions."""
        return self._search(tuple(literals.items()))

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def _search(self, literals: tuple[tuple[str, States], ...]) -> MarkerSearch:
        return literal_search(self.literal(text, at) for text, at in literals)

    def literal(self, text: str, at: States) -> Marker:
        """Return the conditions under which a text is the literal of some positions."""
        followers = [self._before_attributes(here, text) for here in at]
        before = "".join(sorted(set("".join(followers)))) if all(followers) else ""
        return Marker(text, before, any(self.ignore_case[here] for here in at))

    def _before_attributes(self, here: int, text: str) -> str:
        """Return the characters that may end a tag's name; empty for other literals."""
        after = [self.items[each] for each in self.follow[here]]
        if self._is_before_tag(here) and self.items[here] == text and text[-1].isalnum():
            return BLANKS + "".join(each[0] for each in after if isinstance(each, str))
        return ""

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def ends_name(self, before: States, at: States) -> bool:
        """Return whether a name has just ended, at the only item that can end it, and more of the call can come."""
        left = [here for here in before if not self.follow[here].isdisjoint(at)]
        is_name = all(
            isinstance(item := self.items[here], Text) and item.role == "name" and len(self.follow[here]) == 1
            for here in left
        )
        return bool(left) and is_name and not self.is_exhausted(at)

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def is_first(self, at: States) -> bool:
        """Return whether a block may begin at each of these positions."""
        return all(here in self.first for here in at)

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def has_content(self, at: States) -> bool:
        """Return whether JSON at one of these positions has text for the answer, too."""
        return any(isinstance(item := self.items[here], Json) and item.content for here in at)

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def goes_on(self, at: States) -> bool:
        """Return whether anything may follow one of these positions."""
        return any(self.follow[here] for here in at)

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def has_attributes(self, at: States) -> bool:
        """Return whether attributes of a tag are at one of these positions."""
        return any(isinstance(self.items[here], Attrs) for here in at)

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def inside(self, before: States, after: States) -> States:
        """Return those positions of `after` that one step from `before` reaches without leaving the call."""
        return tuple(
            next_
            for next_ in after
            if any(next_ in self.follow[here] and self._is_inside(here, next_) for here in before)
        )

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def is_exhausted(self, at: States) -> bool:
        """Return whether nothing more of the call can come."""
        return all(self._exhausted[here] for here in at)

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def reachable(self, at: States) -> frozenset[int]:
        """Return all positions of the call that may come after these, directly or later."""
        found: set[int] = set()
        todo = list(at)
        while todo:
            here = todo.pop()
            for after in self.follow[here]:
                if after not in found and self._is_inside(here, after):
                    found.add(after)
                    todo.append(after)
        return frozenset(found)

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def closers(self, at: States) -> Mapping[str, States]:
        """Return the literals after these positions with which the call or the block may end."""
        literals: dict[str, States] = {}
        for here in sorted(self.reachable(at)):
            item = self.items[here]
            if (here in self.call_last or here in self.last) and isinstance(item, str):
                for literal in self.spellings(here, item, {}):
                    literals[literal] = (*literals.get(literal, ()), here)
        return literals

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def ends_skipped(self, at: States) -> bool:
        """Return whether a text that is skipped could have stood before these positions; it may be empty."""
        skipped = (here for here, item in self.texts.items() if item.role == "skip")
        return any(not self.follow[here].isdisjoint(at) for here in skipped if self.calls[here] < 0)

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def block_closers(self, at: States) -> Mapping[str, States]:
        """Return the markers of more than one character after these positions with which the block may end."""
        found: set[int] = set()
        todo = list(at)
        while todo:
            new = self.follow[todo.pop()] - found
            found |= new
            todo += new
        closers: dict[str, States] = {}
        for here in sorted(found & self.last - set(self.first)):
            for text in self._spelled(here):
                closers[text] = (*closers.get(text, ()), here)
        return {text: after for text, after in closers.items() if len(text) > 1}

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def partners(self, at: States) -> Mapping[str, States]:
        """Return those of `closers` with which a call ends that failed at these positions.

        They are closers of the call, or of the block if no call was reached. A marker of one character, or one that is
        the beginning of another, is none if there are others: in a text that nobody has read, it may be anything.
        """
        found = self.closers(at)
        calls = {self.calls[here] for here in at}
        own = {
            text: after for text, after in found.items() if any(self.calls[here] in calls for here in after)
        } or found
        markers = self._markers(self.owned(at))
        is_begun = {text for text in own for each in markers if each != text and each.startswith(text)}
        return {text: after for text, after in own.items() if len(text) > 1 and text not in is_begun} or own

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def ends_of_failed(self, at: States) -> MarkerSearch:
        """Return the search for what ends a failed call: its closers after these positions, and all other openers."""
        own = {text for here in (*self.reachable(at), *at) for text in self._spelled(here)}
        own -= {text for here in at if here in self.first for text in self._spelled(here)}
        openers = {text: after for text, after in self.openers(leading=True).literals.items() if text not in own}
        return self.search({**openers, **self.partners(at)})

    def _spelled(self, here: int) -> tuple[str, ...]:
        """Return how the marker at a position is written; nothing for a slot."""
        item = self.items[here]
        return self.spellings(here, item, {}) if isinstance(item, str) else ()

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def markers_beside(self, at: States) -> tuple[MarkerSearch, MarkerSearch]:
        """Return the searches for the markers of the dialects of some positions: for tokens, and for words."""
        own = {text: after for text, after in self._markers(self.owned(at)).items() if len(text) > 1}
        tokens = {**self.openers(leading=True).literals, **own}
        tokens = {text: after for text, after in tokens.items() if len(text) > 1 and _IS_MARK.match(text)}
        return self.search(tokens), self.search({text: after for text, after in own.items() if text[0].isalpha()})

    def _markers(self, owners: frozenset[int]) -> dict[str, States]:
        """Return all markers of some dialects, each with a position."""
        found: dict[str, States] = {}
        for here in range(len(self.items)):
            if self.owners[here] in owners:
                found |= dict.fromkeys(self._spelled(here), (here,))
        return found

    @staticmethod
    @lru_cache(maxsize=4096)
    def is_unmistakable(marker: str) -> bool:
        """Return whether prose has a marker only if it is about the format: a whole tag or token, no word or bracket.

        >>> markers = "<tool_call>", "[TOOL_CALLS]", "<tool", "functools", "["
        >>> [CompiledGrammar.is_unmistakable(each) for each in markers]
        [True, True, False, False, False]
        """
        return _UNMISTAKABLE.fullmatch(marker) is not None

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def constant_name(self, at: States) -> str:
        """Return the tool's name if the call of these positions always has the same one; else an empty text."""
        names = {self.names.get(self.calls[here], "") for here in at}
        return names.pop() if len(names) == 1 else ""

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def expects_body(self, at: States) -> bool:
        """Return whether JSON or arguments as code may still come, which contain their own opening."""
        return any(isinstance(self.items[here], Json | CallArgs) for here in self.reachable(at))

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def expects_arguments(self, at: States) -> bool:
        """Return whether arguments may still come, so that no marker here is the call's closer."""
        items = (self.items[here] for here in self.reachable(at))
        return any(isinstance(item, Json | CallArgs) or is_for_argument(item) for item in items)

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def has_closer(self, at: States) -> bool:
        """Return whether a marker may come that no arguments can follow."""
        reachable = (here for here in self.reachable(at) if isinstance(self.items[here], str | Back))
        return any(not self.expects_arguments((here,)) for here in reachable)

    def closing(self, boundary: Boundary) -> Iterator[str]:
        """Yield the literals of a boundary that no arguments can follow."""
        return (text for text, after in boundary.literals.items() if not self.expects_arguments(after))

    @property
    def fold(self) -> Callable[[str], str]:
        """The function applied to markers before they are compared; it lowers the case if a dialect ignores case."""
        return str.casefold if any(self.ignore_case) else str

    def _is_inside(self, here: int, after: int) -> bool:
        if self.calls[here] != self.calls[after]:
            return False
        begins_anew = here in self.call_last and after in self.call_first and self.calls[here] >= 0
        return not begins_anew or after > here

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def says_back(self, at: States) -> bool:
        """Return whether what may come next repeats a slot."""
        return any(isinstance(self.items[after], Back) for here in at for after in self.follow[here])

    @lru_cache(maxsize=2048)  # noqa: B019 - grammars live as long as the program
    def back_roles(self, at: States) -> frozenset[str]:
        """Return the roles of the slots that are repeated anywhere in the dialects of some positions."""
        owners = self.owned(at)
        items = zip(self.items, self.owners, strict=True)
        return frozenset(item.role for item, owner in items if owner in owners and isinstance(item, Back))

    def spellings(self, here: int, item: str | Back, back: Mapping[str, str]) -> tuple[str, ...]:
        if isinstance(item, Back):
            return (f"{item.before}{back[item.role]}{item.after}",) if item.role in back else ()
        return (item, *self.aliases[here].get(item, ()))

    def _add(self, dialect: Dialect) -> None:
        begin = len(self.items)
        if not any(isinstance(item, Call) for item in all_items(dialect.grammar)):
            self._begin_call()
        nullable, first, last = self._row(dialect.grammar, None, ())
        if self._call >= 0:
            self._end_call(first, last)
        if fault := self._fault(dialect, range(begin, len(self.items)), first, nullable=nullable):
            message = f"the grammar of {dialect.name} cannot be read: {fault}"
            raise UsageError(message)
        self.first += tuple(sorted(first))
        self.anywhere += tuple(here for here in sorted(first) if self.items[here] not in dialect.leading)
        self.last |= last
        self.owners += [self.dialects.index(dialect)] * (len(self.items) - begin)
        self.aliases += [dialect.spellings] * (len(self.items) - begin)
        self.ignore_case += [dialect.ignore_case] * (len(self.items) - begin)

    def _fault(self, dialect: Dialect, own: range, first: Iterable[int], *, nullable: bool) -> str:
        """Return the first error in a grammar, or an empty text."""
        if nullable:
            return "it can match an empty text; at least one item must be neither Maybe nor Many"
        faults = [fault_of(dialect.grammar)]
        if any(isinstance(self.items[here], Text | Attrs | CallArgs | Back) for here in first):
            faults.append("it must begin with a marker or with JSON, to be told from the text before it")
        for here in (each for each in own if not isinstance(self.items[each], str | Back)):
            item, is_inside = self.items[here], self.calls[here] >= 0
            later = (self.items[each] for each in self.reachable((here,)))
            faults.append(fault_of_item(item, later, is_inside=is_inside))
            if isinstance(item, Attrs) and not all(
                isinstance(self.items[each], str) for each in own if here in self.follow[each]
            ):
                faults.append("attributes must come right behind a marker")
            if self._is_endless(here):
                faults.append("a text that may be empty is repeated without a marker between")
        return next(filter(None, (*faults, fault_of_names(dialect.grammar))), "")

    def _is_endless(self, here: int) -> bool:
        """Return whether texts that are ended only by their allowed characters may follow each other in a cycle."""
        found: set[int] = set()
        todo = [here]
        while todo:
            at = todo.pop()
            item = self.items[at]
            if isinstance(item, Text) and (item.chars or self._is_before_tag(at)):
                todo += self.follow[at] - found
                found |= self.follow[at]
        return here in found

    def _is_before_tag(self, here: int) -> bool:
        """Return whether the attributes of a tag may come next."""
        after = (self.items[each] for each in self.follow[here])
        return any(isinstance(each, Attrs) and each.form == "tag" for each in after)

    def _row(
        self, items: Sequence[Item], group: Item | None, path: tuple[PathStep, ...]
    ) -> tuple[bool, set[int], set[int]]:
        nullable = True
        first: set[int] = set()
        last: set[int] = set()
        for place, item in enumerate(items):
            may_miss, its_first, its_last = self._item(item, (*path, PathStep(group, items, place)))
            for here in last:
                self.follow[here] |= its_first
            if nullable:
                first |= its_first
            last = its_last | (last if may_miss else set())
            nullable = nullable and may_miss
        return nullable, first, last

    def _item(self, item: Item, path: tuple[PathStep, ...]) -> tuple[bool, set[int], set[int]]:
        if isinstance(item, Leaf):
            here = len(self.items)
            self.items.append(item)
            if isinstance(item, Text):
                self.texts[here] = item
            self.calls.append(self._call)
            self.follow.append(set())
            self.paths.append(path)
            return may_miss(item), {here}, {here}
        if isinstance(item, Call):
            self._begin_call(item.name)
        ways = [self._row(row, item, path) for row in rows_of(item)]
        first, last = set[int]().union(*(way[1] for way in ways)), set[int]().union(*(way[2] for way in ways))
        if isinstance(item, Many):
            for here in last:
                self.follow[here] |= first
        if isinstance(item, Call):
            self._end_call(first, last)
        return isinstance(item, Many | Maybe) or any(way[0] for way in ways), first, last

    def _begin_call(self, name: str = "") -> None:
        self._call = self._number_of_calls
        self._number_of_calls += 1
        if name:
            self.names[self._call] = name

    def _end_call(self, first: set[int], last: set[int]) -> None:
        self.call_first |= first
        self.call_last |= last
        self._call = -1


def _tags_of(dialect: Dialect) -> Iterator[str]:
    """Yield the tags of a dialect, those of its reasoning too."""
    markers = (*leaves_of(dialect.grammar), *(marker for pair in dialect.reasoning for marker in pair))
    yield from (each for each in markers if isinstance(each, str) and each.endswith(">"))


def _with_suffix(dialect: Dialect, suffix: str) -> Dialect:
    written = {tag: f"{tag[:-1]}:{suffix}>" for tag in _tags_of(dialect)}
    return replace(
        dialect,
        has_suffix=False,
        aliases=(*dialect.aliases, *((written[tag], tag) for tag in written)),
        reasoning=(*dialect.reasoning, *((written[opener], written[closer]) for opener, closer in dialect.reasoning)),
    )


@lru_cache(maxsize=256)  # more than there are dialects: a process that reads each in turn would compile each anew
def compiled(dialects: tuple[Dialect, ...]) -> CompiledGrammar:
    """Return the positions of these dialects; the same dialects are compiled once."""
    return CompiledGrammar(dialects)
