"""`GuardedCall`: one open call, with what policies say of its text and its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import iscoroutinefunction
from types import EllipsisType
from typing import Any, NamedTuple, TypeAlias, cast

from msgspec.structs import replace

from ...events.errors import UsageError
from ...events.segment_event import AnySegmentEvent, Fragment, Path, SegmentStart
from ..calls.call_arguments import CallArguments
from ..calls.field_checker import FieldVerdict
from ..calls.field_spec import Specs
from ..engine.limits import Limits
from ..machines.json_values import FieldPath, FragmentAggregator, read_path
from .ready import ClosedField, FieldFunction, FieldsJudgedBy, Judge


class Rule(NamedTuple):
    """A policy, taken apart."""

    number: int
    name: str
    tool: str | None
    fields: tuple[FieldPath, ...] | None
    holds: str
    reads_answers: bool
    asks: bool
    """Whether `judge_field` is async."""
    judge_call: Callable[[str, int], str | None] | None
    judge_field: Callable[[ClosedField], Any] | None
    judge_verdict: Callable[[FieldVerdict[Any]], str | None] | None
    judge_text: Callable[[], Judge] | None
    judge_answer: Callable[[], Judge] | None

    def is_for(self, tool: str) -> bool:
        """Return whether it looks into a call; into one whose name has yet to come, it does."""
        is_one = self.tool is None or not tool or self.tool.casefold() == tool.casefold()
        return is_one and (self.judge_field is not None or self.judge_text is not None)

    def looks_at(self, path: Path) -> bool:
        return self.fields is None or any(_is_at(path, each) for each in self.fields)

    def looks_into(self, path: Path) -> bool:
        """Return whether it looks at a value, or at one around it."""
        return self.fields is None or any(_is_at(path[: len(each)], each) for each in self.fields)

    @property
    def is_settled_by_one(self) -> bool:
        """Whether it has seen all once one field has closed."""
        return self.fields is not None and len(self.fields) == 1 and not any(each is ... for each in self.fields[0])


_METHODS = ("judge_call", "judge_field", "judge_verdict", "judge_text", "judge_answer")


def rule_of(number: int, policy: Any) -> Rule:
    if callable(policy) and not isinstance(policy, type) and not any(hasattr(policy, each) for each in _METHODS):
        policy = FieldsJudgedBy(cast("FieldFunction", policy))
    methods: Any = [getattr(policy, each, None) for each in _METHODS]
    name: Any = getattr(policy, "name", None)
    if isinstance(policy, type) or not isinstance(name, str) or not any(methods):
        message = (
            f"guard(...) takes policies of penstock.operators.policies, objects with a name and a method such as "
            f"judge_field(field), and functions of a ClosedField; got {policy!r}"
        )
        raise UsageError(message)
    given = getattr(policy, "fields", None)
    paths = None if given is None else tuple(map(read_path, given))
    tool, holds, reads_answers = (getattr(policy, each, None) for each in ("tool", "holds", "reads_answers"))
    asks = _is_async(getattr(policy, "judge_field", None))
    return Rule(number, name, tool, paths, holds or "nothing", bool(reads_answers), asks, *methods)


def _is_async(function: Any) -> bool:
    """Return whether a function is async, or an object that is called as one."""
    call: Any = getattr(function, "__call__", None)  # noqa: B004 - it is looked at, not called
    return iscoroutinefunction(function) or iscoroutinefunction(call)


def _is_at(path: Path, wanted: Sequence[str | int | EllipsisType]) -> bool:
    return len(path) == len(wanted) and all(b is ... or a == b for a, b in zip(path, wanted, strict=True))


class Hit(NamedTuple):
    """What a policy forbids."""

    rule: Rule
    why: str
    path: Path = ()


class Question(NamedTuple):
    """What a policy has yet to say."""

    rule: Rule
    field: ClosedField


Found: TypeAlias = "list[Hit | Question]"


class JudgedText:
    """A text that a policy judges while it arrives."""

    __slots__ = ("judge", "rule")

    def __init__(self, rule: Rule, judge: Judge) -> None:
        self.rule = rule
        self.judge = judge

    def dump(self) -> Any:
        return [self.rule.number, self.judge.dump()]

    def load(self, state: Any, /) -> None:
        self.judge.load(state[1])


def first_hit(judged: Iterable[JudgedText], text: str, path: Path = ()) -> tuple[int, Hit] | None:
    """Return where a policy forbids a piece of text first, and what it says; each of them reads it."""
    first: tuple[int, Hit] | None = None
    for each in judged:
        at = each.judge.read(text)
        if at is not None and (first is None or at < first[0]):
            first = at, Hit(each.rule, each.judge.why, path)
    return first


class GuardedCall(CallArguments):
    """One open call."""

    STATE = (*CallArguments.STATE, "_collects", "_texts", "_values", "has_name", "held", "number", "waiting")
    __slots__ = ("_collects", "_of_guard", "_texts", "_values", "has_name", "held", "number", "rules", "waiting")

    def __init__(
        self, start: SegmentStart, name: str, specs: Specs, limits: Limits, of_guard: Sequence[Rule], number: int = 0
    ) -> None:
        super().__init__(start, name, specs, limits)
        self._of_guard = of_guard
        self.number = number
        self.has_name = False
        """Whether its name has been judged."""
        self._texts: list[JudgedText] = []
        """What judges the open string."""
        self.rules: list[Rule] = [each for each in of_guard if each.is_for(name)]
        self._values = FragmentAggregator() if any(each.judge_field for each in self.rules) else None
        self._collects = False
        """Whether the value of the open string is wanted."""
        self.waiting = {each.number for each in self.rules if each.holds == "call"}
        """The policies that hold back what comes."""
        self.held: list[AnySegmentEvent] = []

    @property
    def identity(self) -> tuple[str | None, str]:
        return self.turn_id, self.segment_id

    @property
    def reads_text(self) -> bool:
        """Whether the text of the open string is looked at."""
        return bool(self._texts) or self._collects

    @property
    def only_judged(self) -> JudgedText | None:
        """What judges the open string, if it is one policy and nothing else looks at the string."""
        return None if self._collects or len(self._texts) != 1 else self._texts[0]

    def read(self, pieces: Sequence[Fragment]) -> Found:
        """Return what a policy forbids in further pieces, behind what others have yet to say."""
        found: Found = []
        for piece in pieces:
            if piece.kind == "TEXT":
                if self._collects and self._values is not None:
                    self._values.text.add(piece.value)
                if self._texts and (hit := first_hit(self._texts, piece.value, piece.path)) is not None:
                    return [*found, hit[1]]
            elif piece.kind != "DONE":
                self._open(piece)
            elif self._close(piece, found):
                return found
        return found

    def load(self, state: Any, /) -> None:
        super().load(state)
        self.rules = [each for each in self._of_guard if each.is_for(self.name)]

    def new_part(self, name: str, state: Any, /) -> Any:
        """Return what judges the open string, or what an attribute of all calls has."""
        if name == "_texts":
            return judged_by(self._of_guard, state[0])
        return FragmentAggregator() if name == "_values" else super().new_part(name, state)

    def _is_wanted(self, path: Path | None) -> bool:
        return path is not None and any(each.judge_field and each.looks_into(path) for each in self.rules)

    def _open(self, piece: Fragment) -> None:
        path = piece.path
        if self._values is not None:
            self._values.feed(piece)
        if not path:
            return
        if piece.value == '"' and piece.kind == "OPEN":
            self._texts = [
                judged_by(self._of_guard, each.number) for each in self.rules if each.judge_text and each.looks_at(path)
            ]
            self._collects = self._is_wanted(path)
        self.waiting |= {each.number for each in self.rules if each.holds == "field" and each.looks_at(path)}

    def _close(self, piece: Fragment, found: Found) -> bool:
        """Add what policies say of a value that has closed; return whether one forbids it."""
        path = piece.path
        if self._values is not None:
            self._values.feed(piece)
        texts, self._texts, self._collects = self._texts, [], False
        if wrong := next((each for each in texts if each.judge.ends_wrong()), None):
            found.append(Hit(wrong.rule, wrong.judge.why, path))
            return True
        for rule in self.rules if path else ():
            if not rule.looks_at(path):
                continue
            if rule.judge_field is not None and (rule.fields is not None or isinstance(path[-1], str)):
                field = ClosedField(self.name, path, self._value_at(path), self.segment_id, self.turn_id)
                if rule.asks:
                    found.append(Question(rule, field))
                    continue
                why = rule.judge_field(field)
                if why is not None:
                    found.append(Hit(rule, why, path))
                    return True
            self.let_go(rule)
        return False

    def let_go(self, rule: Rule) -> None:
        """Hold nothing back any more for a policy that has judged a field."""
        if rule.holds == "field" or rule.is_settled_by_one:
            self.waiting.discard(rule.number)

    def released(self) -> list[AnySegmentEvent]:
        """Return what was held, unless a policy holds it back."""
        if self.waiting:
            return []
        events, self.held = self.held, []
        return events

    def first_shown(self, event: AnySegmentEvent | None) -> list[SegmentStart]:
        """Return the START, without its source text, if it is held or only comes with this event."""
        first = self.held[0] if self.held else event
        return [replace(first, raw="", fragments=())] if type(first) is SegmentStart else []

    def _value_at(self, path: Path) -> Any:
        value: Any = None if self._values is None else self._values.value
        for step in path:
            value = value[step]
        return value


def judged_by(rules: Sequence[Rule], number: int) -> JudgedText:
    rule = rules[number]
    return JudgedText(rule, cast("Callable[[], Judge]", rule.judge_text or rule.judge_answer)())
