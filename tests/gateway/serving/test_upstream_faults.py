"""What servers do wrong, and what each client has of it through the gateway: the answer, or an error, never a guess."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

import httpx2
import openai
import pytest
from client_needs import PATHS, Got, got
from depth import some_of, stride
from every_client import REFUSALS, WAYS, Clients, Said
from looped import looped
from scripted_upstream import ScriptedUpstream, gateway
from stream_changes import TOOLS, script
from upstream_faults import FAULTS, Answer, Broken, Fault, Refused

from penstock.gateway.neutral import Api
from penstock.gateway.upstream_body import Lane
from penstock.operators import KEYS

FINISH_ERRORS: dict[str, type[Exception]] = {
    "length": openai.LengthFinishReasonError,
    "content_filter": openai.ContentFilterFinishReasonError,
}
"""What OpenAI's helper for chat raises for an answer that is not whole."""
OWNERS: dict[Lane, str] = {"raw": "llamacpp", "parsed": "library"}
ASKS = [
    pytest.param(fault, lane, api, stream, id=f"{name}, {lane}, {api}, {'streamed' if stream else 'whole'}")
    for name, fault in FAULTS.items()
    for lane in fault.lanes
    for api in get_args(Api)
    for stream in (True, False)
]
"""Each fault in each lane, before each client."""
FIRST = [pytest.param(fault, fault.lanes[0], id=name) for name, fault in FAULTS.items()]
"""Each fault in one lane."""


class Asked:
    """A gateway for each lane, and who asks it."""

    def __init__(self, servers: dict[Lane, ScriptedUpstream], urls: dict[Lane, str], http: httpx2.Client) -> None:
        self._servers, self._urls, self._http = servers, urls, http
        self.clients: dict[Lane, Clients] = {lane: Clients(url) for lane, url in urls.items()}

    def close(self) -> None:
        for each in self.clients.values():
            each.close()

    def play(self, fault: Fault, lane: Lane) -> None:
        """Let the upstream of a lane answer with a fault from now on."""
        self._servers[lane].scripts = [script(fault.change, lane)]

    def ask(self, fault: Fault, lane: Lane, api: Api, *, stream: bool) -> Got:
        self.play(fault, lane)
        body: dict[str, Any] = {"model": "m", "stream": stream, "max_tokens": 99}
        tools = {
            "openai-chat": [{"type": "function", "function": {"name": n, "parameters": s}} for n, s in TOOLS.items()],
            "openai-responses": [{"type": "function", "name": n, "parameters": s} for n, s in TOOLS.items()],
            "anthropic-messages": [{"name": n, "input_schema": s} for n, s in TOOLS.items()],
        }[api]
        said = {"input": "Go."} if api == "openai-responses" else {"messages": [{"role": "user", "content": "Go."}]}
        return got(api, self._http.post(self._urls[lane] + PATHS[api], json={**body, **said, "tools": tools}))


@contextmanager
def asking(**options: Any) -> Iterator[Asked]:
    """Yield a gateway for each lane, with options."""
    servers: dict[Lane, ScriptedUpstream] = {
        lane: ScriptedUpstream([], routes={"/v1/models": {"data": [{"id": "m", "owned_by": owner}]}})
        for lane, owner in OWNERS.items()
    }
    with (
        gateway(servers["raw"], dialect="hermes", **options) as raw,
        gateway(servers["parsed"], **options) as parsed,
        httpx2.Client(timeout=20) as http,
    ):
        asked = Asked(servers, {"raw": raw, "parsed": parsed}, http)
        yield asked
        asked.close()


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    with asking() as without_guards:
        yield without_guards


@pytest.mark.laws
@looped("fault, lane, api, stream", lambda: ASKS[:: stride(5)])  # there are six of each fault: each time another one
def test_each_client_has_the_calls_whole_and_once_or_an_error(
    fault: Fault, lane: Lane, api: Api, stream: bool, asked: Asked
):
    check(fault.outcome, asked.ask(fault, lane, api, stream=stream), api, stream=stream)


@pytest.mark.laws
@looped("fault, lane", lambda: some_of(FIRST, 20))
def test_guards_that_forbid_nothing_take_nothing_from_any_client(fault: Fault, lane: Lane, guarded: Asked):
    for api in get_args(Api):
        for stream in (True, False):
            check(fault.outcome, guarded.ask(fault, lane, api, stream=stream), api, stream=stream)


@pytest.fixture(scope="module")
def guarded() -> Iterator[Asked]:
    names = [*TOOLS, "read", "nosuch"]
    with asking(allow_tools=names, redact=KEYS, watchdog={"first": 15, "between": 15}) as with_guards:
        yield with_guards


def check(outcome: Answer | Broken | Refused, has: Got, api: Api, *, stream: bool) -> None:
    match outcome:
        case Answer(text, calls, finish, reasoning):
            assert has.error is None, has.error
            assert (has.text.strip(), has.reasoning.strip(), has.finish) == (text, reasoning, finish)
            assert has.calls == calls
        case Broken(message):
            assert has.error is not None, "a cut answer looks whole"
            assert message in has.error
            assert has.status == 200 if stream else has.status >= 500
            assert not (has.calls and api == "openai-responses"), "a call that is made once more"
            whole = all(isinstance(arguments, dict) for _, arguments in has.calls)
            assert whole or api == "openai-chat", "a call that was cut is told as one that is wrong"
        case Refused(status, message, messages):
            assert has.error is not None
            assert message in has.error
            assert has.status == (messages or status if api == "anthropic-messages" else status)


@pytest.mark.laws
@looped("fault, lane", lambda: some_of(FIRST, 40))
def test_the_sdks_agree_with_each_other_on_every_answer_and_raise_for_every_error(
    fault: Fault, lane: Lane, asked: Asked
):
    asked.play(fault, lane)
    outcome = fault.outcome
    said: dict[str, Said] = {}
    for way in WAYS:
        if way == "chat" and isinstance(outcome, Answer) and outcome.finish in FINISH_ERRORS:
            with pytest.raises(FINISH_ERRORS[outcome.finish]):
                asked.clients[lane].ask(way, "m", TOOLS)
        elif isinstance(outcome, Answer):
            if not (way == "messages" and any(isinstance(arguments, str) for _, arguments in outcome.calls)):
                said[way] = asked.clients[lane].ask(way, "m", TOOLS)
        else:
            with pytest.raises(REFUSALS):
                asked.clients[lane].ask(way, "m", TOOLS)
    if isinstance(outcome, Answer):
        for way, each in said.items():
            calls = tuple((name, as_written(arguments)) for name, arguments in each.calls)
            has = Answer(each.text.strip(), calls, each.finish, each.reasoning.strip())
            assert has == outcome, way
        assert len({each.tokens for each in said.values()}) == 1


def as_written(arguments: Any) -> Any:
    """Return arguments that are no JSON as a text, which a whole message has in an object."""
    return arguments.get("INVALID_JSON", arguments) if isinstance(arguments, dict) else arguments
