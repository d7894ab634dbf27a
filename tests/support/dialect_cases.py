"""Cases of other parsers' suites, run through `parse_text` and read back in the cases' words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from answered import before_the_end
from msgspec.structs import replace

from penstock.events import SegmentEnd, SegmentStart
from penstock.events.segment_event import Fragment, JsonError, SegmentEvent
from penstock.events.tool_invocation import Notice
from penstock.operators.catalogue import DIALECTS
from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.engine.stage import Completed, stage
from penstock.operators.grammar.dialect import Alt, CallArgs, Dialect, Item, Many, Maybe, Text
from penstock.operators.grammar.dialect import Call as Group
from penstock.operators.machines.json_machine import JsonMachine
from penstock.operators.machines.json_values import FragmentAggregator
from penstock.operators.parse_text import parse_text
from penstock.operators.whole_calls import whole_calls

Case: TypeAlias = dict[str, Any]

OURS = frozenset(("content", "reasoning", "calls", "calls.name", "calls.arguments", "n_calls"))
"""What a case can say that is for us to keep; the rest is of the peer's own interface."""


class Row(NamedTuple):
    """How one peer's cases of one dialect are run and compared."""

    options: Mapping[str, Any] = MappingProxyType({})
    """Of `parse_text`."""
    dialects: tuple[str | Dialect, ...] = ()
    """The file's own where none are named."""
    prompts: Mapping[str, str] = MappingProxyType({})
    """Chat template -> what its prompt ends with where thinking is not switched off: the peer reads that, too."""
    opened: tuple[str, str] | None = None
    """A pair of markers of which the prompt has the opener, where the text has the closer with no opener before it."""
    starts: Literal["never", "always", "asked", "text", "expected"] = "never"
    """When the prompt has opened the reasoning: when the case asks for thinking; by its text, which has a closer with
    no opener before it; or when the case expects some, because its peer's test asks for thinking just then."""
    parsers: Mapping[str, bool] = MappingProxyType({})
    """The peer's test function -> whether what it tests is a parser for thinking, where `params` do not say."""
    content: Literal["exact", "trimmed"] = "exact"
    reasoning: Literal["exact", "trimmed"] = "exact"
    unfinished: Literal["calls", "none", "streamed"] = "calls"
    """Whether a call that was cut short counts as one: in the peer's streams only, where they count `streamed`."""
    malformed: Literal["calls", "none"] = "none"
    """Whether a call that is no JSON counts as one, with its text as it is."""
    whole: bool = False
    """Whether what is no streaming case has `whole_calls` behind it: the peer gives back the text of a broken call."""
    fenced: Dialect | None = None
    """What is read besides, where the request asks for JSON of a schema."""
    blocks: Dialect | None = None
    """In whose words the cases with `expected_steps` are read: their peer cuts blocks out and decodes them later."""
    ends: bool = True
    """Whether the peer is told that its streams have ended; those of `expected_steps` never end."""


class Call(NamedTuple):
    """A call as it was found."""

    name: str
    arguments: Any
    status: str
    raw: str
    fragments: tuple[tuple[Any, ...], ...]


class Outcome(NamedTuple):
    """What became of a text."""

    content: str
    reasoning: str
    calls: tuple[Call, ...]
    raw: str


def pieces_of(case: Case, row: Row) -> list[str]:
    """Return a case's text as it came, behind what the peer's prompt ends with."""
    text = list(case["chunks"]) if "chunks" in case else [case["text"]]
    prompt = row.prompts.get(case["name"].split("@")[0], "") if thinking_of(case, row) is not False else ""
    if row.opened is not None:
        opener, closer = row.opened
        begin, end = "".join(text).find(opener), "".join(text).find(closer)
        prompt += opener if end >= 0 and not 0 <= begin < end else ""
    return [prompt, *text] if prompt else text


def merged(fragments: Iterable[Fragment | JsonError]) -> tuple[tuple[Any, ...], ...]:
    """Return fragments without their places, those of one string as one."""
    out: list[list[Any]] = []
    for each in fragments:
        if isinstance(each, JsonError):
            break
        if out and out[-1][:2] == [each.path, each.kind] == [each.path, "TEXT"]:
            out[-1][2] += each.value
        else:
            out.append([each.path, each.kind, each.value])
    return tuple(tuple(each) for each in out)


def run(
    pieces: Sequence[str], dialects: Sequence[str | Dialect], options: dict[str, Any], *, whole: bool = False
) -> tuple[Outcome, Outcome]:
    """Read a text that comes in pieces: what it was before its end was known, and with it."""
    reader = stage(parse_text(*dialects, turn_id="t", **options), *([whole_calls()] if whole else []))
    events = [event for piece in pieces for event in reader.feed(piece)]
    before = outcome(events)
    return before, outcome(before_the_end([*events, *reader.close(Completed())]))


def outcome(events: Iterable[Any]) -> Outcome:
    """Read events back."""
    texts = {"text": "", "reasoning": ""}
    raws: dict[str, str] = {}
    fragments: dict[str, list[Fragment]] = {}
    heads: dict[str, tuple[str, str]] = {}
    everything = ""
    for event in events:
        if isinstance(event, Notice):
            continue
        assert isinstance(event, SegmentEvent)
        everything += event.raw
        if event.segment_type in texts:
            texts[event.segment_type] += getattr(event, "delta", "")
        elif event.segment_type == "tool_call":
            key = event.segment_id
            raws[key] = raws.get(key, "") + event.raw
            fragments.setdefault(key, []).extend(event.fragments or ())
            if isinstance(event, SegmentStart | SegmentEnd):
                heads[key] = (event.metadata["tool_name"], getattr(event, "status", ""))
    calls = []
    for key, (name, status) in heads.items():
        values = FragmentAggregator()
        values.feed_all(fragments[key])
        calls.append(Call(name, values.value, status, raws[key], merged(fragments[key])))
    return Outcome(texts["text"], texts["reasoning"], tuple(calls), everything)


def case_ids(cases: Iterable[Case]) -> Iterator[tuple[str, Case]]:
    """Yield each case with its name, which is made unique."""
    seen: dict[str, int] = {}
    for case in cases:
        name = f"{case['dialect']}/{peer_of(case)}/{case['name']}"
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name} #{seen[name]}"), case


def cases_in(shared: Path) -> dict[str, Case]:
    """Return all cases by name."""
    files = sorted((shared / "conformance" / "dialects").glob("*.jsonl"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return dict(case_ids(json.loads(line) for line in lines))


def says_ours(case: Case) -> bool:
    """Return whether a case says something that is for us to keep."""
    return not OURS.isdisjoint(case["asserted"])


def peer_of(case: Case) -> str:
    return str(case["peer"]).split()[0]


def options_of(row: Row, case: Case, dialects: Sequence[Dialect]) -> dict[str, Any]:
    """Return the options for one case: its row's, its tools, and whether the prompt has opened the reasoning."""
    options = dict(row.options)
    tools = [each for each in case["tools"] if isinstance(each.get("parameters"), dict | None)]
    if tools:
        options["tools"] = tools
    if not is_plain(row, case):
        options["starts_in_reasoning"] = _starts_in_reasoning(row, case, dialects)
    return options


def _starts_in_reasoning(row: Row, case: Case, dialects: Sequence[Dialect]) -> bool:
    asked = thinking_of(case, row)
    if row.starts == "always" or (row.starts == "asked" and asked) or case["name"].split("/")[0] in row.parsers:
        return row.starts == "always" or bool(asked)
    if row.starts == "expected":
        return bool(case["expected"]["reasoning"])
    text = "".join(pieces_of(case, row))
    found = [(text.find(closer), text.find(opener)) for each in dialects for opener, closer in each.reasoning]
    return row.starts == "text" and any(end >= 0 and not 0 <= begin < end for end, begin in found)


def is_whole(case: Case, row: Row) -> bool:
    """Return whether broken calls are given back as text."""
    return row.whole and not case["streaming"]


def is_ended(case: Case, row: Row) -> bool:
    """Return whether the peer's test says that the text has ended."""
    return "expected_steps" not in case and (row.ends or not case["streaming"]) and not case.get("partial_input")


def varied(name: str, **changes: Any) -> Dialect:
    """Return a dialect whose values are read a little otherwise: fields of its `Text` for values, and of its `CallArgs`."""
    dialect = DIALECTS[name]
    return replace(dialect, grammar=tuple(_varied(each, changes) for each in dialect.grammar))


def _varied(item: Item, changes: dict[str, Any]) -> Item:
    if isinstance(item, CallArgs) or (isinstance(item, Text) and item.role == "value"):
        return replace(item, **{key: each for key, each in changes.items() if hasattr(item, key)})
    if isinstance(item, tuple):
        return tuple(_varied(each, changes) for each in item)
    if isinstance(item, Many | Maybe | Alt | Group):
        return type(item)(*(_varied(each, changes) for each in item.items))
    return item


def dialects_of(row: Row, case: Case) -> tuple[Dialect, ...]:
    """Return the dialects in which a case is read."""
    if row.blocks is not None and "expected_steps" in case:
        found: tuple[Dialect, ...] = (row.blocks,)
    else:
        named = row.dialects or (case["dialect"],)
        found = tuple(each if isinstance(each, Dialect) else DIALECTS[each] for each in named)
    if row.fenced is not None and "json_schema" in case.get("params", {}):
        found = (*found, row.fenced)
    if is_plain(row, case):
        return tuple(replace(each, reasoning=()) for each in found)
    return found


def is_plain(row: Row, case: Case) -> bool:
    """Return whether markers of reasoning are text in a case."""
    params = case.get("params", {})
    if "llama.cpp" in peer_of(case):
        return params.get("reasoning_format", "_NONE").endswith("_NONE")
    if row.starts == "expected":
        return not case["expected"].get("reasoning")
    return "template" in params or (row.starts in ("asked", "text") and thinking_of(case, row) is False)


def thinking_of(case: Case, row: Row) -> bool | None:
    """Return whether a case's parameters, or its peer's test, switch thinking on or off, or say nothing of it."""
    params = case.get("params", {})
    for key in ("enable_thinking", "hasThinking", "think", "thinkValue", "thinkingEnabled"):
        if key in params:
            value = params[key]
            return bool(value["Value"] if isinstance(value, dict) else value)
    return row.parsers.get(case["name"].split("/")[0])


def wrong(case: Case, row: Row, both: tuple[Outcome, Outcome]) -> list[str]:
    """Return what of a case's expectation does not hold."""
    found = both[is_ended(case, row)]
    expected, asserted = case["expected"], set(case["asserted"])
    problems = []
    for what, ours, how in (("content", found.content, row.content), ("reasoning", found.reasoning, row.reasoning)):
        theirs = expected[what] or "" if what in asserted else ours
        if (ours.strip() != theirs.strip()) if how == "trimmed" else ours != theirs:
            problems.append(f"{what}: {ours!r} is not {theirs!r}")
    if asserted & {"calls", "calls.name", "calls.arguments", "n_calls"}:
        calls = counted(case, row, found)
        if len(expected["calls"]) == 1 < len(calls):
            calls = [joined(calls)]
        if len(calls) != len(expected["calls"]):
            problems.append(f"{len(calls)} calls are not {len(expected['calls'])}: {[*map(short, calls)]}")
        else:
            pairs = zip(calls, expected["calls"], strict=True)
            problems += [each for call, theirs in pairs for each in wrong_call(case, call, theirs)]
    return problems


def counted(case: Case, row: Row, found: Outcome) -> list[Call]:
    """Return the calls that the peer would count."""
    cut = row.unfinished == "calls" or (row.unfinished == "streamed" and case["streaming"])
    counts = {"complete": True, "failed": row.malformed == "calls"}
    return [each for each in found.calls if counts.get(each.status, cut)]


def joined(calls: Sequence[Call]) -> Call:
    """Return calls as a recorder joined them that took all under one index."""
    return Call("".join(each.name for each in calls), [each.arguments for each in calls], "complete", "", ())


def short(call: Call) -> str:
    return f"{call.name}({call.arguments}) {call.status}"


def wrong_call(case: Case, call: Call, theirs: dict[str, Any]) -> list[str]:
    """Return what of an expected call does not hold."""
    problems: list[str] = []
    asserted = set(case["asserted"])
    if "name" in theirs and asserted & {"calls", "calls.name"} and call.name != theirs["name"]:
        problems.append(f"name {call.name!r} is not {theirs['name']!r}")
    if "raw" in theirs and theirs["raw"] not in (call.name, call.name.strip()):
        problems.append(f"raw {theirs['raw']!r} is not {call.name!r}")
    if not asserted & {"calls", "calls.arguments"}:
        return problems
    if "arguments_subset" in theirs:
        if not holds(call.arguments, theirs["arguments_subset"]):
            problems.append(f"arguments {call.arguments!r} do not hold {theirs['arguments_subset']!r}")
    elif "arguments" in theirs:
        wanted = theirs["arguments"]
        values = texts_of(wanted) if isinstance(wanted, str) else [wanted]
        if values is None:
            had = merged(JsonMachine(DEFAULT_LIMITS).feed(wanted))
            # What the peer had given when its text was over; where the text itself is cut, it is all there is.
            if not had or had != (call.fragments if case.get("partial_input") else call.fragments[: len(had)]):
                problems.append(f"so far {call.fragments} are not {had}")
        elif not same(call.arguments, values if len(values) > 1 else values[0]):
            problems.append(f"arguments {call.arguments!r} are not {wanted!r}")
    return problems


def texts_of(text: str) -> list[Any] | None:
    """Return the JSON values of a text, one after the other; None where it is no such text."""
    values = []
    while text:
        try:
            value, end = json.JSONDecoder().raw_decode(text)
        except json.JSONDecodeError:
            return None
        values.append(value)
        text = text[end:].lstrip()
    return values or None


def holds(ours: Any, theirs: Any) -> bool:
    """Return whether a value has all that another one has, in the objects inside too."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return all(key in ours and holds(ours[key], value) for key, value in theirs.items())
    return same(ours, theirs)


def same(ours: Any, theirs: Any) -> bool:
    """Return whether two JSON values are one: `1` is `1.0`, as in JSON, and not `True`."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == theirs) and isinstance(ours, bool) == isinstance(theirs, bool)
