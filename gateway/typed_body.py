"""What the bodies of the three APIs have in common: checked fields, known parts, tool names that every server takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from .neutral import Image, Message, Part, RequestError, Role, Text

Body: TypeAlias = dict[str, Any]
Content: TypeAlias = str | list[Body] | None
Arguments: TypeAlias = str | Body | None
_T = TypeVar("_T")
_Known = TypeVar("_Known", bound=Struct)
_PLACE = re.compile(r"(.+?)(?: - at `(?:key` in `)?\$(.*)`)?", re.DOTALL)
_NUMBER = re.compile(r"\[\d+\]")
ROLES: Mapping[str, Role] = {"developer": "system", "system": "system", "user": "user", "assistant": "assistant"}
"""The roles of OpenAI's APIs that say something."""


def typed(kind: type[_T], value: object, where: str = "") -> _T:
    """Return a value of a body as a type; `RequestError` with the place of what is wrong in it."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        found = _PLACE.fullmatch(str(error))
        said, place = found.groups() if found else (str(error), "")
        field = f"{where}{place or ''}".lstrip(".")
        raise RequestError(said[:1].lower() + said[1:], field=field or "the body") from error


def known(
    kinds: Mapping[str, type[_Known]], values: list[Body], where: str, dropped: list[str], usual: str = ""
) -> Iterator[_Known]:
    """Yield the values of known types; the others are dropped, with a word.

    `usual`: the type of a value that does not say it.
    """
    for place, value in enumerate(values):
        name = value.get("type", usual)
        if isinstance(name, str) and name in kinds:
            yield typed(kinds[name], value, f"{where}[{place}]")
        else:
            dropped.append(f"{name!s:.40} in {_NUMBER.sub('', where)}")


class Sampling(Struct):
    """The sampling options that are passed on, with their types."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    chat_template_kwargs: dict[str, Any] | None = None


def sampling(body: Body) -> Body:
    """Return the sampling options of a body as they came."""
    typed(Sampling, body)
    return {key: body[key] for key in Sampling.__struct_fields__ if body.get(key) is not None}


def set_fields(body: Body, names: Iterable[str]) -> list[str]:
    """Return a word for each field that asks for something which is not done here."""
    return [name for name in names if body.get(name)]


class _TextPart(Struct):
    text: str


class _Refusal(Struct):
    refusal: str


class _Address(Struct):
    url: str


class _ImagePart(Struct):
    image_url: str | _Address | None = None


_PARTS: Mapping[str, type[Struct]] = {
    **dict.fromkeys(("text", "input_text", "output_text", "summary_text", "reasoning_text"), _TextPart),
    **dict.fromkeys(("image_url", "input_image"), _ImagePart),
    "refusal": _Refusal,
}


def openai_parts(content: Content, where: str, dropped: list[str]) -> tuple[Text | Image, ...]:
    """Return content of OpenAI's APIs as parts; empty text is none."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    parts: list[Text | Image] = []
    for part in known(_PARTS, content or [], where, dropped):
        match part:
            case _TextPart(text=text) | _Refusal(refusal=text):
                if text:
                    parts.append(Text(text))
            case _ImagePart(image_url=str(url)) | _ImagePart(image_url=_Address(url=url)):
                parts.append(Image(url))
            case _:
                dropped.append("an image that is not in the request")
    return tuple(parts)


def texts_of(parts: Iterable[Part], between: str = "\n\n") -> str:
    """Return the texts among some parts, joined."""
    return between.join(each.text for each in parts if isinstance(each, Text))


def add(messages: list[Message], role: Role, parts: Iterable[Part]) -> None:
    """Add parts to a conversation: to its last message if that is the assistant's too, or has results too."""
    if messages and role in ("assistant", "tool") and messages[-1].role == role:
        parts = (*messages.pop().parts, *parts)
    messages.append(Message(role, tuple(parts)))


class ToolNames:
    """Names that every server takes, each once, for the names of a request's tools.

    >>> names = ToolNames()
    >>> names.flat("now"), names.flat("now", "clock"), names.flat("a.b"), names.flat("a b")
    ('now', 'clock__now', 'a_b', 'a_b_2')
    >>> names.changed
    {'clock__now': ('clock', 'now'), 'a_b': (None, 'a.b'), 'a_b_2': (None, 'a b')}
    """

    MOST = 64

    def __init__(self) -> None:
        self._flat: dict[tuple[str | None, str], str] = {}
        self.changed: dict[str, tuple[str | None, str]] = {}
        """By the new name the namespace and the name of the client, where they differ."""

    def flat(self, name: str, namespace: str | None = None) -> str:
        """Return the one name of a tool; the same for the same tool."""
        own = namespace or None, name
        if own not in self._flat:
            self._flat[own] = made = self._free(f"{namespace}__{name}" if namespace else name)
            if made != name:
                self.changed[made] = own
        return self._flat[own]

    def _free(self, wanted: str) -> str:
        fitting = re.sub(r"[^a-zA-Z0-9_-]", "_", wanted) or "_"
        if len(fitting) > self.MOST:
            fitting = f"{fitting[: self.MOST - 9]}_{sha256(wanted.encode(errors='replace')).hexdigest()[:8]}"
        taken, made, number = set(self._flat.values()), fitting, 1
        while made in taken:
            number += 1
            end = f"_{number}"
            made = f"{fitting[: self.MOST - len(end)]}{end}"
        return made


def arguments_of(text: str) -> Body:
    """Return a call's arguments, in the form of Anthropic's documentation if they are not a JSON object.

    >>> arguments_of('{"n": 1}'), arguments_of(""), arguments_of('{"n": ')
    ({'n': 1}, {}, {'INVALID_JSON': '{"n": '})
    """
    if not text.strip():
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (ValueError, RecursionError):  # ValueError is the base of msgspec's own and of what a lone surrogate raises
        return {"INVALID_JSON": text}


def json_of(value: object) -> str:
    """Return arguments as text."""
    return json.dumps(value, ensure_ascii=False)


def text_of(arguments: Arguments) -> str:
    """Return the text of a call's arguments, which some clients send as an object, or not at all."""
    return arguments if isinstance(arguments, str) else json_of(arguments or {})
