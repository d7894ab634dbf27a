"""Neutral requests that an API can say."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from penstock.gateway.neutral import (
    AnswerSchema,
    Api,
    Call,
    Image,
    Message,
    NeutralRequest,
    Part,
    Reasoning,
    Result,
    Role,
    Text,
    ToolSpec,
)
from penstock.gateway.openai_tools import FREE_FORM, NO_PARAMETERS
from penstock.gateway.typed_body import ToolNames

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
NAMES = st.text("abcdefgh_-XYZ019", min_size=1, max_size=12)
IDS = st.text("abc:._09", min_size=1, max_size=8)
SYSTEM = WORDS.filter(lambda text: not text.startswith("x-anthropic-billing-header:")).map(Text)
TEXTS: st.SearchStrategy[Part] = SYSTEM
IMAGES: st.SearchStrategy[Part] = st.sampled_from(
    [Image("https://example.org/a.png"), Image("data:image/png;base64,iVBORw0="), Image("data:image/svg+xml,<svg/>")]
)
SCHEMAS = st.dictionaries(st.sampled_from(["type", "title", "properties"]), WORDS, min_size=1)
OBJECTS = st.dictionaries(WORDS, st.integers() | WORDS | st.none() | st.lists(st.booleans(), max_size=2), max_size=3)
BROKEN = st.sampled_from(["", '{"a": ', "null", "[1]", "not JSON", '{"a": NaN}'])


@st.composite
def neutral_requests(draw: st.DrawFn, api: Api) -> NeutralRequest:
    """Return a request with everything that the API can say, and nothing else."""
    is_chat, is_responses, is_anthropic = (
        api == name for name in ("openai-chat", "openai-responses", "anthropic-messages")
    )
    names = ToolNames()
    tools = draw(_tools(names, namespaces=is_responses, free_form=not is_anthropic))
    free_form = [each.name for each in tools if each.is_free_form]
    functions = [each.name for each in tools if not each.is_free_form]
    messages = draw(_conversation(api, functions, free_form))
    is_named = len(tools) > 0 and draw(st.booleans())
    named = draw(st.sampled_from([each.name for each in tools])) if is_named else None
    extra: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(("top_p", "min_p"), st.floats(0, 1)),
        **dict.fromkeys(("temperature", "presence_penalty", "frequency_penalty"), st.sampled_from([0, -0.5, 2])),
        **dict.fromkeys(("top_k", "seed"), st.integers(0, 99)),
        "chat_template_kwargs": OBJECTS,  # servers of open models take these in each of the APIs
    }
    schema = st.builds(AnswerSchema, SCHEMAS)
    if not is_anthropic:
        schema |= st.builds(AnswerSchema, SCHEMAS, NAMES, st.sampled_from([None, True, False]))
        schema |= st.just(AnswerSchema())
    return NeutralRequest(
        api=api,
        model=draw(WORDS),
        messages=messages,
        system=() if is_chat else tuple(draw(st.lists(SYSTEM, max_size=1 if is_responses else 3))),
        tools=tools,
        tool_choice="required" if named is not None else draw(st.sampled_from(["auto", "none", "required"])),
        named_tool=named,
        parallel_calls=draw(st.sampled_from([None, True, False])) if tools else None,
        max_tokens=draw(st.none() | st.integers(1, 99)),
        stop=() if is_responses else tuple(draw(st.lists(WORDS, max_size=3))),
        schema=draw(st.none() | schema),
        effort=draw(st.sampled_from([None, "none", "low", "xhigh"])),
        stream=draw(st.booleans()),
        include_usage=is_chat and draw(st.booleans()),
        previous_response_id=draw(st.none() | IDS) if is_responses else None,
        names=names.changed,
        extra=draw(st.fixed_dictionaries({}, optional=extra)),
        store=not is_responses or draw(st.booleans()),
    )


@st.composite
def _tools(draw: st.DrawFn, names: ToolNames, *, namespaces: bool, free_form: bool) -> tuple[ToolSpec, ...]:
    owners = st.sampled_from([None, "agents", "files"]) if namespaces else st.none()
    said = draw(st.lists(st.tuples(owners, NAMES), max_size=4, unique=True))
    return tuple(draw(_tool(names.flat(name, owner), free_form=free_form)) for owner, name in said)


@st.composite
def _tool(draw: st.DrawFn, name: str, *, free_form: bool) -> ToolSpec:
    description = draw(st.just("") | WORDS)
    if free_form and draw(st.booleans()):
        return ToolSpec(name, description, dict(FREE_FORM), is_free_form=True)
    parameters = draw(SCHEMAS | st.just(dict(NO_PARAMETERS)))
    return ToolSpec(name, description, parameters, draw(st.sampled_from([None, True, False])))


@st.composite
def _conversation(draw: st.DrawFn, api: Api, functions: list[str], free_form: list[str]) -> tuple[Message, ...]:
    messages: list[Message] = []
    parts: list[Part]
    roles: st.SearchStrategy[Role] = st.sampled_from(["system", "user", "assistant", "tool"])
    for role in draw(st.lists(roles, min_size=1, max_size=6)):
        if messages and messages[-1].role == role and role in ("assistant", "tool"):
            continue
        if role == "tool":
            parts = draw(st.lists(_results(api), min_size=1, max_size=3))
        elif role == "assistant":
            parts = draw(_said(api, functions, free_form))
        else:
            parts = draw(st.lists(TEXTS | IMAGES if role == "user" else TEXTS, max_size=3))
        messages.append(Message(role, tuple(parts)))
    return tuple(messages)


def _results(api: Api) -> st.SearchStrategy[Part]:
    shown = TEXTS if api == "openai-chat" else TEXTS | IMAGES
    errors = st.booleans() if api == "anthropic-messages" else st.just(False)
    return st.builds(Result, IDS, st.lists(shown, max_size=3).map(tuple), errors)


@st.composite
def _said(draw: st.DrawFn, api: Api, functions: list[str], free_form: list[str]) -> list[Part]:
    """Return what the assistant says: in chat the thoughts, then the text, then the calls; else in any order."""
    arguments = OBJECTS.map(lambda value: json.dumps(value, ensure_ascii=False))
    if api != "anthropic-messages":
        arguments |= BROKEN
    names = st.sampled_from(functions) if functions else NAMES.filter(lambda name: name not in free_form)
    calls: st.SearchStrategy[Part] = st.builds(Call, IDS, names, arguments)
    if free_form:
        inputs = WORDS.map(lambda text: json.dumps({"input": text}, ensure_ascii=False))
        calls |= st.builds(Call, IDS, st.sampled_from(free_form), inputs)
    if api == "openai-chat":
        return [
            *draw(st.lists(st.builds(Reasoning, WORDS), max_size=1)),
            *draw(st.lists(TEXTS, max_size=2)),
            *draw(st.lists(calls, max_size=2)),
        ]
    thoughts: st.SearchStrategy[Part] = st.builds(Reasoning, WORDS, st.just("") | WORDS)
    return draw(st.lists(TEXTS | thoughts | calls, max_size=4))
