"""The markers around a raw value: its closers, and the openers of other arguments and of calls.

A raw value may contain any text, its own closers too. So one marker does not end it: what follows must be able to
follow it in the grammar. This file finds the markers in the grammar; `text/value_end.py` has the rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..machines.marker_search import MarkerSearch
from .compiled_grammar import CompiledGrammar, PathStep, States
from .dialect import Alt, Back, Call, CallArgs, Item, Json, Many, Text
from .grammar_items import BRACKETS, leaves_of, rows_of
from .opener_forms import Opener, openers_of


class Behind(NamedTuple):
    """What may follow closers, by its first marker."""

    search: MarkerSearch
    closers: Mapping[str, States]
    arguments: frozenset[str]
    calls: tuple[Opener, ...]
    others: frozenset[str]
    """The markers of anything else, such as text that is skipped."""
    blank: MarkerSearch | None
    """The search for those that begin with a blank."""


_is_mark = re.compile(r"[^\w\s].*\w\w", re.DOTALL).match
"""Whether a marker is one that no other text has: signs such as `">` are in any, and so are words."""


class ValueEnds:
    """The markers around the raw values at some positions of the grammars.

    - `need`: how many closers in a row end a value: two, or one in a grammar that has no more.
    - `first`: the closers that may directly follow the value; `closers`: all that may follow it, now or later.
    - `arguments`, `calls`: the openers of other arguments, and of calls; `starts`: with which the former begin.
    - `texts`: all markers, each in one spelling; `marked`: finds one of them that is more than one character.
    - `blocks`: the openers of calls from the beginning of their block on. `inert`: the markers that are none of these.
    - `is_open`: whether the end of the answer ends the value, which has no closer.
    - `has_direct_argument`: whether another argument may follow without a closer. `has_argument_closer`: whether it may
      follow a closer. `is_named`: whether a closer repeats the argument's name. `is_separated`: whether there is only a
      marker between values.
    - `candidates`: the search for all of them; `ending`: for those that may end the value; `held`: for those that count
      behind the end of a block; `in_line`: for those that count within a line where closers are lines of their own.
    """

    def __init__(self, grammar: CompiledGrammar, at: States, back: Mapping[str, str]) -> None:
        self._grammar = grammar
        self._at = at
        self._back = back
        self._values = [
            here for here, item in enumerate(grammar.items) if isinstance(item, Text) and item.role == "value"
        ]
        following = (grammar.items[after] for here in at for after in grammar.follow[here])
        self.named_closers = {item for item in following if isinstance(item, Back) and item.role == "key"}
        self.first = self.after(at)
        self.closers = self._closers()
        self.arguments = tuple(self._argument_openers())
        self.texts = tuple(
            dict.fromkeys(text for here, _ in enumerate(grammar.items) for text in self._texts(here)[:1])
        )
        self.marked = re.compile("|".join(re.escape(each) for each in self.texts if len(each) > 1) or "(?!)")
        self.starts = frozenset(each.start for each in self.arguments)
        self.calls = tuple(self._call_openers())
        self._call_starts = frozenset(each.start for each in self.calls)
        self.blocks = tuple(self._call_openers(of_block=True))
        self._block_starts = frozenset(each.start for each in self.blocks)
        self.need = 2 if any(self.after(each) for each in self.first.values()) else 1
        self.has_direct_argument = self._may_have_argument(at)
        self.is_open = not self.first and self.may_end(at)
        self.has_argument_closer = any(self._may_have_argument(each) for each in self.first.values())
        self.is_named = any(isinstance(grammar.items[here], Back) for each in self.first.values() for here in each)
        is_row = all(_arguments_of(grammar.paths[each]) is None for each in at)
        self.is_separated = is_row and any(each.has_no_key for each in self.arguments)
        self.not_openers = frozenset(f"{each}/" for each in self.starts if len(each) == 1)
        """Texts that begin as an opener of one character does, but are the beginning of a closer."""
        self._known = (*self.closers, *self.starts, *self._call_starts, *self.not_openers)
        owners = grammar.owned(at)
        own = (here for here, owner in enumerate(grammar.owners) if owner in owners)
        self.inert = frozenset(text for here in own for text in self._texts(here)[:1] if _is_mark(text)).difference(
            self._known
        )
        self.candidates = self.search(())
        is_end = self.has_direct_argument or self.is_separated
        self.ending = self._search((*self.first, *(self.starts if is_end else ())))
        self.held = self.held_search(())
        self.in_line = self._search(self._call_starts)

    def search(self, others: Iterable[str]) -> MarkerSearch:
        """Return the search for the markers that mean something in the value, and others."""
        return self._search((*self._known, *others, *self.inert))

    def held_search(self, others: Iterable[str]) -> MarkerSearch:
        """Return the search for the markers that mean something behind the end of a block, and others."""
        return self._search(
            (*self.first, *self._block_starts, *(self.starts if others or self.is_separated else ()), *others)
        )

    def may_open(self, marker: str) -> bool:
        """Return whether a marker may be the last one of an opener."""
        return marker in self.starts or marker not in self.first

    def others(self, keys: Sequence[str]) -> Mapping[str, int]:
        """Return the closers of other arguments with -1, if they have the names of these, and their openers with 1."""
        named = [(each, key) for each in self.named_closers for key in keys]
        openers = {f"{each.before.removesuffix('/')}{key}{each.after}": 1 for each, key in named}
        return openers | {f"{each.before}{key}{each.after}": -1 for each, key in named}

    @lru_cache(maxsize=256)  # noqa: B019 - the markers around a value are kept with its grammar
    def after(self, at: States) -> dict[str, States]:
        """Return the closers that may come next, each with the positions that it leads to."""
        found: dict[str, States] = {}
        for here in sorted({after for each in at for after in self._grammar.follow[each]}):
            if _is_closer(self._grammar.items[here], self._grammar.paths[here]):
                for text in self._texts(here):
                    found[text] = (*found.get(text, ()), here)
        return found

    @lru_cache(maxsize=256)  # noqa: B019 - the markers around a value are kept with its grammar
    def behind(self, at: States) -> Behind:
        """Return what may follow closers."""
        closers = self.after(at)
        following = {after for here in at for after in self._grammar.follow[here]}
        arguments = self.starts if self._may_have_argument(at) else frozenset[str]()
        is_next = not self._grammar.call_first.isdisjoint(following)
        calls = (*(self.calls if is_next else ()), *(self.blocks if self.may_end(at) else ()))
        markers = {*closers, *arguments, *(each.start for each in calls)}
        others = frozenset(text for after in following for text in self._texts(after)) - markers
        begin_blank = [text for text in (*markers, *others) if text[0].isspace()]
        blank = self._search(begin_blank) if begin_blank else None
        return Behind(self._search((*markers, *others)), closers, arguments, calls, others, blank)

    @lru_cache(maxsize=256)  # noqa: B019 - the markers around a value are kept with its grammar
    def ends_call(self, reached: States, count: int) -> bool:
        """Return whether some closers in a row are the end of a call, rather than only of an argument."""
        behind = self.behind(reached)
        return count >= self.need and not (behind.arguments and behind.closers)

    def may_end(self, at: States) -> bool:
        """Return whether the block may end at these positions."""
        return any(here in self._grammar.last for here in at)

    def _search(self, literals: Iterable[str]) -> MarkerSearch:
        return self._grammar.search(dict.fromkeys(literals, self._at))

    def _closers(self) -> dict[str, States]:
        found: dict[str, States] = {}
        beside = (here for here in self._values for at in self._at if self._is_beside(here, at))
        todo = [self._at, *((here,) for here in beside)]
        while todo:
            for text, at in self.after(todo.pop()).items():
                if new := tuple(here for here in at if here not in found.get(text, ())):
                    found[text] = (*found.get(text, ()), *new)
                    todo.append(new)
        return found

    def _may_have_argument(self, at: States) -> bool:
        grammar = self._grammar
        return any(
            isinstance(item := grammar.items[after], str)
            and grammar.calls[after] == grammar.calls[here]
            and after not in grammar.call_first
            and not _is_closer(item, grammar.paths[after])
            for here in at
            for after in grammar.follow[here]
        )

    def _texts(self, here: int) -> tuple[str, ...]:
        item = self._grammar.items[here]
        return self._grammar.spellings(here, item, self._back) if isinstance(item, str | Back) else ()

    def _argument_openers(self) -> Iterator[Opener]:
        for at in self._at:
            group = _arguments_of(self._grammar.paths[at])
            for here in self._values:
                path = self._grammar.paths[here]
                inner = [place for place, step in enumerate(path) if step.group is group and group is not None]
                if inner:
                    yield from self._openers(_before(path[inner[0] :]), here, is_usual=_is_usual(path[inner[0] :]))
                elif group is None and (before := self._value_before(here)) is not None and self._is_beside(here, at):
                    between = path[-1].row[self._grammar.paths[before][-1].place + 1 : path[-1].place]
                    yield from self._openers(list(between), here)

    def _is_beside(self, here: int, at: int) -> bool:
        """Return whether two positions are in one row."""
        return self._grammar.paths[here][:-1] == self._grammar.paths[at][:-1]

    def _value_before(self, here: int) -> int | None:
        """Return the position of the value before another one in its row."""
        places = [each for each in self._values if each < here and self._is_beside(each, here)]
        return max(places, default=None)

    def _openers(
        self, items: Sequence[Item], here: int, *, has_value: bool = False, is_usual: bool = True
    ) -> Iterator[Opener]:
        """Return the openers that are written as some items of the dialect of a position."""
        aliases, ignore_case = self._grammar.aliases[here], self._grammar.ignore_case[here]
        return openers_of(items, aliases, ignore_case=ignore_case, has_value=has_value, is_usual=is_usual)

    def _call_openers(self, *, of_block: bool = False) -> Iterator[Opener]:
        """Yield the openers of calls; `of_block`: from the beginning of their block on."""
        owners = self._grammar.owned(self._at)
        seen: set[tuple[Item, ...]] = set()
        for here, path in enumerate(self._grammar.paths):
            if self._grammar.owners[here] not in owners or self._grammar.calls[here] < 0:
                continue
            begin = 0
            if not of_block:
                begin = next((place for place, step in enumerate(path) if isinstance(step.group, Call)), 0)
            item = self._grammar.items[here]
            body = tuple(BRACKETS[item.root]) if isinstance(item, Json) else ()
            if isinstance(item, CallArgs):
                body = (item.open,)
            if not body and not (isinstance(item, Text) and item.role == "value"):
                continue
            group = None if body else _arguments_of(path)
            end = next((place for place, step in enumerate(path) if group and step.group is group), len(path))
            items = tuple(_before(path[begin:end]))
            if items not in seen and not any(
                isinstance(leaf, Text) and leaf.role == "value" for leaf in leaves_of(items)
            ):
                seen.add(items)
                closers = (text for text, at in self.closers.items() if not self._may_have_argument(at))
                inside = (Alt(*body),) if body else () if group is None else (Alt(*self.starts, *closers),)
                yield from self._openers((*items, *inside), here, has_value=group is None)


def _is_closer(item: object, path: tuple[PathStep, ...]) -> bool:
    """Return whether a marker comes after what it belongs to: no slot follows it in its group."""
    if not isinstance(item, str | Back):
        return False
    for step in reversed(path):
        if any(not isinstance(leaf, str | Back) for leaf in leaves_of(step.row[step.place + 1 :])):
            return False
        if step.group is None or isinstance(step.group, Many | Call):
            break
    return True


def _arguments_of(path: tuple[PathStep, ...]) -> Item | None:
    """Return the innermost group of a call that repeats: that of its arguments."""
    for step in reversed(path):
        if isinstance(step.group, Many):
            return step.group
        if isinstance(step.group, Call):
            return None
    return None


def _is_usual(path: Sequence[PathStep]) -> bool:
    """Return whether a value is read as it usually is, and not as where the marker before it is missing."""
    step = path[-1]
    return step.place > 0 or not isinstance(step.group, Alt) or step.row[0] in rows_of(step.group)[0]


def _before(path: Sequence[PathStep]) -> list[Item]:
    """Return the items that come before the leaf of a path."""
    return [item for step in path for item in step.row[: step.place]]


@lru_cache(maxsize=2048)
def value_ends(grammar: CompiledGrammar, at: States, back: tuple[tuple[str, str], ...]) -> ValueEnds:
    """Return the markers around the values at some positions; `back`: the last slot of each role."""
    return ValueEnds(grammar, at, dict(back))
