"""`completion_body`: a request as a prompt, for servers that must not see messages and tools lest they parse calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..operators.catalogue.dialect_for import dialects_named
from ..operators.grammar.dialect import Dialect
from ..operators.grammar.grammar_items import leaves_of
from .chat_template import ChatTemplate
from .neutral import NeutralRequest
from .typed_body import Body, Sampling
from .upstream_body import Server, upstream_body


class Completion(NamedTuple):
    """What a server is asked.

    - `path`, `body`: where, and with what. `api`: in which form it answers.
    - `starts_in_reasoning`: whether the prompt ends with the opener of the reasoning; None if that is not known.
    """

    path: str
    body: Body
    api: str
    starts_in_reasoning: bool | None


_ALL: Final[Mapping[str, Mapping[str, Any]]] = {
    "vllm": {"max_tokens": None, "skip_special_tokens": False},
    "sglang": {"max_tokens": None, "skip_special_tokens": False},
    "lmstudio": {"max_tokens": -1},
    "openai": {"max_tokens": None},
}
"""What a server is told for each completion: as many tokens as fit, for its default is 16, and no marker left out."""
GENERATE: Final = "/api/generate"
"""Where Ollama completes a prompt."""
_THINK: Final = "<think>"
_TAG: Final = re.compile(r"<[^<>]+>")
_SHORT: Final = 2
"""The length up to which a marker is a sign that other texts have, too."""


def completion_body(
    request: NeutralRequest,
    template: ChatTemplate,
    *,
    server: str,
    model: str,
    dialects: Sequence[str | Dialect],
    dropped: list[str],
) -> Completion:
    """Return what a server is asked to complete: `/v1/completions`, or Ollama's `/api/generate` as it is.

    >>> from penstock.gateway.read_request import read_request
    >>> asked = read_request("openai-chat", {"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
    >>> template = ChatTemplate("<|user|>{{ messages[0].content }}<|assistant|><think>")
    >>> completion = completion_body(asked, template, server="ollama", model="qwen3", dialects=["hermes"], dropped=[])
    >>> completion.path, completion.body["prompt"], completion.starts_in_reasoning
    ('/api/generate', '<|user|>Hi<|assistant|><think>', True)

    - `dialects`: in which the answer is read. The server is to stop at the texts with which the template ends an
      answer, unless a dialect reads them.
    - `dropped`: gets a word for what the model is not told.

    A prompt has no fields: the choice of a tool, one call at a time and the form of the answer are said in words.
    """
    habits = template.habits
    row = Server(
        takes_system=habits.takes_system,
        takes_choice=False,
        takes_parallel=False,
        takes_schema=False,
        takes_any_effort=True,
        reasoning=habits.reasoning,
    )
    chat = upstream_body(request, lane="raw", server=row, model=model, images=False, dropped=dropped)
    if request.tools and not habits.shows_tools:
        dropped.append("tools, which the template does not show")
    read = dialects_named(*dialects)
    prompt = template.prompt(chat)
    openers = (_THINK, *(opener for dialect in read for opener, _ in dialect.reasoning))
    starts_in_reasoning = prompt.rstrip().endswith(tuple(opener.rstrip() for opener in openers if opener.strip()))
    markers = list(dict.fromkeys(marker for dialect in read for marker in _markers(dialect)))
    stop = [
        *chat.get("stop", ()),
        *(end for end in template.ends if not any(_overlap(end, marker) for marker in markers)),
    ]
    options = {key: chat[key] for key in Sampling.__struct_fields__ if key in chat and key != "chat_template_kwargs"}
    options |= {"stop": stop} if stop else {}
    asked: Body = {"model": model, "prompt": prompt, "stream": True}
    if server == "ollama":
        options["num_predict"] = chat.get("max_tokens", -1)
        # Without `think` it takes the thinking out of the text, and without `truncate` it may cut the tools off.
        body = {**asked, "raw": True, "think": False, "truncate": False, "options": options}
        return Completion(GENERATE, body, "ollama", starts_in_reasoning)
    limit = {"max_tokens": chat["max_tokens"]} if "max_tokens" in chat else {}
    kept = {"preserved_tokens": _tokens(markers)} if server == "llamacpp" else {}
    body = {**asked, "stream_options": {"include_usage": True}, **_ALL.get(server, {}), **kept, **options, **limit}
    return Completion("/v1/completions", body, "openai-chat", starts_in_reasoning)


def _markers(dialect: Dialect) -> Iterator[str]:
    """Yield the texts that mean something in a dialect, but for the signs of JSON and the like."""
    literals = (each for each in leaves_of(dialect.grammar) if isinstance(each, str))
    for marker in (*literals, *(each for pair in dialect.reasoning for each in pair)):
        if len(marker := marker.strip()) > _SHORT:
            yield marker


def _tokens(markers: Sequence[str]) -> list[str]:
    """Return the tags and the markers that may be tokens of their own, which llama.cpp else leaves out."""
    return list(dict.fromkeys(each for marker in markers for each in (marker, *_TAG.findall(marker))))


def _overlap(end: str, marker: str) -> bool:
    return marker in end or end in marker
