"""`Shown`: what a stream had shown when its source broke, and the messages with which another one goes on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..events.tool_invocation import ToolResult
from .base.request import AnswerCall, AnswerPart, CallResult, with_own_ids
from .recognition.apis import form_of

PREFILLED: Mapping[str, Mapping[str, Any]] = {
    "anthropic": {},
    "bedrock": {},
    "mistral": {"prefix": True},
    "ollama": {},
}
"""The providers that go on with an assistant's message at the end of a request, and what they want in it."""
_GO_ON = (
    "Your answer was cut off by a broken connection. Go on exactly where it ends: do not repeat any of it, and do not "
    "mention that."
)
_NO_RESULT = "the call was made before a connection broke; its result comes later"


class Shown:
    """What was shown before a source broke, for the source that goes on; `failover` makes it.

    >>> from penstock import ChunkResponse, Pipeline
    >>> from penstock.sources import failover
    >>> def second(shown):
    ...     print(repr(shown.text), *shown.messages("anthropic"))
    ...     return [ChunkResponse(content="is in.", finish_reason="stop")]
    >>> run = Pipeline().stream(failover([ChunkResponse(content="The tide ")], second))
    >>> _ = list(run)
    'The tide ' {'role': 'assistant', 'content': [{'type': 'text', 'text': 'The tide'}]}
    >>> run.answer.text
    'The tide is in.'

    It does not change.
    """

    __slots__ = ("_error", "_parts", "_ways")

    def __init__(self, parts: Sequence[AnswerPart] = (), error: Exception | None = None) -> None:
        self._parts = tuple(parts)
        self._error = error
        self._ways: list[bool] = []
        """Whether each request that was made goes on with the text itself."""

    @property
    def text(self) -> str:
        """The text, which the next source goes on with; empty if it begins the answer."""
        return "".join(each.text for each in self._parts)

    @property
    def calls(self) -> tuple[AnswerCall, ...]:
        """The calls that were whole, with their `id`, `name`, `arguments`: they run, and are not to be made again."""
        return tuple(each.call for each in self._parts if each.call is not None)

    @property
    def error(self) -> Exception | None:
        """Why the last source broke; None for the first source."""
        return self._error

    def messages(
        self, api: str, results: Iterable[ToolResult] = (), *, prefill: bool | None = None
    ) -> list[dict[str, Any]]:
        """Return what the request of the next source has after its messages; empty if nothing was shown.

            client.messages.create(messages=[*messages, *shown.messages("anthropic")], stream=True, ...)

        - `api`: as in `Answer.to_messages`.
        - `results`: those of the calls, if there are any yet. A call without one gets a result that says that it
          comes later.
        - `prefill`: whether the assistant's message is the last one, so that the model goes on with it, in the same
          segment. Without it a message of the user asks the model to go on, in a segment of its own. The default is
          what the provider can do: Anthropic, Bedrock, Mistral and Ollama take a prefill. Pass False for models that
          refuse it, as newer ones of Anthropic's do.
        """
        form = form_of(api)
        can_prefill = form.name in PREFILLED if prefill is None else prefill
        goes_on = can_prefill and not self.calls
        self._ways.append(goes_on)
        if goes_on:
            entries = form.entries(form.plain(_without_blanks(self._parts), []))
            return [{**each, **PREFILLED.get(form.name, {})} for each in entries]
        message = form.plain(self._parts, [])
        own, known = with_own_ids(form.calls(message), form.call_id), {each.id: each for each in results}
        answered = [
            CallResult(its_own, known.get(call.id) or ToolResult(call.id, value=_NO_RESULT))
            for call, its_own in zip(self.calls, own, strict=True)
        ]
        asked = form.results(answered) if answered else []
        return [*form.entries(message), *asked, *([form.user(_GO_ON)] if self._parts else [])]

    @property
    def goes_on(self) -> bool:
        """Whether the request that was made goes on with the text itself, as one of your own does."""
        return not self.calls and (not self._ways or self._ways[-1])

    @property
    def is_prefilled(self) -> bool:
        """Whether `messages` made a request that goes on with the text itself."""
        return bool(self._ways) and self._ways[-1]

    def __repr__(self) -> str:
        return f"<Shown {self.text!r:.80}, {len(self.calls)} calls, {self._error!r}>"


def _without_blanks(parts: Sequence[AnswerPart]) -> list[AnswerPart]:
    """Return texts without blanks at the end, which Anthropic refuses; what is left out is expected again."""
    texts = list(parts)
    while texts and not texts[-1].text.rstrip():
        texts.pop()
    return [*texts[:-1], AnswerPart(texts[-1].type, texts[-1].text.rstrip())] if texts else []
