"""Texts with calls in them: the laws for every dialect, several together, and grammars that nobody would write."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

from fuzzing.drawn_bytes import ByteRandom, text_by
from strategies import random_grammars
from strategies.dialect_texts import PROSE, VALUES, answer_by, markers
from strategies.text_flows import Flow, flow_by, options_by
from text_laws import check, joined, run
from twins import in_python

from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.grammar.dialect import Dialect
from penstock.operators.parse_text import parse_text

NAMES = sorted(DIALECTS)
TOOLS = {"f": None}


def _ask(dialects: Sequence[str | Dialect], flow: Flow, options: dict[str, Any], random: Random) -> None:
    check(dialects, flow, options, random)
    operator = parse_text(*dialects, turn_id="t", **options)
    items = flow.items(lambda text: [text])
    here = joined(run(operator, items, flow)[0])
    with in_python():
        assert joined(run(operator, items, flow)[0]) == here, (dialects, flow, options)


def answers(data: bytes) -> None:
    """Answers as models write them, whole and broken."""
    random = ByteRandom(data)
    count = 1 if random.random() < 0.8 else random.randint(2, 6)
    names = random.sample(NAMES, count)
    answer = answer_by(random, [DIALECTS[name] for name in names])
    _ask(names, flow_by(random, answer.text), options_by(random, answer.tools), random)


@cache
def _tokens(name: str) -> tuple[str, ...]:
    return (*markers(DIALECTS[name]), *PROSE, *VALUES, '{"name": "f", "arguments": {', '"a": 1', "}}", "f", "\ud83d")


def marked_texts(data: bytes) -> None:
    """Any text of a dialect's markers and what may stand between them."""
    name = NAMES[sum(data[:2]) % len(NAMES)]
    random, text = text_by(data[2:], _tokens(name))
    _ask([name], flow_by(random, text), options_by(random, TOOLS), random)


def grammars(data: bytes) -> None:
    random = ByteRandom(data)
    dialects = [random_grammars.grammar_by(random, f"random{place}") for place in range(random.choice((1, 1, 1, 2)))]
    text = random_grammars.text_by(random, dialects)
    _ask(dialects, flow_by(random, text), options_by(random, TOOLS), random)


TARGETS = {"answers": answers, "marked_texts": marked_texts, "grammars": grammars}
