"""What a model that does everything right answers to the doctor's questions, and a server that breaks each answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from speaking_model import (
    Said,
    Serve,
    asked_in,
    by_question,
    in_reasoning,
    parsed,
    unparsed,
    with_objects,
    with_one_index,
    without_ids,
)
from starlette.responses import JSONResponse

from penstock.gateway.doctor.questions import QUESTIONS

OSLO, LIMA = (("weather", {"city": city}) for city in ("Oslo", "Lima"))
GUESTS = [{"name": "Ann", "age": 31}, {"name": "Bo", "age": 44}]
SAID: Mapping[str, Said] = {
    "one call": Said("I will look.", (OSLO,)),
    "two calls at once": Said(calls=(OSLO, LIMA)),
    "no call wanted": Said("5"),
    "nested arguments": Said(calls=(("book_table", {"guests": GUESTS, "place": {"town": "Lima", "floor": 2}}),)),
    "Unicode": Said(calls=(("keep_note", {"title": "Blåbær", "text": "東京 “quoted” \\n 🫐"}),)),
    "no arguments": Said(calls=(("time_now", {}),)),
    "a forced call": Said("Lima is old.", forced=(LIMA,)),
    "after a result": Said("7 degrees and rain.", thought="I have it."),
    "thoughts before a call": Said(calls=(("keep_note", {"title": "more", "text": "0.9"}),), thought="0.9 is."),
}
YES = Said("Yes.")
ANSWERS = {asked_in({"messages": each.messages}): SAID.get(each.name, YES) for each in QUESTIONS}
"""By the question's words."""


def refusing(status: int, message: str) -> Serve:
    """Return a server that refuses what the client said; what the gateway makes of it, it answers."""
    good = parsed()

    def serve(said: Said, body: dict[str, Any]) -> Any:
        roles = [each["role"] for each in body["messages"]]
        is_strict = "system" in roles[1:] or "developer" in roles or "user user" in " ".join(roles)
        has_broken = any(call["function"]["arguments"] == '{"city": "Os' for call in calls_in(body))
        if is_strict or has_broken:
            return JSONResponse({"error": {"message": message, "code": status, "type": "server_error"}}, status)
        return good(said, body)

    return serve


def calls_in(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for each in body["messages"] for call in each.get("tool_calls", ())]


def without_arguments(pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in pieces if "name" in each["function"]]


def with_guests_as_a_text(pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    [call] = with_objects(pieces)
    arguments = call["function"]["arguments"]
    text = json.dumps({**arguments, "guests": json.dumps(arguments["guests"])})
    return [{**call, "function": {**call["function"], "arguments": text}}]


STRICT = "System message must be at the beginning."
BROKEN = "Failed to parse tool call arguments as JSON"
FAULTS: Mapping[str, tuple[Serve, str, str]] = {
    "one call": (unparsed("Qwen3-8B"), "the call is left in the text", "mended"),
    "two calls at once": (parsed(with_one_index), "streamed: two calls have one index", "mended"),
    "no call wanted": (parsed(finish="eos"), "the finish reason is 'eos', which clients do not know", "mended"),
    "nested arguments": (parsed(with_guests_as_a_text), "guests: a text in place of an array", "not mended"),
    "Unicode": (parsed(with_objects), "arguments are an object, not a text", "mended"),
    "no arguments": (parsed(without_arguments), "arguments are no JSON: ''", "mended"),
    "a forced call": (
        parsed(without_ids, finish="stop"),
        "a call has no id; an answer with calls ends as 'stop'",
        "mended",
    ),
    "after a result": (unparsed("Qwen3-8B"), "the thoughts are left in the text", "mended"),
    "thoughts before a call": (in_reasoning("Qwen3-8B"), "the call is left in the reasoning", "mended"),
    "a late system message": (refusing(400, STRICT), f"an error: {STRICT}", "mended"),
    "developer messages, and two of the user": (refusing(400, STRICT), f"an error: {STRICT}", "mended"),
    "an earlier call with broken arguments": (refusing(500, BROKEN), f"an error: {BROKEN}", "mended"),
}
"""For each question a server that breaks the answer, what is found of it alone, and what through the gateway."""
_SERVES = {asked_in({"messages": each.messages}): FAULTS[each.name][0] for each in QUESTIONS}


def faulty(said: Said, body: dict[str, Any]) -> Any:
    """Break the answer to each question in its own way, as `Serve` does."""
    return by_question(_SERVES, body, parsed())(said, body)
