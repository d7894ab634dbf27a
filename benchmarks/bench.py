"""What the parsing costs, as a ratio to one plain Python call of the same run, and how it grows with the input.

    make bench            prints a table; exits with 1 if a bound is passed or an output is wrong

Times of a shared machine jump; ratios of CPU time, taken in turns of some milliseconds within one process, hardly do.
A delta is four characters. The exponent is that of time over 2, 20 and 200 KB; the floor is a loop that makes one
plain call a delta. Imports are measured in processes of their own, and clients through a socket to another process.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import log
from pathlib import Path
from statistics import median
from time import thread_time
from types import MethodType
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
import checkout  # noqa: F401 - first of all
import piece_cost
from client_streams import client_rows
from pydantic import BaseModel
from start_up import start_rows
from strategies.marked_texts import MODEL_MARKERS
from twins import in_python
from way_out import way_out_rows

from penstock.events import ChunkResponse, SegmentContent, SegmentStart, ToolCallDelta, ToolInvocation
from penstock.operators import (
    CARD,
    EMAIL,
    KEYS,
    PHONE,
    compose,
    drive,
    guard,
    holdback,
    redact,
    stage,
    stream_fields,
    to_invocations,
    to_segments,
    validate,
)
from penstock.operators.argument_progress import argument_progress
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.grammar.dialect import Dialect
from penstock.operators.machines.json_machine import IS_NATIVE, JsonMachine, pure_feed
from penstock.operators.parse_text import parse_text
from penstock.operators.partial_arguments import partial_arguments
from penstock.operators.policies import AllowedTools, CallCount, FieldPattern, FieldSize, InsideRoot
from penstock.operators.writing.render_call import can_render, render_call
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.strategies import api_tool_call
from penstock.sources import decode_wire

DELTA = 4
ROUNDS = 9
TURN = 500  # items between two measurements
STREAMS = 20
SMALL = json.dumps({"path": "src/app.py", "content": "print('hello, world')\n"})
SIZES = (2_000, 20_000, 200_000)
DELTAS_A_ROUND = 50_000
FLOOR_REPEATS = 8  # so that both take about as long

Feed = Callable[[Any], Any]
Items = Callable[[list[str], bool], list[Any]]  # of the deltas of a turn; whether it is the first

PROSE = (
    "The gate stands at the upper end of the pipe, where the reservoir narrows between two walls of grey stone. "
    "In spring, when the snow on the hills has melted, it is raised a hand's breadth every morning; by the end of "
    "June nobody looks at it any more. What comes down the hill (some forty cubic metres a second, they say) turns "
    "the wheels of three mills, and after them a small, stubborn dynamo that somebody's uncle put in before the war. "
)
ESCAPED = "闸门立在管道的上端、水库在两面灰色石墙之间变窄。🌊"


def python_source(size: int) -> str:
    """Return Python source of a size: that of a module of Python's, which no commit of ours changes."""
    source = Path(tempfile.__file__).read_text(encoding="utf-8")
    while len(source) < size:
        source += source
    return source[:size]


def arguments(size: int) -> str:
    return json.dumps({"path": "src/app.py", "content": python_source(size)})


def escapes(size: int) -> str:
    """Return W1 with text of which every character is an escape where it is written in ASCII."""
    return json.dumps({"path": "src/app.py", "content": ESCAPED * (size // (6 * len(ESCAPED)))}, ensure_ascii=True)


def small_objects(number: int) -> str:
    """Return JSON that is structure rather than text."""
    values = ({"id": each, "name": f"item {each}", "price": each * 1.25, "tags": ["a", "b"]} for each in range(number))
    return json.dumps([{**value, "active": value["id"] % 2 == 0, "note": None} for value in values])


def cut(text: str) -> list[str]:
    return [text[place : place + DELTA] for place in range(0, len(text), DELTA)]


def call_deltas(deltas: list[str], is_first: bool, tool: str = "write_file") -> list[Any]:
    first = ChunkResponse(tool_calls=(ToolCallDelta(0, "call_1", tool),), response_id="r")
    rest = [ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=delta),)) for delta in deltas]
    return [first, *rest] if is_first else rest


def rows_deltas() -> list[str]:
    return cut(f'{{"rows": {small_objects(200)}}}')


def rows_call(deltas: list[str], is_first: bool) -> list[Any]:
    return call_deltas(deltas, is_first, "save_rows")


def chunks(deltas: list[str]) -> list[Any]:
    return [*call_deltas(deltas, True), ChunkResponse(finish_reason="tool_calls", is_complete=True)]


def as_they_are(deltas: list[str], _: bool) -> list[Any]:
    return deltas


def nothing(_: Any) -> None:
    """Stand for one plain Python call."""


def seconds(feed: Feed, items: list[Any]) -> float:
    begin = thread_time()
    for item in items:
        feed(item)
    return thread_time() - begin


def json_machine() -> Feed:
    return JsonMachine().feed


def pure_json_machine() -> Feed:
    return MethodType(pure_feed, JsonMachine())


def chain() -> Feed:
    return stage(to_segments(), stream_fields(), to_invocations()).feed


class WriteFile(BaseModel):
    path: str
    content: str


def validated_chain() -> Feed:
    return stage(to_segments(), validate({"write_file": WriteFile}), stream_fields(), to_invocations()).feed


GUARDS: tuple[tuple[str, tuple[Any, ...], int], ...] = (
    ("guard", (AllowedTools(["write_file"]), InsideRoot("."), CallCount(9), FieldSize(99, fields=["path"])), 42),
    ("guard and the size of all fields", (FieldSize(10**9),), 45),
    ("guard and a pattern in all fields", (FieldPattern(denied=r"rm +-r[a-z]*"),), 60),
)
"""What each is called, its policies, and the bound."""


def guarded_chain(policies: tuple[Any, ...]) -> Feed:
    return stage(to_segments(), guard(*policies), stream_fields(), to_invocations()).feed


def redacted_chain() -> Feed:
    return stage(to_segments(), redact(KEYS), stream_fields(), to_invocations()).feed


def wholly_redacted_chain() -> Feed:
    return stage(to_segments(), redact(KEYS, EMAIL, CARD, PHONE), stream_fields(), to_invocations()).feed


def redacted_text() -> Feed:
    return stage(redact(KEYS)).feed


def wholly_redacted_text() -> Feed:
    return stage(redact(KEYS, EMAIL, CARD, PHONE)).feed


def text_events(deltas: list[str], is_first: bool) -> list[Any]:
    contents = [SegmentContent("s", "text", each, turn_id="t", raw=each) for each in deltas]
    return [SegmentStart("s", "text", turn_id="t"), *contents] if is_first else contents


def strategy_updates_off() -> Feed:
    return stage(api_tool_call()).feed


def strategy_updates_on() -> Feed:
    return stage(api_tool_call(updates=True)).feed


def segments() -> Feed:
    return stage(to_segments()).feed


def progress() -> Feed:
    return stage(to_segments(), argument_progress()).feed


def partials() -> Feed:
    return stage(to_segments(), partial_arguments()).feed


def markers() -> Feed:
    return holdback(*MODEL_MARKERS).factories[0]().feed


def text_in(*dialects: str) -> Callable[[], Feed]:
    return lambda: parse_text(*dialects, turn_id="t").factories[0]().feed


text_in_any_dialect = text_in(*DIALECTS)
text_in_hermes = text_in("hermes")
text_in_qwen3_coder = text_in("qwen3_coder")


def hermes(size: int) -> str:
    return f'<tool_call>{{"name": "write_file", "arguments": {arguments(size)}}}</tool_call>'


def qwen3_coder(size: int) -> str:
    values = {"path": "src/app.py", "content": python_source(size).replace("</", "< /")}  # no closer inside
    inner = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    return f"<tool_call>\n<function=write_file>\n{inner}</function>\n</tool_call>"


def written(dialect: Dialect, source: str) -> tuple[str, bool]:
    """Return a call as a dialect writes it, with source in it, and whether the source stands there as it is."""
    unlike_markers = source.replace("<", "(")
    for each in (source, unlike_markers, unlike_markers.replace("]]", "] ]"), f"{source}\n"):  # markers may be lines
        ways: tuple[tuple[str, dict[str, str]], ...] = (
            ("write_file", {"path": "src/app.py", "content": each}),
            ("search_replace", {"search": each, "replace": ""}),
            ("search_replace", {"search": f"{each}\n", "replace": ""}),
        )
        for name, arguments in ways:
            if can_render(dialect, name, arguments) is None:
                call = render_call(dialect, name, arguments)
                return call, each in call
    message = f"{dialect.name} cannot carry a file"
    raise ValueError(message)


def costliest(size: int) -> list[tuple[str, float, float]]:
    """Return a row for that dialect whose calls cost most, of those that encode values and of those that do not."""
    calls = {each.name: written(each, python_source(size).strip()) for each in DIALECTS.values() if each.grammar}
    rows: list[tuple[str, float, float]] = []
    for way, is_raw, bound in (("JSON or code", False, 40), ("raw values", True, 30)):
        texts = {name: cut(call) for name, (call, as_it_is) in calls.items() if as_it_is is is_raw}
        costs = {name: calls_per_delta(text_in(name), text, as_they_are) for name, text in texts.items()}
        name = max(costs, key=costs.__getitem__)
        rows.append((f"the costliest with {way}: {name}", costs[name], bound))
    return rows


def prose(size: int) -> str:
    return (PROSE * (size // len(PROSE) + 1))[:size]


def calls_per_delta(make: Callable[[], Feed], deltas: list[str], as_items: Items) -> float:
    """Return the median cost of an item in plain calls; the call is measured beside each turn.

    The items of a turn are made just before it, as in a stream: they are not fetched from far away in memory.
    """
    ratios: list[float] = []
    for _ in range(ROUNDS):
        feed = make()
        for place in range(0, len(deltas), TURN):
            items = as_items(deltas[place : place + TURN], place == 0)
            work = seconds(feed, items)
            if floor := seconds(nothing, items):  # else the clock has not moved for the few last ones
                ratios.append(work / floor)
    return median(ratios)


def small_call(delta: int, tool: str = "read_file") -> list[Any]:
    """Return the chunks of a call of sixty characters."""
    pieces = [SMALL[place : place + delta] for place in range(0, len(SMALL), delta)]
    return [*call_deltas(pieces, True, tool), chunks([])[-1]]


def read(pipeline: Pipeline, items: list[Any]) -> None:
    for _ in pipeline.stream(items):
        pass


def calls_per_stream(run: Callable[[], object]) -> float:
    """Return the median cost of a whole stream in plain calls; the call is measured beside each turn."""
    ratios: list[float] = []
    for _ in range(ROUNDS * ROUNDS):
        beside = call_deltas([str(number) for number in range(TURN)], False)
        begin = thread_time()
        for _ in range(STREAMS):
            run()
        work = (thread_time() - begin) / STREAMS
        ratios.append(work / (seconds(nothing, beside) / len(beside)))
    return median(ratios)


def reads(events: int) -> list[bytes]:
    """Return the bytes of one call, so many events in each piece."""
    pieces = [{"tool_calls": [{"index": 0, "function": {"arguments": each}}]} for each in cut(arguments(SIZES[0]))]
    pieces[0]["tool_calls"][0] |= {"id": "call_1", "type": "function"}
    pieces[0]["tool_calls"][0]["function"]["name"] = "write_file"
    told = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1767225600, "model": "gpt-5"}
    choices = [{"index": 0, "delta": each, "finish_reason": None} for each in pieces]
    wire = [f"data: {json.dumps({**told, 'choices': [each]})}\n\n".encode() for each in choices]
    return [b"".join(wire[place : place + events]) for place in range(0, len(wire), events)]


def stream_rows() -> Iterator[tuple[str, float, float]]:
    """Yield what a small call costs through a pipeline that was made before, from the chunks to the invocation."""
    native, in_text = Pipeline("api_tool_call"), Pipeline("hermes")
    cost = calls_per_stream(partial(read, native, small_call(60)))
    yield "a stream of one call of 60 characters, in one piece, in plain calls", cost, 2500
    chain = decode_wire("chat", merge=True), to_segments(), stream_fields(), to_invocations(keep_segments=True)
    pieces = reads(8)
    cost = calls_per_stream(lambda: list(drive(pieces, *chain))) / len(pieces) / 8
    yield "an event of openai-chat, eight in a read that are merged, in plain calls", cost, 110
    yield "events of each such read", len(list(drive(pieces, *chain))) / len(pieces), 1.1
    text = f'<tool_call>{{"name": "write_file", "arguments": {SMALL}}}</tool_call>'
    for name, pipeline, items, most in (
        ("in one piece", native, small_call(60, "write_file"), 600),
        ("in pieces of 4", native, small_call(DELTA, "write_file"), 1060),
        ("as text, in one piece", in_text, [text], 950),
        ("as text, in pieces of 4", in_text, cut(text), 2550),
    ):
        once = partial(read, pipeline)
        once(items)
        yield f"functions called for one whose text streams, {name}", operations(partial(partial, once), [items]), most


def exponents(make: Callable[[], Feed], inputs: list[list[Any]]) -> tuple[float, float]:
    """Return the exponents of time over size: of the work, and of the floor, measured in turns."""
    work: list[list[float]] = [[] for _ in inputs]
    floor: list[list[float]] = [[] for _ in inputs]
    for _ in range(ROUNDS):
        for number, items in enumerate(inputs):
            repeats = max(1, DELTAS_A_ROUND // len(items))
            work[number].append(sum(seconds(make(), items) for _ in range(repeats)) / repeats)
            repeats *= FLOOR_REPEATS
            floor[number].append(sum(seconds(nothing, items) for _ in range(repeats)) / repeats)
    sizes = [len(items) for items in inputs]
    return slope(sizes, [median(each) for each in work]), slope(sizes, [median(each) for each in floor])


def slope(sizes: list[int], times: list[float]) -> float:
    """Return the least-squares slope of log time over log size."""
    xs, ys = [log(size) for size in sizes], [log(time) for time in times]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    return above / sum((x - x_mean) ** 2 for x in xs)


def operations(make: Callable[[], Feed], items: Iterable[Any]) -> int:
    """Count all calls, of Python and of C functions, that the work makes."""
    feed = make()
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        for item in items:
            feed(item)
    finally:
        sys.setprofile(None)
    return count


def is_linear(make: Callable[[], Feed], of: Callable[[str], list[Any]]) -> tuple[bool, list[int]]:
    """Return whether ten times the text makes exactly ten times the operations, beside a constant beginning."""
    line = "    total = sum(each.price for each in basket)  # so far\n"
    unit = json.dumps(line * DELTA)[1:-1]  # four lines, so that a whole number of deltas repeats
    head = '{"path": "src/app.py", "content": "'
    head = " " * (-len(head) % DELTA) + head
    # Kept pieces are joined in blocks of 64; so many more units fill whole ones.
    counts = [operations(make, of(head + unit * repeats)) for repeats in (10, 74, 714)]
    return (counts[2] - counts[1]) == 10 * (counts[1] - counts[0]), counts


def check_outputs(size: int) -> tuple[bool, int, int]:
    """Run the chain once: whether the invocation and the joined content are right, and how many pieces came."""
    text = arguments(size)
    deltas = cut(text)
    source = python_source(size)
    run = stage(to_segments(), stream_fields(), to_invocations(keep_segments=True))
    events = [event for item in chunks(deltas) for event in run.feed(item)] + run.close()
    content = [event.delta for event in events if isinstance(event, SegmentContent)]
    calls = [event.arguments for event in events if isinstance(event, ToolInvocation)]
    right = "".join(content) == source and calls == [{"path": "src/app.py", "content": source}]
    return right, len(content), len(deltas)


def bytes_of(make: Callable[[], Any], number: int) -> float:
    """Return how many bytes each of several things holds."""
    make()  # what is made once, for all
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    held = [make() for _ in range(number)]
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / len(held)


def idle_stream(operator: Any) -> Any:
    """Return a chain that waits for more text."""
    run = stage(operator)
    run.feed(ChunkResponse(content="Hello", response_id="r", model="m"))
    return run


def machine_rows() -> list[tuple[str, float, float]]:
    """Return a row for each text and each twin of the JSON machine that is here."""
    twins = [("in Python", pure_json_machine, 0), ("in C", json_machine, 1)][: 1 + IS_NATIVE]
    texts: tuple[tuple[str, str, tuple[int, int]], ...] = (
        ("200 KB of Python source", arguments(SIZES[-1]), (13, 7)),
        ("text in escapes (W1e)", escapes(SIZES[-1]), (40, 9)),
        ("200 small objects", small_objects(200), (45, 15)),
    )
    return [
        (f"JSON machine {how}, {what}", calls_per_delta(make, cut(text), as_they_are), bounds[number])
        for what, text, bounds in texts
        for how, make, number in twins
    ]


def chain_rows(deltas: list[str]) -> Iterator[tuple[str, float, float]]:
    """Yield a row for each text and each way of the chain that is here."""
    whole = "ChunkResponse → segments → fields → invocations"
    texts: tuple[tuple[str, list[str], Items, tuple[int, int]], ...] = (
        (whole, deltas, call_deltas, (34, 12)),
        (f"{whole}, 200 small objects that nobody streams", rows_deltas(), rows_call, (80, 24)),
    )
    for what, pieces, as_items, (bound, bound_in_c) in texts:
        with in_python():
            yield f"{what}, in Python", calls_per_delta(chain, pieces, as_items), bound
        if IS_NATIVE:
            yield f"{what}, in C", calls_per_delta(chain, pieces, as_items), bound_in_c


def in_mid_call(operator: Any, size: int) -> Any:
    """Return a chain in the middle of a call, each of whose deltas is gone."""
    run = stage(operator)
    for place, delta in enumerate(cut(arguments(size)[:-DELTA])):
        for item in call_deltas([delta], place == 0):
            run.feed(item)
    return run


def main() -> int:
    gc.disable()  # collections come at moments of their own; events hold no cycles
    inputs = [cut(arguments(size)) for size in SIZES]
    words = cut(prose(SIZES[-1]))
    rows: list[tuple[str, float, float]] = [
        *machine_rows(),
        *chain_rows(inputs[-1]),
        ("the same, with validate", calls_per_delta(validated_chain, inputs[-1], call_deltas), 59),
        *(
            (f"the same, with {name}", calls_per_delta(partial(guarded_chain, each), inputs[-1], call_deltas), bound)
            for name, each, bound in GUARDS
        ),
        ("the same, with redact(KEYS)", calls_per_delta(redacted_chain, inputs[-1], call_deltas), 70),
        (
            "the same, with redact of keys, e-mail, card and phone",
            calls_per_delta(wholly_redacted_chain, inputs[-1], call_deltas),
            150,
        ),
        ("redact(KEYS), prose", calls_per_delta(redacted_text, words, text_events), 50),
        (
            "redact of keys, e-mail, card and phone, prose",
            calls_per_delta(wholly_redacted_text, words, text_events),
            120,
        ),
        # These bounds leave a quarter for the noise. On costs an event a delta and the calls that make it.
        ("api_tool_call, updates off", calls_per_delta(strategy_updates_off, inputs[-1], call_deltas), 40),
        ("api_tool_call, updates on", calls_per_delta(strategy_updates_on, inputs[-1], call_deltas), 58),
        ("ChunkResponse → segments", calls_per_delta(segments, inputs[-1], call_deltas), 38),
        ("ChunkResponse → segments → argument_progress", calls_per_delta(progress, inputs[-1], call_deltas), 46),
        ("ChunkResponse → segments → partial_arguments", calls_per_delta(partials, inputs[-1], call_deltas), 60),
        (f"holdback over {len(MODEL_MARKERS)} markers, prose", calls_per_delta(markers, words, as_they_are), 10),
        ("hermes, Python source", calls_per_delta(text_in_hermes, cut(hermes(SIZES[-1])), as_they_are), 35),
        (
            "qwen3_coder, Python source",
            calls_per_delta(text_in_qwen3_coder, cut(qwen3_coder(SIZES[-1])), as_they_are),
            25,
        ),
        *costliest(SIZES[1]),
        ("hermes, prose", calls_per_delta(text_in_hermes, words, as_they_are), 12),
        ("all dialects, prose", calls_per_delta(text_in_any_dialect, words, as_they_are), 12),
    ]
    failed = False
    for name, cost, bound in rows:
        failed |= cost > bound
        print(f"{name:50} {cost:5.1f} calls a delta   (bound {bound})")
    for name, dialects in (("common", piece_cost.COMMON), ("all", piece_cost.WRITING)):
        pieces, most = piece_cost.cost_of(*dialects), piece_cost.MOST
        figures: tuple[tuple[str, float, float], ...] = (
            ("functions called, pieces with markers", pieces.with_markers, most.with_markers),
            ("functions called, pieces inside", pieces.inside, most.inside),
            ("functions called, the costliest piece", pieces.most.calls, most.calls),
            ("files of the piece in most", len(pieces.widest.files), most.files),
        )
        for what, figure, bound in figures:
            failed |= figure > bound
            print(f"{name + ' dialects, ' + what:55} {figure:5.1f}   (bound {bound})")
    for name, cost, bound in stream_rows():
        failed |= cost > bound
        print(f"{name:70} {cost:7.1f}   (bound {bound})")
    for name, cost, bound in start_rows():
        failed |= cost > bound
        print(f"{name:70} {cost:8.2f}   (bound {bound})")
    for name, cost, bound in way_out_rows():
        failed |= cost > bound
        print(f"{name:55} {cost:5.1f} calls   (bound {bound})")
    for name, cheaper, least in client_rows():
        failed |= cheaper < least
        print(f"{name:70} {cheaper:5.2f} times cheaper   (bound {least})")
    memory = (
        ("an idle stream", bytes_of(partial(idle_stream, api_tool_call()), 100), 6_000),
        *(
            (
                f"a character held in mid-call, {size // 1000} KB",
                bytes_of(partial(in_mid_call, each, size), 1) / size,
                4,
            )
            for each in (api_tool_call(), compose(to_segments(), stream_fields(), to_invocations()))
            for size in SIZES[1:]
        ),
    )
    for name, figure, bound in memory:
        failed |= figure > bound
        print(f"{name:50} {figure:7.1f} bytes   (bound {bound})")
    works: list[tuple[str, Callable[[], Feed], list[list[Any]]]] = [
        ("JSON machine", json_machine, list(inputs)),
        ("chain", chain, [chunks(each) for each in inputs]),
        ("holdback", markers, [cut(prose(size)) for size in SIZES]),
        ("hermes", text_in_hermes, [cut(hermes(size)) for size in SIZES]),
        ("qwen3_coder", text_in_qwen3_coder, [cut(qwen3_coder(size)) for size in SIZES]),
        ("all dialects, prose", text_in_any_dialect, [cut(prose(size)) for size in SIZES]),
    ]
    for name, make, items in works:
        own, floor = exponents(make, items)
        failed |= own - floor > 0.05
        print(f"{name:50} {own:5.3f} exponent, floor's {floor:.3f}   (difference {own - floor:+.3f}, bound 0.05)")
    linear_works: list[tuple[str, Callable[[], Feed], Callable[[str], list[Any]]]] = [
        ("JSON machine", json_machine, cut),
        ("chain", chain, lambda text: chunks(cut(text))[:-1]),
        ("holdback", markers, cut),
        *(
            (name, make, lambda text: chunks(cut(text))[:-1])
            for name, make in (
                ("api_tool_call, updates on", strategy_updates_on),
                ("argument_progress", progress),
                ("partial_arguments", partials),
            )
        ),
    ]
    for name, make, of in linear_works:
        linear, counts = is_linear(make, of)
        failed |= not linear
        print(f"{name:50} {'exactly linear' if linear else 'NOT LINEAR'}: {counts} operations")
    for size in SIZES:
        right, pieces, deltas = check_outputs(size)
        failed |= not right
        name, verdict = f"{size // 1000} KB in {deltas} deltas", "right" if right else "WRONG"
        print(f"{name:50} {pieces} content events, output {verdict}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
