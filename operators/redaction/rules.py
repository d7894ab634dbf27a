"""`Rules`: the detectors as one search over a text that may go on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from ...events.errors import UsageError
from .detectors import Detector
from .pattern_analysis import PatternForms, Run, analysed

_Matcher: TypeAlias = Callable[..., "re.Match[str] | None"]
_FIRST: Final = 3
"""So many first characters tell what is suspect."""
NUMBER_TAIL: Final = -2
"""The tail of a number of which a part was redacted, in place of the index of a rule."""
_number_tail: Final = re.compile(r"[0-9.eE+-]*+").match


class Found(NamedTuple):
    """A match in a text: where it is, the index of its rule, and whether its tail may go on behind the text."""

    start: int
    end: int
    rule: int
    is_open: bool


class _Rule(NamedTuple):
    whole: _Matcher
    tail: _Matcher | None
    accepts: Callable[[str], bool | int] | None


class Rules:
    """What is redacted, and what stands in its place.

    The leftmost match counts; of several that begin there, that of the first rule. A text is read from left to right,
    and a place is decided once no further text could change what is matched there.

    >>> rules = rules_of((Detector("b", "b[0-9]{2}"),))
    >>> rules.read("a b12 b", 0, is_whole=False)
    ([Found(start=2, end=5, rule=0, is_open=False)], 6)

    - `shown`: what stands in place of a match, by the rule.
    - `before`: how many characters before a match the patterns look at; `width`: the most characters that wait.
    - `is_cut`: matches at a place that further text may still change. `suspect`: finds in a piece of a text, whatever
      is before it, where a match may begin, or a bit more; None if too much would be suspect.
    """

    __slots__ = ("_heads", "_others", "_rules", "_runs", "_searches", "before", "is_cut", "shown", "suspect", "width")

    def __init__(self, detectors: tuple[Detector, ...]) -> None:
        forms = [analysed(re.compile(each.pattern)) for each in detectors]
        for detector, form in zip(detectors, forms, strict=True):
            if form.tail and detector.accepts is not None:
                message = (
                    f"the detector {detector.name!r} has accepts=, which judges whole matches, and a pattern without "
                    "a bounded width; give its last repetition a limit, such as {8,64}"
                )
                raise UsageError(message)
        self.shown = tuple(f"[redacted:{each.name}]" for each in detectors)
        self.before = max(form.before for form in forms)
        self.width = max(form.width for form in forms)
        self._rules = [
            _Rule(
                re.compile(form.whole).match,
                re.compile(f"(?:{form.tail})*+").match if form.tail else None,
                detector.accepts,
            )
            for detector, form in zip(detectors, forms, strict=True)
        ]
        self.is_cut: Callable[[str, int], Any] = re.compile("|".join(form.cut for form in forms)).match
        kinds = ([form.begun for form in forms if form.is_literal is kind] for kind in (True, False))
        self._searches = [re.compile("|".join(several)).search for several in kinds if several]
        heads: list[PatternForms] = []
        others: list[PatternForms] = []
        self._runs: list[_Run] = []
        for form in forms:
            if form.looks_away and len(form.classes) >= _FIRST < form.least:
                heads.append(form)
            elif form.run is not None:
                self._runs.append(_Run(form.run))
            else:
                others.append(form)
        self._heads = re.compile(_suspicion(heads)).search if heads else None
        self._others = re.compile(_beginning(others)).search if others else None
        self.suspect: Callable[[str], Any] | None = None if self._runs or others else self._heads

    def read(self, text: str, at: int, *, is_whole: bool, most: int = -1) -> tuple[list[Found], int]:
        """Return the matches in a text from `at` on, and the place from which on it is undecided.

        `is_whole`: whether the text ends here, so that all of it is decided. `most`: how many matches are enough. The
        characters before `at` are looked at, and belong to no match.
        """
        found: list[Found] = []
        while (at := self.begin(text, at)) >= 0:
            if (match := self._match(text, at, is_whole=is_whole)) is None:
                return found, at
            if match.end > at:
                found.append(match)
                at = match.end
                if len(found) == most:
                    return found, at
            else:
                at += 1
        return found, len(text)

    def certain_to(self, text: str, at: int) -> int:
        """Return up to where a text is certain to have no match from a place on; -1 if it has one.

        It is what `begin` and `is_cut` say. Most text is told by less: by the first characters of what may begin.
        """
        place = size = len(text)
        is_certain = True
        for run in self._runs:
            start = run.begin(text, at)
            if start < place:
                place, is_certain = max(start, at), start >= 0
        if self._others is not None and (found := self._others(text, at)) is not None and found.start() < place:
            place, is_certain = found.start(), False
        if self._heads is not None and (found := self._heads(text, at)) is not None and found.start() < place:
            place = found.start()
            is_certain = found.end() == size and place >= self.before
        if is_certain or self.is_cut(text, place) is not None:
            return place
        place = self.begin(text, place)
        return size if place < 0 else place if self.is_cut(text, place) is not None else -1

    def begin(self, text: str, at: int) -> int:
        """Return the first place from `at` on where a match is, or may be if the text goes on; -1 if there is none."""
        first = -1
        for search in self._searches:
            found = search(text, at)
            if found is not None and (first < 0 or found.start() < first):
                first = found.start()
        return first

    def tail_end(self, rule: int, text: str, at: int) -> int:
        """Return where the tail of a match ends that goes on at a place."""
        match = _number_tail if rule == NUMBER_TAIL else self._rules[rule].tail
        found = None if match is None else match(text, at)
        return at if found is None else found.end()

    def end_of(self, text: str) -> str:
        """Return the end of a text at which patterns may look behind it."""
        return text[-self.before :] if self.before else ""

    def _match(self, text: str, at: int, *, is_whole: bool) -> Found | None:
        """Return the match at a place, an empty one if there is none; None if the place is undecided."""
        if not is_whole and self.is_cut(text, at) is not None:
            return None
        for number, rule in enumerate(self._rules):
            whole = rule.whole(text, at)
            if whole is None:
                continue
            end = whole.end()
            if rule.accepts is not None:
                accepted: Any = rule.accepts(whole[0])
                end = end if accepted is True else at + int(accepted)
            if end > at:
                is_open = rule.tail is not None and end == len(text) and not is_whole
                return Found(at, end, number, is_open)
        return Found(at, at, -1, is_open=False)


class _Run:
    """A run of one class of characters that a match begins with, before a sign."""

    __slots__ = ("_at_end", "_most", "_of_ascii", "_sign")

    def __init__(self, run: Run) -> None:
        fits = re.compile(run.characters).match
        self._sign = run.sign
        self._most = run.most
        self._of_ascii = "".join(each for each in map(chr, range(128)) if fits(each))
        self._at_end = re.compile(f"{run.characters}++\\Z").search

    def begin(self, text: str, at: int) -> int:
        """Return where the end of a text cuts a match; its end if nowhere, -1 if more has to be looked at."""
        if self._sign in text:
            return -1
        size = len(text)
        if text.isascii():
            start = len(text.rstrip(self._of_ascii))
        else:
            found = self._at_end(text)
            start = size if found is None else found.start()
        return size if start < at else start if size - start < self._most else -1


def _suspicion(forms: Sequence[PatternForms]) -> str:
    """Return a pattern that finds where a match may begin, or a bit more, by the first characters at once."""
    by_look: dict[str, list[tuple[str, ...]]] = {}
    for form in forms:
        by_look.setdefault(form.look, []).append(form.classes[:_FIRST])
    groups: list[str] = []
    for look, heads in by_look.items():
        first, second, third = (_union(head[place] for head in heads) for place in range(_FIRST))
        two, three = ("|".join(dict.fromkeys(map(_behind, (head[:size] for head in heads)))) for size in (2, 3))
        # The look is repeated behind the first character, with which the search finds it fast.
        behind = f"{look[:-1]}{first})" if look.startswith("(?<") else f"(?<={look}{first})"
        groups.append(rf"(?<={first}){behind}(?:\Z|{second}(?:\Z(?:{two})|{third}(?:{three})))")
    first = _union(head[0] for heads in by_look.values() for head in heads)
    return f"{first}(?:{'|'.join(groups)})"


def _behind(classes: Iterable[str]) -> str:
    """Return a pattern that looks for some characters before a place."""
    return f"(?<={''.join(f'[{each}]' for each in classes)})"


def _beginning(forms: Sequence[PatternForms]) -> str:
    """Return a pattern that finds where a match begins, or may begin, and looks only where one of its first is."""
    begun = "|".join(form.begun for form in forms)
    if not all(form.first for form in forms):
        return begun
    return f"{_union(form.first for form in forms)}(?s:(?<=(?={begun}).))"


def _union(classes: Iterable[str]) -> str:
    return f"[{''.join(dict.fromkeys(classes))}]"


@lru_cache(maxsize=64)
def rules_of(detectors: tuple[Detector, ...]) -> Rules:
    """Return the rules of some detectors; equal ones share theirs."""
    return Rules(detectors)
