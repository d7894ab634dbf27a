"""The cases of canitoolcall, read by a `Pipeline` and judged by the suite's own checks.

The suite gives a model's name, its answer as it was generated, the tools and what thinking was switched to.

    python tests/support/conformance_suite.py    writes the matrix of docs/conformance.md anew
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final, NamedTuple

from canitoolcall.checks import case_status, run_checks
from canitoolcall.fixtures import Family, Fixture, default_fixtures_dir, load_families, load_fixtures
from canitoolcall.results import CheckResult, Observation, ParsedToolCall, ParseResult, Status
from depth import is_deep
from msgspec import Struct

from penstock import ChunkResponse, Pipeline, SegmentContent, ToolInvocation

PAGE: Final = Path(__file__).parents[2] / "docs" / "conformance.md"
SEEDS: Final = 1
OK: Final = frozenset((Status.PASS, Status.SOFT_PASS))
"""A soft pass differs in blanks at the ends of text or reasoning: the peers' published figures count it too."""


class Judged(Struct, frozen=True):
    """What became of a case: its status, and the rows of the suite's checks that it fails."""

    case: Fixture
    status: Status
    failing: tuple[CheckResult, ...]

    @property
    def is_ok(self) -> bool:
        return self.status in OK

    @property
    def leaks(self) -> bool:
        return any(row.check == "no_leakage" for row in self.failing)


@lru_cache(maxsize=1)
def all_cases() -> tuple[Fixture, ...]:
    return tuple(load_fixtures())


@lru_cache(maxsize=1)
def all_families() -> Mapping[str, Family]:
    return load_families(default_fixtures_dir())


def switched(case: Fixture) -> dict[str, Any]:
    """Return the arguments of `Pipeline` that say which model it is, and what the request switched thinking to."""
    if case.thinking is None:
        return {"model": case.reference_model}
    # templates know it by either name, and the suite's own adapters send both
    switches = {"enable_thinking": case.thinking, "thinking": case.thinking}
    return {"model": case.reference_model, "request": {"extra_body": {"chat_template_kwargs": switches}}}


def told_of_the_prompt(case: Fixture) -> dict[str, Any]:
    """Return those of `switched`, and whether the prompt ends inside the reasoning, if the case says so."""
    return {**switched(case), "starts_in_reasoning": opens_reasoning(prompt_of(case))}


class Way(NamedTuple):
    """A way to read the cases: the share that must be right, and the arguments of `Pipeline` for a case."""

    share: float
    options: Callable[[Fixture], dict[str, Any]]


WAYS: Final = {
    "by the model's name": Way(0.985, switched),
    "told of the prompt": Way(0.99, told_of_the_prompt),
    "`auto`": Way(0.78, lambda _: {"strategy": "auto"}),
}


@cache
def read(way: str) -> tuple[Judged, ...]:
    """Return what became of all cases, read in one of the ways."""
    return tuple(judged(case, **WAYS[way].options(case)) for case in all_cases())


def opens_reasoning(prompt: str) -> bool:
    """Return whether the end of a prompt opens the reasoning.

    >>> opens_reasoning("<|assistant|><think>"), opens_reasoning("<|assistant|><think></think>")
    (True, False)
    """
    return re.search(r"(<think>|<\|open\|>think<\|sep\|>)\s*$", prompt) is not None


def prompt_of(case: Fixture) -> str:
    """Return the end of the prompt behind which the answer was generated."""
    if case.generation_prompt is not None:
        return case.generation_prompt
    reference = all_families()[case.family].reference_for(case.reference_model)
    return (reference and reference.default_generation_prompt) or ""


def judged(case: Fixture, **options: Any) -> Judged:
    """Read a case in each of its cuttings with `Pipeline(**options)`, and judge it by all checks of the suite."""
    family = all_families()[case.family]
    pipeline = Pipeline(tools=list(case.tools), turn_id="t", keep_answer=False, **options)
    finish = "length" if case.truncated else "stop"
    whole = _read(pipeline, [case.raw_output], finish)
    cut = {name: _read(pipeline, pieces, finish) for name, pieces in _cuttings(case.raw_output, family)}
    streams = {"one": whole, **cut}
    rows = run_checks(case, family, Observation(nonstream=whole, streams=streams))
    return Judged(case, case_status(rows), tuple(row for row in rows if row.status not in OK))


def _cuttings(text: str, family: Family) -> Iterator[tuple[str, list[str]]]:
    """Yield the suite's cuttings; characters take the place of tokens, for which a tokenizer would be needed.

    In `make test` each text is cut at random only.
    """
    if is_deep():
        markers = "|".join(map(re.escape, sorted(family.markers, key=len, reverse=True)))
        yield "special", [piece for piece in re.split(f"({markers})", text) if piece]
        yield "token", list(text)
    for seed in range(1, SEEDS + 1):
        yield f"rand:{seed}:8", _at_random(text, random.Random(seed))


def _at_random(text: str, chance: random.Random) -> list[str]:
    pieces = []
    while text:
        size = chance.randint(1, 24)
        pieces.append(text[:size])
        text = text[size:]
    return pieces


def _read(pipeline: Pipeline, pieces: list[str], finish: Any) -> ParseResult:
    chunks = [ChunkResponse(content=piece) for piece in pieces]
    said: dict[str, list[str]] = {"text": [], "reasoning": []}
    calls = []
    for event in pipeline.stream([*chunks, ChunkResponse(is_complete=True, finish_reason=finish)]):
        if isinstance(event, SegmentContent) and event.segment_type in said:
            said[event.segment_type].append(event.delta)
        elif isinstance(event, ToolInvocation):
            calls.append(ParsedToolCall(event.name, json.dumps(event.arguments)))
    return ParseResult("".join(said["text"]), "".join(said["reasoning"]), tuple(calls))


def matrix() -> str:
    """Return the table of the cases that are right, by family and by the way in which they are read."""
    rows = [["family", "cases", *WAYS], ["---", *["---:"] * (len(WAYS) + 1)]]
    rows += [
        [family, *_counts([[each for each in read(way) if each.case.family == family] for way in WAYS])]
        for family in sorted({case.family for case in all_cases()})
    ]
    total = _counts([read(way) for way in WAYS])
    shares = [f"{sum(each.is_ok for each in read(way)) / len(all_cases()):.1%}" for way in WAYS]
    rows += [["**all**", *total], ["", "", *shares]]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _counts(found: Sequence[Sequence[Judged]]) -> list[str]:
    return [str(len(found[0])), *(str(sum(each.is_ok for each in column)) for column in found)]


def published() -> dict[str, tuple[int, int]]:
    """Return what the suite's own page says of each engine: how many cases are right, of those that it supports."""
    page = distribution("canitoolcall").read_text("METADATA") or ""
    rows = re.findall(r"^\| ([\w. ]+) \| \S+ \| (\d+) \| (\d+) \| (\d+) \| \d+ \|", page, re.MULTILINE)
    return {engine: (int(passed) + int(soft), int(supported)) for engine, supported, passed, soft in rows}


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = re.compile(r"^\| family \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)
    PAGE.write_text(table.sub(lambda _: matrix(), page), encoding="utf-8")


if __name__ == "__main__":
    main()
