"""`FieldVerdict`: what is said of one field; `FieldChecker`: says it, from the fragments of one value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

from pydantic import BaseModel

from ...events.segment_event import Fragment, JsonError, Path
from ..engine.state import Stateful
from ..machines.json_values import FragmentAggregator
from ..machines.live_view import LiveEvent
from ..schemas.expected_value import ANYTHING, Expected, Judge, kind_at, kind_of
from ..schemas.schema_validation import validated
from ..schemas.strict_schema import without_nulls

T = TypeVar("T")
Whole: TypeAlias = Callable[[Any], Any]
"""Returns what the whole is judged by: the arguments, or the source text."""

_FAR: Final = 1024
"""The most characters between a fragment and a number, or of a number, that are looked at before it is whole."""
_BEGUN: Final = r'(?:"((?:[^"\\]|\\.)*+)"\s*+:\s*+)?([tfn]|-?[0-9]*+(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]*+)?+)'
"""A key, and the beginning of a number or a word."""
_match_first: Final = re.compile(rf"[\[{{]?\s*+{_BEGUN}", re.DOTALL).match
_match_next: Final = re.compile(rf'["\]}}]?\s*+,\s*+{_BEGUN}', re.DOTALL).match
_match_number: Final = re.compile(r"-?[0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]*+)?+").match


class FieldVerdict(LiveEvent, Generic[T], frozen=True, gc=False, eq=False):
    """What `validate` says of one field: that it has closed, or that it cannot validate whatever follows.

    Two events are equal if all their attributes except `closed` are equal.

    - `tool_name`: the tool of the call; empty for an answer. `path`: the field, `()` for the whole.
    - `is_valid`; if not, `errors` has pydantic's, or those of the JSON Schema, with `loc` from the root on.
    - `is_early`: the field has not closed; the error is certain all the same.
    - `closed`: the fields that have closed and are valid, as they are now: of a pydantic model an instance that has
      these only, so that another one is an `AttributeError`; else a dict. At the end it is the whole value.
    """

    segment_id: str
    turn_id: str | None
    tool_name: str
    path: Path
    is_valid: bool
    is_early: bool
    errors: tuple[dict[str, Any], ...]
    closed: T


class Wanted:
    """What a call or an answer is to be.

    - `judge`: returns the validated whole of plain arguments, or of the JSON text of an answer.
    - `parameters`: the JSON Schema by which nulls of optional parameters count as not given; None if they do not.
    """

    __slots__ = ("_made_by", "judge", "model", "names", "parameters", "root")

    def __init__(
        self,
        made_by: tuple[Callable[..., Wanted | None], tuple[Any, ...]],
        root: Expected,
        judge: Callable[[Any], Any],
        model: Any,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        self._made_by = made_by
        self.root = root
        self.judge = judge
        self.parameters = parameters
        self.model = model if isinstance(model, type) and issubclass(model, BaseModel) else None
        fields = {} if self.model is None else self.model.model_fields
        self.names = {
            each.validation_alias if isinstance(each.validation_alias, str) else name: name
            for name, each in fields.items()
        }
        """The names of the model's fields by those that they come under."""

    def __reduce__(self) -> tuple[Callable[..., Wanted | None], tuple[Any, ...]]:
        return self._made_by

    def empty(self) -> Any:
        """Return what no field has closed of."""
        if self.model is None:
            return {}
        instance = self.model.__new__(self.model)
        object.__setattr__(instance, "__dict__", {})
        object.__setattr__(instance, "__pydantic_fields_set__", set[str]())
        for name in ("__pydantic_extra__", "__pydantic_private__"):
            object.__setattr__(instance, name, None)
        return instance

    def put(self, closed: Any, key: str, value: Any) -> None:
        """Note the value of a field."""
        if self.model is None:
            closed[key] = value
        elif key in self.names:
            name = self.names[key]
            closed.__dict__[name] = value
            closed.__pydantic_fields_set__.add(name)


class FieldChecker(Stateful):
    """Checks the fragments of one value against what is wanted."""

    STATE = (
        "_begun",
        "_in_text",
        "_is_behind",
        "_is_lost",
        "_last_at",
        "_length",
        "_of",
        "_seen",
        "_steps",
        "_tail",
        "_valid",
        "doubled",
        "values",
    )

    def __init__(self, wanted: Wanted, segment_id: str, turn_id: str | None, name: str) -> None:
        self._wanted = wanted
        self._of = segment_id, turn_id, name
        self.values = FragmentAggregator()
        self._nodes: list[Expected] = []
        """What is wanted of the open containers, from the outside in."""
        self._steps: list[str | int] = []
        """The keys and indexes of the open containers; the root has none."""
        self._seen: list[dict[str, None] | int] = []
        """Of each open object the keys that have come, of each open array how many items."""
        self._text: Expected | None = None
        """What is wanted of the open string."""
        self._in_text: Path | None = None
        """Its path."""
        self._length = 0
        """The characters of it that have come."""
        self._begun = ""
        """Its text, where only some words may come."""
        self._last_at = 0
        """The offset of the last fragment."""
        self._is_behind = False
        """Whether that was the end of a value."""
        self._tail = ""
        """The source text from there on, as far as it is looked at."""
        self._is_lost = False
        """Whether a contradiction has been told."""
        self._valid: list[str] = []
        """The keys of the fields in `_closed`."""
        self._closed: Any = wanted.empty()
        self.doubled: JsonError | None = None
        """The first key that came twice."""

    def read(self, pieces: Sequence[Fragment], text: str, end: int, whole: Whole) -> list[FieldVerdict[Any]]:
        """Return the verdicts of some fragments and of the source text that they are in, which ends at an offset."""
        if len(pieces) == 1 and pieces[0].kind == "TEXT" and (node := self._text) is not None and not node.words:
            piece = pieces[0].value
            length = self._length = self._length + len(piece)
            if node.longest is None or length <= node.longest or self._is_lost:
                self.values.text.add(piece)
                return []
            self._length -= len(piece)
        told: list[FieldVerdict[Any]] = []
        source = self._tail + text if text else ""
        for piece in pieces:
            kind = piece.kind
            if kind == "TEXT":
                self.values.text.add(piece.value)
                if self._text is not None and self._text.reads_text and not self._is_lost:
                    self._read_text(self._text, piece, told)
            elif kind == "DONE":
                self._close(piece, whole, told)
            else:
                self._open(piece, source, len(source) + piece.at - end, told)
            self._last_at, self._is_behind = piece.at, kind == "DONE"
        if text and not self._is_lost and self._in_text is None and self._keep_tail(text, end):
            self._look_ahead(told)
        return told

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._nodes = [self._wanted.root] if self._seen else []
        for step in self._steps:
            self._nodes.append(self._nodes[-1].at(step))
        if self._in_text is not None:
            self._text = self._nodes[-1].at(self._in_text[-1]) if self._in_text else self._wanted.root
        self._closed = self._wanted.empty()
        for key in self._valid:
            self._judge(self._wanted.root.at(key), (key,), self.values.value[key])

    def _open(self, piece: Fragment, source: str, position: int, told: list[FieldVerdict[Any]]) -> None:
        """Read the beginning of a value, or a scalar; `position`: where it begins in the source text, if known."""
        path, is_scalar = piece.path, piece.kind == "SCALAR"
        kind = kind_of(piece.value) if is_scalar else kind_at(piece.value)
        node = self._wanted.root
        if path:
            around, step = self._nodes[-1], path[-1]
            node = around.at(step)
            self._look_at(around, path, told)
            seen = self._seen[-1]
            if isinstance(seen, dict):
                seen[cast("str", step)] = None
            else:
                self._seen[-1] = seen + 1
        self.values.feed(piece)
        self._look_at_kind(node, kind, path, told)
        if is_scalar:
            is_seen = source and position >= 0 and not self._is_lost and piece.at - self._last_at <= _FAR
            if kind == "number" and is_seen and (number := _match_number(source, position)) is not None:
                self._look_at_number(node, number[0], path, told)
            return
        if kind == "string":
            self._text, self._in_text, self._length, self._begun = node, path, 0, ""
            return
        self._nodes.append(node)
        self._steps += path[-1:]
        self._seen.append({} if kind == "object" else 0)

    def _close(self, piece: Fragment, whole: Whole, told: list[FieldVerdict[Any]]) -> None:
        """Read the end of a value."""
        path = piece.path
        self.values.feed(piece)
        if self._in_text is not None:
            node = self._text or ANYTHING
            self._text = self._in_text = None
        elif len(path) == len(self._nodes) - 1:
            node = self._nodes.pop()
            self._steps = self._steps[:-1]
            self._seen.pop()
        else:
            node = self._nodes[-1].at(path[-1]) if path else self._wanted.root
        value = self.values.value
        if not path:
            self._judge_whole(whole(value), told)
            return
        if node.judge is None:
            return
        for step in path:
            value = value[step]
        if isinstance(path[-1], str) or type(value) is dict:
            errors = self._judge(node, path, value)
            if errors is not None:
                self._tell(path, [{**each, "loc": (*path, *each["loc"])} for each in errors], told)

    def _judge(self, node: Expected, path: Path, value: Any) -> list[dict[str, Any]] | None:
        """Return the errors of a field, and keep the value of a valid one; None if nothing can be said of it."""
        parameters = self._wanted.parameters
        key = path[0] if len(path) == 1 and isinstance(path[0], str) else None
        if parameters is not None and key is not None:
            given: dict[str, Any] = without_nulls({key: value}, parameters)
            if key not in given:
                return None  # it counts as not given
            value = given[key]
        kept, errors = validated(cast("Judge", node.judge), value)
        if errors is None:
            if key is not None:
                self._wanted.put(self._closed, key, kept)
                if key not in self._valid:
                    self._valid.append(key)
            return []
        has_null = parameters is not None and key is None and "null" in json.dumps(value)
        return None if has_null else errors

    def _judge_whole(self, given: Any, told: list[FieldVerdict[Any]]) -> None:
        errors: list[dict[str, Any]] | None
        if self.doubled is not None:
            errors = [_doubled(self.doubled)]
        else:
            kept, errors = validated(self._wanted.judge, given)
            if errors is None and kept is not None:
                self._closed = kept
        self._tell((), errors or [], told)

    def _tell(
        self, path: Path, errors: Sequence[dict[str, Any]], told: list[FieldVerdict[Any]], *, is_early: bool = False
    ) -> None:
        told.append(FieldVerdict(*self._of, path, not errors, is_early, tuple(errors), self._closed))

    def _contradict(self, path: Path, kind: str, message: str, told: list[FieldVerdict[Any]]) -> None:
        if not self._is_lost:
            self._is_lost = True
            self._tell(path, [{"type": kind, "loc": path, "msg": message}], told, is_early=True)

    def _look_at(self, around: Expected, path: Path, told: list[FieldVerdict[Any]]) -> None:
        """Look at the key or the index of a value that begins."""
        step, seen = path[-1], self._seen[-1]
        if isinstance(step, str):
            if isinstance(seen, dict) and step in seen and self.doubled is None:
                self.doubled = JsonError("duplicate_key", 0, "a key that is not there yet", step, path)
                self._contradict(path, "duplicate_key", _doubled(self.doubled)["msg"], told)
            if around.keys is not None and step not in around.keys:
                self._contradict(path, "extra_forbidden", "extra inputs are not permitted", told)
        elif around.most is not None and step >= around.most:
            message = f"the array should have at most {around.most} items"
            self._contradict(path[:-1], "too_long", message, told)

    def _look_at_kind(self, node: Expected, kind: str, path: Path, told: list[FieldVerdict[Any]]) -> None:
        if kind not in node.kinds and not (kind == "null" and self._wanted.parameters is not None):
            wanted = " or ".join(sorted(node.kinds))
            self._contradict(path, "type", f"the value should be of type {wanted}, and begins as {kind}", told)

    def _read_text(self, node: Expected, piece: Fragment, told: list[FieldVerdict[Any]]) -> None:
        self._length += len(piece.value)
        if node.longest is not None and self._length > node.longest:
            message = f"the text should have at most {node.longest} characters"
            self._contradict(piece.path, "string_too_long", message, told)
        if node.words:
            self._begun += piece.value
            if not node.may_begin(self._begun):
                words = ", ".join(map(repr, node.words))
                self._contradict(piece.path, "enum", f"the text should be one of {words}", told)

    def _keep_tail(self, text: str, end: int) -> bool:
        """Keep the source text behind the last fragment; return whether there is more of it to look at."""
        behind = end - self._last_at
        if behind >= len(self._tail) + len(text):
            had = len(self._tail)
            self._tail = (self._tail + text)[: 2 * _FAR]
            return had < 2 * _FAR
        self._tail = text[max(len(text) - behind, 0) :][: 2 * _FAR]
        return True

    def _look_ahead(self, told: list[FieldVerdict[Any]]) -> None:
        """Look at a key without a value, and at the beginning of a number or a word."""
        found = (_match_next if self._is_behind else _match_first)(self._tail)
        if found is None or found.start(2) > _FAR:
            return
        key, begun = found.groups()
        path: Path = ()
        node = self._wanted.root
        if self._nodes:
            step = self._next_step(key, begun)
            if step is None:
                return
            path = (*self._steps, step)
            self._look_at(self._nodes[-1], path, told)
            node = self._nodes[-1].at(step)
        elif self.values.done or key is not None:
            return
        if begun:
            self._look_at_kind(node, kind_at(begun[0]), path, told)
            self._look_at_number(node, begun, path, told)

    def _next_step(self, key: str | None, begun: str) -> str | int | None:
        """Return the key, or the index, of what comes in the open container; None if that is not certain."""
        seen = self._seen[-1]
        if not isinstance(seen, dict):
            return seen if begun and key is None else None
        try:
            return None if key is None else cast("str", json.loads(f'"{key}"'))
        except ValueError:  # which the machine finds, too
            return None

    def _look_at_number(self, node: Expected, begun: str, path: Path, told: list[FieldVerdict[Any]]) -> None:
        if kind_at(begun[0]) == "number" and not node.may_count(begun[:_FAR]):
            self._contradict(path, "out_of_range", "the number cannot come back into its range", told)


def _doubled(error: JsonError) -> dict[str, Any]:
    return {"type": "duplicate_key", "loc": error.path, "msg": f"the key {error.found!r} came twice"}
