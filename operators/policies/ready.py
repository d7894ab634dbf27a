"""Policies for `guard`: each says what a call or an answer must not do.

A policy of your own is an object with a `name` and any of the methods that those here have: `judge_call(tool, number)`,
`judge_field(field)`, `judge_verdict(verdict)`, `judge_text()` and `judge_answer()`; the first three return what is
wrong, or None. `judge_field` and `judge_text` look at the arguments that `tool` and `fields` name, all without them;
`holds` says what is held back until they have judged.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from os import PathLike, fspath
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import force_setattr

from ...events.errors import UsageError
from ...events.segment_event import Path
from ..calls.field_checker import FieldVerdict
from ..engine.state import Stateful
from ..machines.json_values import read_path
from ..machines.streamed_pattern import PatternMatch, StreamedPattern

Holds: TypeAlias = Literal["nothing", "field", "call"]
"""What is held back until a policy has judged it: the field, or the whole call, from its START on."""

PATH_FIELDS: Final = (
    *("path", "file_path", "filePath", "filename", "target_file", "TargetFile", "notebook_path", "target_notebook"),
    *("directory", "dir", "cwd", "workdir", "working_dir", "absolute_path", "dir_path", "scriptPath", "files[*].path"),
    *("old_path", "new_path", "source", "destination"),
)
"""The arguments in which agents' tools have paths."""


class ClosedField(Struct, frozen=True):
    """A value in the arguments of a call that has come as a whole.

    >>> ClosedField("write_file", ("path",), "a.py", "call_1").value
    'a.py'
    """

    tool_name: str
    path: Path
    value: Any
    segment_id: str
    turn_id: str | None = None


class Policy(Protocol):
    """What `guard` takes: an object with a name, and with one of the methods of those here."""

    @property
    def name(self) -> str: ...


FieldFunction: TypeAlias = Callable[[ClosedField], str | Awaitable[str | None] | None]
"""Returns what is wrong with a field, or None."""


class Judge(Protocol):
    """Judges one text while it arrives; `why` says what is wrong with one that fails."""

    @property
    def why(self) -> str: ...
    def read(self, text: str, /) -> int | None:
        """Return where a further piece of the text makes it wrong for certain; None if it does not."""
        ...

    def ends_wrong(self) -> bool:
        """Return whether the text is wrong if it ends here."""
        ...

    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...


class AllowedTools(Struct, frozen=True):
    """Only these tools may be called.

    >>> AllowedTools(["read", "search"]).judge_call("rm", 1)
    "'rm' is not among read, search"
    """

    names: Sequence[str]
    name: str = "allowed_tools"

    def __post_init__(self) -> None:
        force_setattr(self, "names", _texts(self.names, "AllowedTools", "the names of tools"))

    def judge_call(self, tool: str, _: int) -> str | None:
        """Return what is wrong with a call."""
        return None if tool in self.names else f"{tool!r} is not among {', '.join(self.names) or 'none'}"


class CallCount(Struct, frozen=True):
    """An answer may have so many calls.

    >>> CallCount(2).judge_call("read", 3)
    'the answer may have 2 calls'
    """

    most: int
    name: str = "call_count"

    def __post_init__(self) -> None:
        _check_count("CallCount", self.most, least=0)

    def judge_call(self, _: str, number: int) -> str | None:
        """Return what is wrong with a call."""
        return f"the answer may have {self.most} calls" if number > self.most else None


class InsideRoot(Struct, frozen=True):
    """A path in an argument must be inside a folder; it is judged by its text, so that links are not followed.

    >>> policy = InsideRoot("/work")
    >>> policy.judge_field(ClosedField("read", ("path",), "../etc/passwd", "c"))
    "'../etc/passwd' is not inside /work"

    Relative paths count from the folder. A `~`, a drive letter, a `file:` and a backslash that leads out are outside.
    Blanks around a path are not counted. Paths within the text of a patch are not looked at.
    """

    root: str | PathLike[str]
    fields: Sequence[str] = PATH_FIELDS
    tool: str | None = None
    holds: Holds = "nothing"
    name: str = "inside_root"

    def __post_init__(self) -> None:
        root = fspath(self.root)
        if not root:
            message = "InsideRoot needs a folder, such as InsideRoot('/work')"
            raise UsageError(message)
        force_setattr(self, "root", root)
        _check_fields(self, "InsideRoot")

    def judge_field(self, field: ClosedField) -> str | None:
        """Return what is wrong with an argument."""
        value = field.value
        if not isinstance(value, str):
            return None if value is None else f"{value!r} is not a path"
        root = str(self.root).replace("\\", "/").rstrip("/")
        path = value.strip().replace("\\", "/")  # some tools take blanks away
        if path == root or path.startswith(f"{root}/"):
            path = path[len(root) :].lstrip("/")
        elif path.startswith(("/", "~")) or _match_drive_or_url(path):
            return f"{value!r} is not inside {self.root}"
        depth = 0
        for step in path.split("/"):
            depth += -1 if step == ".." else step not in ("", ".")
            if depth < 0:
                return f"{value!r} is not inside {self.root}"
        return None


class FieldPattern(Struct, frozen=True):
    r"""A text in an argument must not have a match of `denied`, or must match `allowed` as a whole.

    >>> FieldPattern(denied=r"rm +-r", fields=["command"]).judge_text().read("cd / && rm -r")
    12
    >>> FieldPattern(allowed=r"[a-z_/]+\.py", fields=["path"]).judge_text().read("src/A.py")
    4

    The patterns are those of `re`, without looking around and referring to groups, and are matched while the text
    arrives. Without `fields` it is each text in the arguments; for `denied` the answer and the reasoning, too. Only
    texts are looked at.
    """

    denied: str | re.Pattern[str] | None = None
    allowed: str | re.Pattern[str] | None = None
    fields: Sequence[str] | None = None
    tool: str | None = None
    holds: Holds = "nothing"
    name: str = "field_pattern"

    def __post_init__(self) -> None:
        if (self.denied is None) is (self.allowed is None):
            message = "FieldPattern needs either denied= or allowed=, a regular expression"
            raise UsageError(message)
        _check_fields(self, "FieldPattern")
        self.judge_text()

    def judge_text(self) -> Judge:
        """Return what judges one text."""
        return _PatternJudge(_streamed(self.denied, self.allowed), is_allowed=self.denied is None)

    @property
    def reads_answers(self) -> bool:
        """Whether the text of the answer is judged, too."""
        return self.fields is None and self.tool is None and self.denied is not None


class FieldSize(Struct, frozen=True):
    """A text in an argument may have so many characters.

    >>> FieldSize(3, fields=["title"]).judge_text().read("Milch")
    3
    """

    most: int
    fields: Sequence[str] | None = None
    tool: str | None = None
    holds: Holds = "nothing"
    name: str = "field_size"

    def __post_init__(self) -> None:
        _check_count("FieldSize", self.most, least=0)
        _check_fields(self, "FieldSize")

    def judge_text(self) -> Judge:
        """Return what judges one text."""
        return _SizeJudge(self.most, f"the text may have {self.most} characters")


class AnswerSize(Struct, frozen=True):
    """An answer may have so many characters, or tokens: of all that the model writes, calls and reasoning among it.

    >>> AnswerSize(tokens=2, count=len).judge_answer().read("one two three")
    3

    `count` returns the tokens of a word with the white space before it; without it, four characters count as one.
    """

    characters: int | None = None
    tokens: int | None = None
    count: Callable[[str], int] | None = None
    name: str = "answer_size"

    def __post_init__(self) -> None:
        if (self.characters is None) is (self.tokens is None):
            message = "AnswerSize needs either characters= or tokens="
            raise UsageError(message)
        if self.count is not None and self.tokens is None:
            message = "count= of AnswerSize counts tokens; pass tokens=, too"
            raise UsageError(message)
        _check_count("AnswerSize", self.characters if self.tokens is None else self.tokens, least=1)

    def judge_answer(self) -> Judge:
        """Return what judges one answer."""
        if self.tokens is None:
            return _SizeJudge(self.characters or 0, f"the answer may have {self.characters} characters")
        if self.count is None:
            return _SizeJudge(4 * self.tokens, f"the answer may have {self.tokens} tokens, of about 4 characters each")
        return _TokenJudge(self.tokens, self.count)


class ValidCalls(Struct, frozen=True):
    """A call must fit its tool: it ends with the first verdict of `validate` that says it does not.

    >>> ValidCalls().judge_verdict(FieldVerdict("c", None, "add", ("a",), False, True, ({"msg": "no int"},), {}))
    'a: no int'
    """

    name: str = "valid_calls"

    def judge_verdict(self, verdict: FieldVerdict[Any]) -> str | None:
        """Return what is wrong with a field."""
        if verdict.is_valid:
            return None
        where = ".".join(map(str, verdict.path))
        return f"{where}: {verdict.errors[0]['msg']}" if where else str(verdict.errors[0]["msg"])


class FieldsJudgedBy(Struct, frozen=True):
    """A function of yours sees each field when it closes, and returns what is wrong, or None.

    >>> def no_drafts(field): return "a draft" if "draft" in str(field.value) else None
    >>> FieldsJudgedBy(no_drafts, fields=["path"]).judge_field(ClosedField("write", ("path",), "draft.md", "c"))
    'a draft'

    Fields are all values of objects, also within others. An async function is awaited before the stream goes on; it
    works in `Pipeline.astream` only.
    """

    function: FieldFunction
    fields: Sequence[str] | None = None
    tool: str | None = None
    holds: Holds = "nothing"

    def __post_init__(self) -> None:
        if not callable(self.function):
            message = f"FieldsJudgedBy needs a function of a field; got {self.function!r}"
            raise UsageError(message)
        _check_fields(self, "FieldsJudgedBy")

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def judge_field(self) -> FieldFunction:
        """The function."""
        return self.function


_match_drive_or_url: Final = re.compile(r"(?i:[a-z]|file):").match
_find_units: Final = re.compile(r"\s{256}|\s{0,255}(?:\S{256}|\S+(?=\s))").finditer
"""A word with the white space before it, once its end has come; of what is longer, pieces."""


@lru_cache(256)
def _streamed(denied: str | re.Pattern[str] | None, allowed: str | re.Pattern[str] | None) -> StreamedPattern:
    return StreamedPattern(denied) if denied is not None else StreamedPattern(allowed or "", whole=True)


class _PatternJudge:
    __slots__ = ("_is_allowed", "_match", "read", "why")

    def __init__(self, pattern: StreamedPattern, *, is_allowed: bool) -> None:
        self._is_allowed = is_allowed
        self._match = PatternMatch(pattern)
        self.read = self._match.read
        says = "does not match" if is_allowed else "has a match of"
        self.why = f"the text {says} {pattern.source}"

    def ends_wrong(self) -> bool:
        return self._match.ends() is not self._is_allowed

    def dump(self) -> list[int]:
        return self._match.dump()

    def load(self, state: list[int], /) -> None:
        self._match.load(state)


class _SizeJudge:
    __slots__ = ("_most", "_size", "why")

    def __init__(self, most: int, why: str) -> None:
        self._most = most
        self._size = 0
        self.why = why

    def read(self, text: str) -> int | None:
        before = self._size
        self._size = before + len(text)
        return None if self._size <= self._most or not text else max(self._most - before, 0)

    def ends_wrong(self) -> bool:
        return False

    def dump(self) -> int:
        return self._size

    def load(self, state: int, /) -> None:
        self._size = state


class _TokenJudge(Stateful):
    STATE = ("_begun", "_left")

    def __init__(self, most: int, count: Callable[[str], int]) -> None:
        self._left = most
        self._count = count
        self._begun = ""
        """The text behind the last unit that was counted."""
        self.why = f"the answer may have {most} tokens"

    def read(self, text: str) -> int | None:
        whole = self._begun + text
        end = 0
        for unit in _find_units(whole):
            end = unit.end()
            self._left -= self._count(unit[0])
            if self._left < 0:
                return max(end - len(self._begun), 0)
        self._begun = whole[end:]
        return None

    def ends_wrong(self) -> bool:
        return False


def _texts(given: Any, name: str, what: str) -> tuple[str, ...]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        message = f"{name} needs {what} in a list, got {given!r}"
        raise UsageError(message)
    texts: tuple[Any, ...] = tuple(given)
    if wrong := [each for each in texts if not isinstance(each, str)]:
        message = f"{name} needs {what} in a list, got {wrong[0]!r} in it"
        raise UsageError(message)
    return texts


def _check_fields(policy: Any, name: str) -> None:
    if policy.fields is not None:
        force_setattr(policy, "fields", _texts(policy.fields, name, "the names of arguments"))
        for each in policy.fields:
            read_path(each)
    if policy.holds not in get_args(Holds):
        message = f"holds= must be one of {', '.join(map(repr, get_args(Holds)))}, got {policy.holds!r}"
        raise UsageError(message)


def _check_count(name: str, given: Any, *, least: int) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        message = f"{name} needs a whole number of at least {least}, got {given!r}"
        raise UsageError(message)
