"""One request of any of the three APIs, as what it means: messages, tools, and what limits the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from ..events.errors import PenstockError

Api: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic-messages"]
ANSWER_IDS: Final[Mapping[Api, str]] = {
    "openai-chat": "chatcmpl-",
    "openai-responses": "resp_",
    "anthropic-messages": "msg_",
}
"""What the id of an answer begins with, before a number of 32 hexadecimal digits."""
ANSWER_ID: Final = f"(?:{'|'.join(ANSWER_IDS.values())})[0-9a-f]{{32}}"
"""The pattern of such an id."""
Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Choice: TypeAlias = Literal["auto", "none", "required"]


class RequestError(PenstockError):
    """A request of a client that cannot be answered: which field is wrong, and how.

    `type` is the word of all three APIs for it, `code` OpenAI's word for the case, if it has one.
    """

    type = "invalid_request_error"

    def __init__(self, detail: str, *, field: str = "", status: int = 400, code: str | None = None) -> None:
        super().__init__(f"{field}: {detail}" if field else detail)
        self.field = field
        self.status = status
        self.code = code


class Text(Struct, frozen=True, tag="text"):
    """Text that is said or shown."""

    text: str


class Image(Struct, frozen=True, tag="image"):
    """An image: a `data:` or an `https:` address."""

    url: str


class Reasoning(Struct, frozen=True, tag="reasoning"):
    """What the model thought before it went on; `proof` is what its API wants back unchanged."""

    text: str
    proof: str = ""


class Call(Struct, frozen=True, tag="call"):
    """A call of the model: `name` is the name that the upstream knows; `arguments` the text as it was sent."""

    id: str
    name: str
    arguments: str


class Result(Struct, frozen=True, tag="result"):
    """What a call returned."""

    call_id: str
    parts: tuple[Text | Image, ...] = ()
    is_error: bool = False


Part: TypeAlias = Text | Image | Reasoning | Call | Result


class Message(Struct, frozen=True):
    """One message. Results stand in messages of the role `tool`, calls and reasoning in those of the assistant.

    The results of one turn are one message, as is all that the assistant says before somebody else does.
    """

    role: Role
    parts: tuple[Part, ...] = ()


class ToolSpec(Struct, frozen=True):
    """A function that the model may call, under the name that the upstream knows.

    `is_free_form`: the client wants its input as text. The model sees a function with the argument `input`.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}  # msgspec gives each instance its own
    strict: bool | None = None
    is_free_form: bool = False


class AnswerSchema(Struct, frozen=True):
    """The JSON Schema that an answer is to have; without a schema any JSON object."""

    schema: dict[str, Any] | None = None
    name: str = "answer"
    strict: bool | None = None


class NeutralRequest(Struct, frozen=True, kw_only=True):
    """What a client asks for.

    - `system`: what is said before all messages: Anthropic's `system`, the `instructions` of Responses.
    - `tool_choice`: one of the words; "required" with a name in `named_tool` asks for that tool.
    - `names`: by the upstream's name of a tool its name and namespace for the client, where they differ.
    - `dropped`: what the request wants and nobody can do here, a word for each; for the log.
    - `extra`: sampling options that all upstreams take, as they came: temperature, top_p, top_k, seed and the like.
    - `store`: whether the answer may be continued by `previous_response_id`.
    """

    api: Api
    model: str
    messages: tuple[Message, ...]
    system: tuple[Text, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Choice = "auto"
    named_tool: str | None = None
    parallel_calls: bool | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    schema: AnswerSchema | None = None
    effort: str | None = None
    stream: bool = False
    include_usage: bool = False
    previous_response_id: str | None = None
    names: Mapping[str, tuple[str | None, str]] = {}
    extra: Mapping[str, Any] = {}
    dropped: tuple[str, ...] = ()
    store: bool = True
