"""`diagnose`: ask a server the doctor's questions, with the gateway and without it, and say what to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import httpx2

from ...events.errors import ProviderError, UsageError, shown_url
from ...sinks.parts.event_words import shortened
from ..serving.api_errors import upstream_error
from ..serving.gateway_app import PATHS, Gateway
from ..serving.served_model import GatewayOptions
from ..serving.upstream import Found, Upstream
from .questions import (
    ERROR,
    FINE,
    QUESTIONS,
    WITH_TOOLS,
    WITHOUT_TOOLS,
    Finding,
    Question,
    Way,
    dialects_of,
    finding,
)
from .seen_answer import SeenAnswer, seen_answer

Verdict: TypeAlias = Literal["ok", "mended", "the model", "not mended", "worse"]
_PATH: Final = next(path for path, api in PATHS.items() if api == "openai-chat")
_A_TOOL: Final = 10
"""Tokens that the shortest description of a tool has at least."""
_REFUSED: Final = (401, 403)
_LONGEST: Final = 400
"""Characters that are shown of an error; those of templates have a picture of the place."""

Ask: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[bytes]]
"""Return the body of the answer to a request; `ProviderError` for an error."""
Told: TypeAlias = Callable[[int, int], None]
"""Is told before each question how many are done, of how many."""


class Row(NamedTuple):
    """What is found of the answers to one question: those of the server alone, and those through the gateway."""

    question: str
    alone: Finding
    through: Finding

    @property
    def verdict(self) -> Verdict:
        if self.through.by == "fine":
            return "ok" if self.alone.by == "fine" else "mended"
        if self.alone.by == "fine":
            return "worse"
        return "the model" if self.through.by == "model" else "not mended"


class Diagnosis(NamedTuple):
    """What the doctor found.

    - `has_called`: whether a call came through the gateway at all.
    - `dialects`: those of a call that the gateway left in the text.
    """

    found: Found
    model: str
    rows: tuple[Row, ...]
    has_called: bool
    dialects: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        """Whether nothing is broken behind the gateway; without any call that is not known."""
        return self.has_called and all(row.verdict in ("ok", "mended", "the model") for row in self.rows)

    def advice(self) -> Iterator[str]:
        """Yield what to do."""
        verdicts = [row.verdict for row in self.rows]
        asked = [each.what for row in self.rows if row.question != _SEES_TOOLS for each in (row.alone, row.through)]
        if all(what.startswith(ERROR) for what in asked):
            yield "The server answers nothing at all: the error says why, or its log does."
            return
        hidden = any(row.question == _SEES_TOOLS and row.through.by != "fine" for row in self.rows)
        if hidden:
            yield "Start the server with a chat template that shows the model its tools; this one leaves them out."
        elif not self.has_called and "the model" in verdicts:
            yield "The model called no tool. Try a larger one, or one that was trained to call tools."
        if self.dialects:
            yield f"The model writes calls as {self.dialects[0]}: pass --dialect {self.dialects[0]}."
        elif not hidden and "not mended" in verdicts:
            yield "What is not mended comes so from the server or the model: another version of it may do better."
        if "worse" in verdicts:
            yield "What is worse through the gateway may be right with --server openai: the server parses then."
        if "mended" in verdicts:
            yield "Put the gateway in front of the server: run the same command without --doctor."
        elif self.is_well:
            yield "The server needs no mending. The gateway still gives it the APIs that it has not got."


_SEES_TOOLS: Final = "the model sees its tools"


async def diagnose(
    upstream: Upstream,
    told: Told,
    options: GatewayOptions | None = None,
    *,
    questions: Sequence[Question] = QUESTIONS,
) -> Diagnosis:
    """Ask a server each question, once as it is and once through the gateway in this process, and judge the answers.

    - `options`: of these the ones that say how the model is asked and read; the guards are left out.

    `UsageError` if the server does not answer, wants another key, or has several models and none is named.
    """
    try:
        found = await upstream.find()
    except ProviderError as error:
        url = shown_url(upstream.url)
        message = f"nothing answers at {url} ({error.detail}): start the server, or check --upstream"
        raise UsageError(message) from error
    given = options or GatewayOptions()
    model = given.model or _only_model(found)
    reading = GatewayOptions(model=model, dialect=given.dialect, template=given.template, change=given.change)
    gateway = Gateway(upstream, reading).app()
    rows: list[Row] = []
    answers: list[tuple[Question, SeenAnswer]] = []
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(gateway), base_url="http://localhost", timeout=None
    ) as client:
        alone, through = _alone(upstream), _through(client)
        for number, question in enumerate(questions):
            told(number, len(questions) + 1)
            before, behind = [await _asked(ask, question, model) for ask in (alone, through)]
            lost = _with_lost(question, _findings(question, before))
            rows.append(Row(question.name, _together(lost), _together(_findings(question, behind))))
            answers += [(question, seen) for seen in behind.values()]
        told(len(questions), len(questions) + 1)
        seen = [await _sees_tools(ask, model) for ask in (alone, through)]
    if (alone_sees := seen[0]) is not None and (through_sees := seen[1]) is not None:
        rows.append(Row(_SEES_TOOLS, alone_sees, through_sees))
    has_called = any(seen.calls for _, seen in answers)
    is_raw = found.lane == "raw" or given.template is not None
    return Diagnosis(found, model, tuple(rows), has_called, _unread(answers) if is_raw else ())


def _only_model(found: Found) -> str:
    names: list[str] = [each["id"] for each in found.models]
    if len(names) == 1:
        return names[0]
    has = f"has several models: {', '.join(names)}" if names else "lists no models; if it wants a key, set it, too"
    message = f"the server {has}; name one with --model"
    raise UsageError(message)


def _alone(upstream: Upstream) -> Ask:
    async def ask(body: Mapping[str, Any]) -> bytes:
        response = await upstream.stream(body, {})
        try:
            return await response.aread()
        finally:
            await response.aclose()

    return ask


def _through(client: httpx2.AsyncClient) -> Ask:
    async def ask(body: Mapping[str, Any]) -> bytes:
        response = await client.post(_PATH, json=dict(body))
        if response.is_success:
            return response.content
        raise upstream_error(response.status_code, response.content)

    return ask


async def _asked(ask: Ask, question: Question, model: str) -> dict[Way, SeenAnswer]:
    answers: dict[Way, SeenAnswer] = {}
    for way in question.ways:
        try:
            body = await ask(question.body(model, way))
        except ProviderError as error:
            if error.status in _REFUSED:
                message = f"the server refuses the key ({error.detail}): set it as PENSTOCK_UPSTREAM_KEY"
                raise UsageError(message) from error
            answers[way] = SeenAnswer(refused=shortened(" ".join(error.detail.split()), _LONGEST))
        except httpx2.TransportError as error:
            answers[way] = SeenAnswer(refused=str(error) or type(error).__name__)
        else:
            answers[way] = seen_answer(body, is_streamed=way == "streamed")
    return answers


async def _sees_tools(ask: Ask, model: str) -> Finding | None:
    """Return whether the prompt is longer with tools than without; None where the server does not count."""
    with_tools, without = [(await _asked(ask, each, model))["whole"].asked for each in (WITH_TOOLS, WITHOUT_TOOLS)]
    if with_tools is None or without is None:
        return None
    if with_tools - without >= _A_TOOL:
        return FINE
    return Finding("server", f"the prompt has {with_tools} tokens with tools, and {without} without")


def _unread(answers: Sequence[tuple[Question, SeenAnswer]]) -> tuple[str, ...]:
    """Return the dialects of the calls that are left in the text of answers, but `auto`."""
    left = [seen.text for question, seen in answers if question.calls and not seen.calls]
    found = dict.fromkeys(name for text in left for name in dialects_of(text))
    return tuple(name for name in found if name != "auto")


def _findings(question: Question, answers: Mapping[Way, SeenAnswer]) -> dict[Way, Finding]:
    return {way: finding(question, seen) for way, seen in answers.items()}


def _with_lost(question: Question, findings: dict[Way, Finding]) -> dict[Way, Finding]:
    """Return findings in which a call that came in one way, and not at all in the other, is lost by the server."""
    if not question.calls or FINE not in findings.values():
        return findings
    lost = Finding("server", "the call is lost")
    return {way: lost if each.what == "called no tool" else each for way, each in findings.items()}


def _together(findings: Mapping[Way, Finding]) -> Finding:
    """Return the finding of all ways: the worst, which names the way where they differ."""
    wrong = {way: each for way, each in findings.items() if each != FINE}
    if not wrong:
        return FINE
    whats = {each.what for each in wrong.values()}
    by: Literal["server", "model"] = "server" if any(each.by == "server" for each in wrong.values()) else "model"
    if len(whats) == 1 and (len(wrong) == len(findings)):
        return Finding(by, *whats)
    return Finding(by, "; ".join(f"{way}: {each.what}" for way, each in wrong.items()))
