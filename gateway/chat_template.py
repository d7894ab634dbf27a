"""`ChatTemplate`: a model's own chat template, as Hugging Face's files have it, which makes the prompt of a request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import product
from pathlib import Path
from traceback import extract_tb
from typing import Any, Final, NamedTuple

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ..events.errors import UsageError
from ..sources.base.sdk_fields import Fields, entries_of, fields_of
from .neutral import RequestError
from .typed_body import Body, arguments_of

_CONFIG: Final = "tokenizer_config.json"
_LONGEST_FILE: Final = 16 * 1024 * 1024
"""Bytes; the configuration of a tokenizer lists all its tokens."""
_LONGEST_PROMPT: Final = 64 * 1024 * 1024
_TAG: Final = re.compile(r"\s*(<[^<>\n]+>)")
_SHORT_ID: Final = 9
"""The length of the ids that Mistral's templates take; no others."""


class Habits(NamedTuple):
    """What a template does, as it is found out by asking it.

    - `shows_tools`: whether the model gets to know the tools. `takes_calls`: whether calls may be in the conversation.
    - `takes_text`: whether it wants the arguments of a call as text, and not as an object.
    - `takes_short_ids`: whether it refuses ids but those of nine letters and digits.
    - `takes_system`: whether the system may speak.
    - `reasoning`: the key of a message for what the model thought; empty if it leaves that out. `takes_both`: whether
      there may be text too before a call.
    - `end`: the tag that it writes behind an answer, with which the model ends it; empty if it writes none.
    """

    shows_tools: bool
    takes_system: bool
    end: str
    takes_calls: bool = False
    takes_text: bool = False
    takes_short_ids: bool = False
    reasoning: str = ""
    takes_both: bool = True


class ChatTemplate:
    """A template, in jinja2's sandbox, where it reaches no file and no attribute that is not data.

    >>> template = ChatTemplate("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]")
    >>> template.prompt({"messages": [{"role": "user", "content": "Hi"}]})
    '[user]Hi[assistant]'

    - `source`: its text. `for_tools`: that of another one for requests with tools, if there is one.
    - `name`: what errors call it; the path of its file.
    - `tokens`: the special tokens that it may name, such as `bos_token`.
    - `adds_begin`: whether servers put `bos_token` before each prompt, so that the template's own is left out.

    `UsageError` with the line for what is no template.
    """

    def __init__(
        self,
        source: str,
        *,
        for_tools: str | None = None,
        name: str = "chat_template.jinja",
        tokens: Mapping[str, str] | None = None,
        adds_begin: bool = True,
    ) -> None:
        self.name = name
        self._tokens = dict(tokens or {})
        self._begin = self._tokens.get("bos_token", "") if adds_begin else ""
        self._plain = _compiled(source, name)
        self._for_tools = self._plain if for_tools is None else _compiled(for_tools, name)
        self.habits = _habits_of(self._render)

    @property
    def ends(self) -> tuple[str, ...]:
        """The texts with which the model ends an answer."""
        return tuple(dict.fromkeys(each for each in (self.habits.end, self._tokens.get("eos_token", "")) if each))

    def prompt(self, body: Mapping[str, Any]) -> str:
        """Return the prompt for the body of a chat: its `messages`, `tools` and `chat_template_kwargs`.

        A message of the assistant that is the last one is gone on with. `RequestError` with the template's own words,
        and its line, where it refuses the messages.
        """
        messages = [*_in_form(body["messages"], self.habits)]
        last = messages[-1]
        begun: str = last["content"].strip() if last["role"] == "assistant" and "tool_calls" not in last else ""
        variables = {**body.get("chat_template_kwargs", {})}
        if (effort := body.get("reasoning_effort")) is not None:
            variables["reasoning_effort"] = effort
        tools = [_described(each) for each in body.get("tools", ())]
        try:
            prompt = self._render(messages, tools, variables, is_open=not begun)
        except _TemplateError as error:
            raise RequestError(str(error), field="messages") from error
        if begun not in prompt:
            message = f"the chat template changes the assistant's last one ({self.name}), which cannot be gone on with"
            raise RequestError(message, field="messages")
        end = prompt.rindex(begun) + len(begun) if begun else None
        return prompt[:end].removeprefix(self._begin)

    def _render(
        self,
        messages: Sequence[Body],
        tools: Sequence[Body] = (),
        variables: Mapping[str, Any] | None = None,
        *,
        is_open: bool = True,
    ) -> str:
        """Return the text for messages; `is_open`: with the beginning of the answer."""
        given = {
            **(variables or {}),
            **self._tokens,
            "messages": messages,
            "tools": [*tools] or None,
            "add_generation_prompt": is_open,
        }
        pieces: list[str] = []
        length = 0
        try:
            for piece in (self._for_tools if tools else self._plain).generate(given):
                pieces.append(piece)
                length += len(piece)
                if length > _LONGEST_PROMPT:
                    _refuse(f"it writes more than {_LONGEST_PROMPT} characters")
        except Exception as error:  # whatever the code of a template runs into
            lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == self.name]
            place = f"{self.name}, line {lines[-1]}" if lines else self.name
            said = str(error) if isinstance(error, _RefusedError) else f"{type(error).__name__}: {error}"
            message = f"the chat template refuses them ({place}): {said}"
            raise _TemplateError(message) from error
        return "".join(pieces)


def read_template(path: str | Path) -> ChatTemplate:
    """Return the template of a file: `chat_template.jinja`, or a JSON with `chat_template`, as `tokenizer_config.json`.

    Of a template without JSON the tokens are those of the `tokenizer_config.json` beside it, if there is one.
    `UsageError` with the file, and the line where there is one, for what cannot be used.
    """
    path = Path(path)
    text = _text_of(path)
    if text.lstrip().startswith("{") and (config := _object_in(text)) is not None:
        plain, for_tools = _templates_in(config, path)
    else:
        plain, for_tools = text, None
        beside = path.with_name(_CONFIG)
        config = (_object_in(_text_of(beside)) if beside.is_file() else None) or {}
    return ChatTemplate(
        plain,
        for_tools=for_tools,
        name=str(path),
        tokens=dict(_tokens_in(config)),
        adds_begin=config.get("add_bos_token") is not False,
    )


def _text_of(path: Path) -> str:
    try:
        if path.stat().st_size > _LONGEST_FILE:
            message = f"{path} is longer than {_LONGEST_FILE} bytes; pass the model's chat_template.jinja"
            raise UsageError(message)
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        message = f"cannot read the chat template {path}: {why}"
        raise UsageError(message) from error


def _object_in(text: str) -> Fields | None:
    """Return a JSON object; None for other text, as a template may begin with a brace too."""
    try:
        return fields_of(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _templates_in(config: Fields, path: Path) -> tuple[str, str | None]:
    """Return the template of a configuration, and the one for tools, where it has several by name."""
    given = config.get("chat_template")
    if isinstance(given, str):
        return given, None
    named = {each.get("name"): each.get("template") for each in map(fields_of, entries_of(given)) if each}
    plain, for_tools = named.get("default"), named.get("tool_use")
    if isinstance(plain, str):
        return plain, for_tools if isinstance(for_tools, str) else None
    message = f"{path} has no chat_template; newer models have it in a chat_template.jinja beside it"
    raise UsageError(message)


def _tokens_in(config: Fields) -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        text = (fields_of(value) or {}).get("content") if isinstance(value, dict) else value
        if key.endswith("_token") and isinstance(text, str):
            yield key, text


class _TemplateError(Exception):
    """What a template says of messages that it does not take."""


class _RefusedError(Exception):
    """A template's own `raise_exception`."""


def _refuse(message: object) -> None:
    raise _RefusedError(str(message))


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox of Hugging Face, in which templates that were changed for llama.cpp may keep queues, too."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return super().is_safe_attribute(obj, attr, value) or (isinstance(obj, list) and attr in ("append", "pop"))


class _Generation(Extension):
    """`{% generation %}` marks, for training, what the model wrote; it changes no text."""

    tags = {"generation"}  # noqa: RUF012 - the type that jinja2 has

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _to_json(
    value: Any,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    *,
    ensure_ascii: bool = False,
    sort_keys: bool = False,
) -> str:
    """Return JSON as models were trained with it: in the order of its keys, and with no escape for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _now(form: str) -> str:
    return datetime.now().strftime(form)  # noqa: DTZ005 - the model is told the date of this place


def _compiled(source: str, name: str) -> jinja2.Template:
    environment = _Environment(trim_blocks=True, lstrip_blocks=True, extensions=(_Generation, loopcontrols))
    environment.filters["tojson"] = _to_json
    try:
        code = environment.compile(source, name, name)
    except jinja2.TemplateSyntaxError as error:
        message = f"the chat template {name} cannot be read, line {error.lineno}: {error.message}"
        raise UsageError(message) from error
    functions = environment.make_globals({"raise_exception": _refuse, "strftime_now": _now})
    return environment.template_class.from_code(environment, code, functions)


def _in_form(messages: Sequence[Body], habits: Habits) -> Iterator[Body]:
    """Yield the messages of a chat as a template takes them; results get the name of their tool."""
    names: dict[str, str] = {}
    for message in messages:
        if calls := message.get("tool_calls"):
            names |= {each["id"]: each["function"]["name"] for each in calls}
            thought, said = message.get(habits.reasoning), message["content"]
            as_one = {habits.reasoning: f"{thought}\n\n{said}", "content": ""}
            one = as_one if thought and said and not habits.takes_both else {}
            yield {**message, **one, "tool_calls": [_call_in_form(each, habits) for each in calls]}
        elif message["role"] == "tool":
            call_id = message["tool_call_id"]
            name = {"name": names[call_id]} if call_id in names else {}
            yield {**message, **name, "tool_call_id": _id_in_form(call_id, habits)}
        else:
            yield message


def _call_in_form(call: Body, habits: Habits) -> Body:
    function = call["function"]
    arguments = function["arguments"] if habits.takes_text else arguments_of(function["arguments"])
    return {**call, "id": _id_in_form(call["id"], habits), "function": {**function, "arguments": arguments}}


def _id_in_form(call_id: str, habits: Habits) -> str:
    return sha256(call_id.encode(errors="replace")).hexdigest()[:_SHORT_ID] if habits.takes_short_ids else call_id


def _described(tool: Body) -> Body:
    """Return a tool with a description, which templates join to other text."""
    function = tool["function"]
    return {**tool, "function": {"name": function["name"], "description": "", **function}}


_SYSTEM: Final[Body] = {"role": "system", "content": "probe-system"}
_ASKED: Final[Body] = {"role": "user", "content": "probe-question"}
_SAID: Final = "probe-answer"
_THOUGHT: Final = "probe-thought"
_TOOL: Final[Body] = {
    "type": "function",
    "function": {
        "name": "probe_tool",
        "description": "Looks.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string", "description": "Where."}}},
    },
}
_ARGUMENTS: Final = '{"place": "probe-place"}'
_CALL: Final[Body] = {
    "id": "call_of_probe",
    "type": "function",
    "function": {"name": "probe_tool", "arguments": _ARGUMENTS},
}
_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
"""The keys under which templates read what the model thought."""


def _habits_of(render: Callable[..., str]) -> Habits:
    """Return what a template does with a few conversations; what it refuses, it does not do."""

    def rendered(*said: Body, before: Sequence[Body] = (), tools: Sequence[Body] = (), is_open: bool = True) -> str:
        try:
            return render([*before, _ASKED, *said], tools, is_open=is_open)
        except _TemplateError:
            return ""

    def with_call(form: Habits, **more: Any) -> str:
        called = {"role": "assistant", "content": "", "tool_calls": [_CALL], **more}
        result = {"role": "tool", "tool_call_id": _CALL["id"], "content": "probe-result"}
        return rendered(*_in_form([called, result], form), tools=[_TOOL])

    tools = () if rendered() else [_TOOL]  # some are for requests with tools alone
    question = rendered(tools=tools, is_open=False)
    answer = rendered({"role": "assistant", "content": _SAID}, tools=tools, is_open=False)
    end = answer.partition(_SAID)[2]
    if question == rendered(tools=tools):  # it begins an answer, if it does so, whether it is told to or not
        end = end.removesuffix(question.partition(_ASKED["content"])[2])
    found = Habits(
        shows_tools=_TOOL["function"]["name"] in rendered(tools=[_TOOL]),
        takes_system=bool(rendered(before=[_SYSTEM], tools=tools)),
        end=tag[1] if (tag := _TAG.match(end)) else "",
    )
    for takes_text, takes_short_ids in product((False, True), repeat=2):
        form = found._replace(takes_calls=True, takes_text=takes_text, takes_short_ids=takes_short_ids)
        written = with_call(form)
        # An object that is joined to text by a template for texts is written as Python does it.
        if "probe-place" in written and repr(json.loads(_ARGUMENTS)) not in written:
            found = form
            break
    for key in _REASONING:
        thought = {"role": "assistant", "content": _SAID, key: _THOUGHT}
        if _THOUGHT in (with_call(found, **{key: _THOUGHT}) + rendered(thought)):
            takes_both = not found.takes_calls or bool(with_call(found, **thought))
            return found._replace(reasoning=key, takes_both=takes_both)
    return found
