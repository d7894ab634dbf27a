"""How an answer ends: the finish reasons of every API as words of ours, and errors, wherever they come from.

A finish is regular if the model ended the answer by itself, so it finished what it began. Unknown words are not
regular.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from copy import copy
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, TypeAlias

from ...events.chunk_response import FinishReason
from ...events.errors import ProviderError
from ...operators.calls.answer_segments import REGULAR
from .sdk_fields import Fields, entries_of, fields_of, plain_json, without_halves


class Finish(NamedTuple):
    """Our finish reason, and whether the model ended the answer by itself."""

    reason: FinishReason
    is_regular: bool = False

    def finish_fields(self, words: str, reason: FinishReason | None = None) -> dict[str, Any]:
        """Return the fields of the finish chunk; `words` is the provider's finish reason, `reason` replaces ours."""
        reason = reason or self.reason
        told = {"is_complete": True, "finish_reason": reason, "finish_reason_raw": without_halves(words)}
        return told if self.is_regular or reason not in REGULAR else {**told, "is_cut": True}


FinishReasons: TypeAlias = dict[str, Finish]

_STOP, _CALLS, _PAUSE = Finish("stop", True), Finish("tool_calls", True), Finish("pause", True)  # noqa: FBT003
_LENGTH, _FILTER, _REFUSAL = Finish("length"), Finish("content_filter"), Finish("refusal")
_ERROR, _OTHER = Finish("error"), Finish("other")

CHAT_FINISHES: FinishReasons = {
    "stop": _STOP,
    "length": _LENGTH,
    "tool_calls": _CALLS,
    "function_call": _CALLS,
    "content_filter": _FILTER,
    "refusal": _REFUSAL,
    "pause": _PAUSE,
    "error": _ERROR,
    "malformed_function_call": _ERROR,  # Gemini's, through its servers in this form
    # relatives
    "end_turn": _STOP,
    "eos": _STOP,
    "stop_sequence": _STOP,
    "max_tokens": _LENGTH,
    "model_length": _LENGTH,
    "tool_use": _CALLS,
    "tool_call": _CALLS,
    "sensitive": _FILTER,
    "safety": _FILTER,
    "network_error": _ERROR,
    "insufficient_system_resource": _ERROR,
}

RESPONSES_FINISHES: FinishReasons = {
    "completed": _STOP,
    "max_output_tokens": _LENGTH,
    "max_messages": _LENGTH,
    "content_filter": _FILTER,
    "steered": Finish("pause"),  # cut where the user spoke; a response that goes on follows
    "cancelled": _OTHER,
    "failed": _OTHER,
    "in_progress": _OTHER,
    "incomplete": _LENGTH,
    "queued": _OTHER,
}
"""Finish reasons of the Responses API, by the status of a response and by its reason for being incomplete."""

ANTHROPIC_FINISHES: FinishReasons = {
    "end_turn": _STOP,
    "stop_sequence": _STOP,
    "max_tokens": _LENGTH,
    "model_context_window_exceeded": _LENGTH,
    "tool_use": _CALLS,
    "pause_turn": _PAUSE,
    "compaction": _PAUSE,  # the API stopped to show its summary: the same request goes on
    "refusal": _REFUSAL,
}

GEMINI_FINISHES: FinishReasons = {
    "STOP": _STOP,
    "MAX_TOKENS": _LENGTH,
    "SAFETY": _FILTER,
    "RECITATION": _FILTER,
    "BLOCKLIST": _FILTER,
    "PROHIBITED_CONTENT": _FILTER,
    "SPII": _FILTER,
    "IMAGE_SAFETY": _FILTER,
    "IMAGE_PROHIBITED_CONTENT": _FILTER,
    "IMAGE_RECITATION": _FILTER,
    "MODEL_ARMOR": _FILTER,
    "CONTINUATION": Finish("pause"),  # cut at the limit of one request; the next one goes on
    "MALFORMED_FUNCTION_CALL": _ERROR,
    "MALFORMED_RESPONSE": _ERROR,
    "UNEXPECTED_TOOL_CALL": _ERROR,
    "TOO_MANY_TOOL_CALLS": _ERROR,
    "MISSING_THOUGHT_SIGNATURE": _ERROR,
    "ESCALATION": _OTHER,
    "FINISH_REASON_UNSPECIFIED": _OTHER,
    "IMAGE_OTHER": _OTHER,
    "LANGUAGE": _OTHER,
    "NO_IMAGE": _OTHER,
    "OTHER": _OTHER,
    "PUP_LIMITED_DISABLED": _OTHER,
    # Written as numbers by servers asked for them; above 4 the two documents number differently.
    "1": _STOP,
    "2": _LENGTH,
    "3": _FILTER,
    "4": _FILTER,
}

CONVERSE_FINISHES: FinishReasons = {
    "end_turn": _STOP,
    "stop_sequence": _STOP,
    "tool_use": _CALLS,
    "max_tokens": _LENGTH,
    "model_context_window_exceeded": _LENGTH,
    "content_filtered": _FILTER,
    "guardrail_intervened": _FILTER,
    "malformed_model_output": _ERROR,
    "malformed_tool_use": _ERROR,
}

COHERE_FINISHES: FinishReasons = {
    "COMPLETE": _STOP,
    "STOP_SEQUENCE": _STOP,
    "TOOL_CALL": _CALLS,
    "MAX_TOKENS": _LENGTH,
    "ERROR_LIMIT": _LENGTH,
    "ERROR_TOXIC": _FILTER,
    "ERROR": _ERROR,
    "TIMEOUT": _ERROR,
    "USER_CANCEL": _OTHER,
}

INTERACTIONS_FINISHES: FinishReasons = {
    "completed": _STOP,
    "requires_action": _CALLS,
    "incomplete": _LENGTH,
    "budget_exceeded": _LENGTH,
    "requires_continuation": Finish("pause"),  # cut at a checkpoint, from which another request goes on
    "failed": _ERROR,
    "cancelled": _OTHER,
}

ASSISTANTS_FINISHES: FinishReasons = {
    "completed": _STOP,
    "requires_action": _CALLS,
    "max_completion_tokens": _LENGTH,
    "max_prompt_tokens": _LENGTH,
    "content_filter": _FILTER,
    "incomplete": _LENGTH,
    "failed": _ERROR,
    "cancelled": _OTHER,
    "expired": _OTHER,
}
"""Finish reasons of the Assistants API, by the status of a run and by its reason for being incomplete."""

OLLAMA_FINISHES: FinishReasons = {"stop": _STOP, "length": _LENGTH, "load": _OTHER, "unload": _OTHER}


def finish_of(table: FinishReasons, word: str) -> Finish:
    """Return the finish for a provider's word; `other`, not regular, for an unknown one.

    >>> finish_of(CHAT_FINISHES, "eos"), finish_of(CHAT_FINISHES, "made up")
    (Finish(reason='stop', is_regular=True), Finish(reason='other', is_regular=False))
    """
    return table.get(word, _OTHER)


_ERROR_MESSAGES = ("error_message", "error_msg", "errorMessage", "errorMsg")
_ERROR_TYPES = ("error_type", "errorType")
_ERROR_CODES = ("error_code", "errorCode")
_MESSAGES = ("message", "Message", "msg", "detail", "title")
_CODES = ("code", *_ERROR_CODES)
_STATUSES = ("status_code", "statusCode", "status")
_KINDS = ("type", "event_type", "event", "object")
_PROBLEM_TYPES = ("about:", "http")
_OF_ANSWER = ("choices", "candidates", "delta")
_ALONE = frozenset(_MESSAGES) | {"id", "request_id", "requestId", "RequestId", "trace_id", "traceId", "success", "ok"}
"""The keys of an item that is an error because it says nothing but a message."""
_FINE_CODES = frozenset(("", "0", "200", "ok", "success", "none"))
_FINE_MESSAGES = frozenset(("ok", "success", "succeeded"))
_BESIDE = frozenset(("error", "errors", "base_resp", *_ERROR_MESSAGES))
"""The keys of an error that may stand beside an answer."""
_IS_ERROR = re.compile("(?i)error|exception")


class ReportedError(NamedTuple):
    """The body of an error, for `error_in_body`, and the keys of the item that it was read from."""

    body: Any
    keys: Collection[str]


def reported_error(item: Fields, *, is_answer: bool = False) -> ReportedError | None:
    """Return the error that an item is, or that it has beside an answer; None for an item without one.

    >>> reported_error({"choices": None, "base_resp": {"status_code": 1008, "status_msg": "no balance"}})
    ReportedError(body={'message': 'no balance', 'code': 1008}, keys=('base_resp',))
    >>> reported_error({"code": "Throttling", "message": "slow down"}).body
    {'message': 'slow down', 'code': 'Throttling'}
    >>> reported_error({"code": 0, "message": "Success", "choices": []})

    The forms are OpenAI's and Anthropic's `error`, vLLM's `object`, MiniMax's `base_resp`, the `error_message` of
    DeepInfra and Venice, Baidu's `error_msg`, Cloudflare's `errors`; and where the item is no answer, a message with a
    code or a status (DashScope, Azure's gateway, problem details), the `detail` of FastAPI and a message alone (AWS's
    gateway).
    """
    if is_answer and _BESIDE.isdisjoint(item) and item.get("object") != "error":
        return None
    marks = [key for key in ("object", "type") if item.get(key) == "error"]
    if error := item.get("error"):
        found = _of_error(item, error)
        return ReportedError(found.body, [*found.keys, *marks])
    if marks:
        left_out = frozenset(("choices", *marks))
        said = {key: plain_json(item[key]) for key in item if key not in left_out}
        return ReportedError({key: said[key] for key in said if said[key]}, item.keys())
    minimax = fields_of(item.get("base_resp")) or {}
    if (code := minimax.get("status_code")) and str(code) not in _FINE_CODES:
        return ReportedError({"message": minimax.get("status_msg"), "code": code}, ("base_resp",))
    if _message_of(item, _ERROR_MESSAGES):
        return _of_message(item, _ERROR_MESSAGES)
    errors = item.get("errors")
    if isinstance(errors, list) and (first := entries_of(errors)[:1]) and first[0]:
        return ReportedError(first[0], ("errors", "success"))
    return None if is_answer else _of_other(item)


def _of_error(item: Fields, error: Any) -> ReportedError:
    fields = fields_of(error)
    if fields is None and not isinstance(error, str | bool | int):
        return ReportedError(error, ("error",))
    beside = _of_message(item, (*_ERROR_MESSAGES, *_MESSAGES))
    keys = ("error", *beside.keys)
    if fields is not None:
        said = beside.body.get("message")
        if not said or fields.get("error") or any(fields.get(name) for name in _MESSAGES):
            return ReportedError(error, ("error",))
        return ReportedError({**fields, "message": said}, keys)
    if not beside.body:
        return ReportedError(error, keys)
    if not isinstance(error, str):
        return ReportedError(beside.body, keys)
    kind = {"type": error} if "message" in beside.body else {"message": error}
    return ReportedError({**kind, **beside.body}, keys)


def _of_message(item: Fields, names: Collection[str]) -> ReportedError:
    """Return the message, the type, the code and the status of an item."""
    found = {
        "message": (names, _message_of(item, names)),
        "type": (_ERROR_TYPES, _first(item, _ERROR_TYPES)),
        "code": (_CODES, _first(item, _CODES)),
        "status": (_STATUSES, next((status for name in _STATUSES if (status := _status_of(item.get(name)))), None)),
    }
    keys = [key for names, value in found.values() if value for key in names]
    return ReportedError({name: value for name, (_, value) in found.items() if value}, keys)


def _of_other(item: Fields) -> ReportedError | None:
    """Return the error of an item that is no answer and says no more than a message and a code."""
    message = _message_of(item, _MESSAGES)
    if not message or any(item.get(key) for key in _OF_ANSWER) or str(message).lower() in _FINE_MESSAGES:
        return None
    kind = _first(item, _KINDS)
    is_typed = isinstance(kind, str) and _IS_ERROR.search(kind) is not None
    if kind and not is_typed and not str(kind).startswith(_PROBLEM_TYPES):
        return None
    found = _of_message(item, _MESSAGES)
    code = found.body.get("code")
    is_coded = isinstance(code, str | int) and str(code).lower() not in _FINE_CODES
    if not (is_coded or is_typed or "status" in found.body or item.keys() <= _ALONE):
        return None
    return ReportedError({"type": kind, **found.body}, [*found.keys, *_KINDS]) if is_typed else found


def _message_of(item: Fields, names: Collection[str]) -> Any:
    """Return the message, which only as a `detail` may be something else than a text."""
    return next(
        (text for name in names if (text := item.get(name)) and (isinstance(text, str) or name == "detail")), None
    )


def _first(item: Fields, names: Collection[str]) -> Any:
    return next((value for name in names if (value := item.get(name))), None)


def _status_of(value: object) -> int | None:
    """Return an HTTP status of an error, also one that is written as a text."""
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) == 3 else value
    return number if isinstance(number, int) and 400 <= number < 600 else None


_TRANSPORTS = frozenset({"aiohttp", "h11", "h2", "httpcore", "httpcore2", "httpx", "httpx2"})
_CLIENTS = _TRANSPORTS | {"anthropic", "google", "huggingface_hub", "litellm", "openai"}
_SHOWN = 200
_NO_MESSAGE = "the provider reported an error without a message"


def error_in_body(body: Any) -> ProviderError:
    """Read the value of `error` in a wire event: usually an object with message, code and type.

    >>> str(error_in_body({"message": "try again", "code": 502}))
    'provider error (502, 502): try again'
    """
    fields = fields_of(body) or {}
    code, status = fields.get("code"), fields.get("status_code", fields.get("status"))
    return ProviderError(
        _detail(body),
        code=_word(code),
        type=_word(fields.get("type")),
        status=_status(status) or _status(code),
    )


def invalid_data(error: Exception) -> ProviderError:
    """Return the error for event data that is not JSON or not text, with its beginning."""
    if isinstance(error, json.JSONDecodeError):
        begin = without_halves(error.doc[:_SHOWN])
        more = f"... ({len(error.doc):,} characters)" if len(error.doc) > _SHOWN else ""
        return ProviderError(f"not JSON: {error.msg} at {error.pos} in {begin!r}{more}", type="invalid_json")
    if isinstance(error, UnicodeDecodeError):
        return ProviderError(f"not UTF-8: {error.reason} at {error.start}", type="invalid_utf8")
    reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return ProviderError(f"unreadable JSON: {reason}", type="invalid_json")


def provider_error(error: Exception) -> ProviderError | None:
    """Translate an exception of an SDK or a transport; None for any other, which is a bug and is raised unchanged.

    SDKs are recognised by the root of the exception's module, so none is imported here. `ProviderError.__cause__`
    is the exception.
    """
    translated = _translated(error)
    if translated is not None and translated is not error:
        translated.__cause__ = error
    return translated


Translate: TypeAlias = Callable[[Exception], ProviderError | None]
"""Returns our error for an exception of the SDK, or None if it is raised unchanged."""


def raise_ours(error: Exception, translate: Translate) -> None:
    """Raise our error in place of another, if there is one.

    Its traceback holds this frame, which so must not go on holding the error: only the collector would find that.
    """
    ours = translate(error)
    try:
        if ours is not None:
            raise ours from error
    finally:
        del ours


def raise_again(failure: Exception) -> NoReturn:
    """Raise an equal exception, because the traceback of one that is raised leads to who keeps it."""
    again = copy(failure)
    again.__cause__ = failure.__cause__
    try:
        raise again
    finally:
        del again


def _translated(error: Exception) -> ProviderError | None:
    if isinstance(error, ProviderError):
        return error
    root = _root(type(error).__module__)
    if root == "huggingface_hub":  # its exceptions are those of its transport, too
        return _sdk_error(error)
    if root in _TRANSPORTS or isinstance(error, OSError):  # TimeoutError and ConnectionError are OSErrors
        return ProviderError(_text_of(error), type=type(error).__name__, transport=True)
    if root in _CLIENTS:
        return _sdk_error(error)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError) or type(error) is ValueError:
        # json.loads inside an SDK; the same from a function of the user's own is a bug of theirs
        return invalid_data(error) if _passed_client(error.__traceback__) else None
    return None


def _sdk_error(error: Exception) -> ProviderError:
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"APIConnectionError", "APITimeoutError"}:
        cause = f" ({type(error.__cause__).__name__}: {error.__cause__})" if error.__cause__ else ""
        return ProviderError(f"{_text_of(error)}{cause}", type=type(error).__name__, transport=True)
    body: Any = getattr(error, "body", None)
    fields = fields_of(body) or {}
    if "message" not in fields and fields_of(fields.get("error")):
        body = fields["error"]
    status = _status(
        getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    )
    if body is None:
        kind = _word(getattr(error, "type", None)) or type(error).__name__
        return ProviderError(_text_of(error), type=kind, status=status)
    found = error_in_body(body)
    return ProviderError(found.detail, code=found.code, type=found.type, status=status or found.status)


def _detail(body: Any) -> str:
    if isinstance(body, str) and body:
        return without_halves(body)
    fields = fields_of(body) or {}
    for key in ("message", "detail", "error"):
        if isinstance(text := fields.get(key), str) and text:
            return without_halves(text)
    if not body or body is True:
        return _NO_MESSAGE
    return json.dumps(plain_json(body), ensure_ascii=False, sort_keys=True)


def _text_of(error: Exception) -> str:
    return without_halves(str(error)) or type(error).__name__


def _word(value: object) -> str | None:
    if isinstance(value, str):
        return without_halves(value) or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _status(value: object) -> int | None:
    return value if isinstance(value, int) and 400 <= value < 600 else None


def _root(module: str) -> str:
    return module.partition(".")[0]


def _passed_client(traceback: TracebackType | None) -> bool:
    while traceback is not None:
        if _root(str(traceback.tb_frame.f_globals.get("__name__", ""))) in _CLIENTS:
            return True
        traceback = traceback.tb_next
    return False
