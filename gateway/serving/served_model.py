"""`ServedModel`: a model that clients can ask for: its names, the servers that have it, and how they are asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from os import PathLike
from typing import Any, Final, Literal, NamedTuple

from ...events.errors import ProviderError, UsageError
from ...operators.catalogue.dialect_for import dialect_for
from ...operators.redaction.detectors import Wanted
from ...pipeline.pipeline import Pipeline
from ...sinks.log.stream_log import StreamLog
from ..chat_template import ChatTemplate
from ..completion_body import Completion, completion_body
from ..neutral import NeutralRequest
from ..upstream_body import upstream_body
from .answer_events import API, pipeline_for
from .answer_guards import AnswerGuards
from .answer_run import Way, log_change
from .upstream import CHAT, Found, Upstream

_ANY: Final = ("*",)
PATTERN: Final = frozenset("*?[")
"""Characters of which a pattern has one."""
_LETTERS_A_TOKEN: Final = 4


class GatewayOptions(NamedTuple):
    """How a gateway works.

    - `model`: the upstream's model for all requests. By default the only model that the upstream has answers to every
      name, and of several each to its own.
    - `dialect`: in which the model writes calls; by default what its name says.
    - `template`: the model's chat template: the servers get the prompts that it makes, and the text is read raw.
    - `key`: what clients must send; it is not passed on. Without it the client's own goes to the upstream.
    - `most_at_once`: requests that are answered at the same time. Of further ones `most_waiting` wait for their turn,
      for `longest_wait` seconds at most; the others are refused. As long is waited for more of a request.
    - `longest_body`: of a request, in bytes. `keep_alive`: seconds of silence after which a client gets a sign of life.
    - `log`: keeps conversations, and the answers of requests that name a stream, for all gateways that have it.
    - `record`: a folder for the recordings of all requests and answers.
    - `change`: a function that changes the pipeline of a request, such as by `insert` of an operator.
    - `allow_tools`: the only tools that may be called; one in a namespace is `namespace__name`.
    - `root`: the folder in which the paths of calls must be.
    - `redact`: what the operator `redact` replaces, such as `(KEYS, EMAIL)`, in answers, errors and the log.
    - `watchdog`: limits of `watchdog` in seconds, such as `{"first": 60, "between": 30}`.
    - `hosts`: names by which clients reach a gateway without a `key`, besides those of this machine.
    """

    model: str | None = None
    dialect: str | None = None
    template: ChatTemplate | None = None
    key: str | None = None
    most_at_once: int = 64
    most_waiting: int = 64
    longest_wait: float = 60.0
    longest_body: int = 64 * 1024 * 1024
    keep_alive: float = 10.0
    log: StreamLog | None = None
    record: str | PathLike[str] | None = None
    change: Callable[[Pipeline, NeutralRequest], Pipeline] | None = None
    allow_tools: Iterable[str] | None = None
    root: str | PathLike[str] | None = None
    redact: Wanted | Sequence[Any] = ()
    watchdog: Mapping[str, float] | None = None
    hosts: Collection[str] = ()


class ServedModel:
    """A model that clients can ask for.

    - `upstreams`: the servers that have it; the next one is asked where one fails before its first output.
    - `options`: what they say of a model is meant: `model`, `dialect`, `template`, `change` and the guards. All else is
      the gateway's.
    - `names`: the one that is listed, then others, which may be patterns such as `claude-*`; by default it stands for
      all models of the servers.

    `UsageError` without a server, and for guards that cannot work.
    """

    def __init__(
        self, upstreams: Sequence[Upstream], options: GatewayOptions | None = None, names: tuple[str, ...] = _ANY
    ) -> None:
        if not upstreams:
            message = "a gateway needs at least one upstream"
            raise UsageError(message)
        self.names = names
        self.upstreams = tuple(upstreams)
        self.options = given = options or GatewayOptions()
        self.guards = AnswerGuards(
            allow_tools=given.allow_tools, root=given.root, redacted=given.redact, limits=given.watchdog
        )

    @property
    def is_any(self) -> bool:
        """Whether it stands for all models of its servers."""
        return self.names == _ANY

    def upstreams_there(self) -> Sequence[Upstream]:
        """Return the servers without those that could not be reached a moment ago; all if there are no others."""
        return [each for each in self.upstreams if not each.is_away] or self.upstreams

    def fits(self, name: str) -> bool:
        """Return whether a client that asks for a name may mean this model."""
        return any(fnmatchcase(name, each) for each in self.names)

    def model_in(self, found: Found, asked: str = "") -> str:
        """Return what a server calls the model; of any model the one that was asked for."""
        if self.options.model is not None:
            return self.options.model
        if len(found.models) == 1:
            return str(found.models[0]["id"])
        return asked if self.is_any else self.names[0]

    async def listed(self) -> list[str]:
        """Return the names that are listed; `ProviderError` if servers must be asked and none answers."""
        if not self.is_any:
            return [name for name in self.names if not PATTERN & {*name}]
        _, found = await self._found()
        return self.listed_of(found)

    def listed_of(self, found: Found) -> list[str]:
        """Return the names of a server's models."""
        return [self.options.model] if self.options.model else [str(each["id"]) for each in found.models]

    async def way(
        self,
        asked: NeutralRequest,
        offered: NeutralRequest,
        headers: Mapping[str, str],
        notes: dict[str, Any],
        upstream: Upstream,
    ) -> Way:
        """Return how a server is asked.

        - `offered`: the request with the tools that may be called; a call of another one is still to be known as one.
        """
        found = await upstream.find()
        model = self._note_model(notes, found, asked.model)
        question = self._question(offered, found, notes)
        dialect, lane = self.options.dialect or model, self.lane_in(found)
        read = pipeline_for(
            asked,
            found.lane if self.options.template is None else "raw",
            dialect,
            question.body,
            api=question.api,
            starts_in_reasoning=question.starts_in_reasoning,
        )
        pipeline = self.guards.put_into(read, asked)
        if self.options.change is not None:
            pipeline = self.options.change(pipeline, asked)
        if lane != "parsed":
            lane = f"{lane}; {'+'.join(dialect_names(dialect))}"
        notes["lane"] = lane
        return Way(pipeline, question.path, question.body, headers, question.api, f"{lane}; {found.server}")

    def lane_in(self, found: Found) -> str:
        """Return how a server is asked for the model, in a word or two."""
        return found.lane if self.options.template is None else "raw by template"

    async def counted(
        self, asked: NeutralRequest, headers: Mapping[str, str], notes: dict[str, Any]
    ) -> tuple[int, Literal["counted", "estimated"]]:
        """Return how many tokens a request has, and how that is known, from the first server that is there."""
        upstream, found = await self._found()
        self._note_model(notes, found, asked.model)
        question = self._question(asked, found, notes)
        counts = question.path == CHAT
        if counts and (number := await upstream.count_tokens(question.body, headers)) is not None:
            return number, "counted"
        return len(json.dumps(question.body, ensure_ascii=False)) // _LETTERS_A_TOKEN, "estimated"

    def _note_model(self, notes: dict[str, Any], found: Found, asked: str) -> str:
        """Note and return what a server calls the model, and whether that is a name that somebody gave a model."""
        model = notes["model"] = self.model_in(found, asked)
        given = (self.options.model, *self.names, *(each["id"] for each in found.models))
        notes["_is_model"] = model in given if found.models else None
        return model

    def _question(self, asked: NeutralRequest, found: Found, notes: dict[str, Any]) -> Completion:
        """Return what a server is asked: to answer a chat, or to complete a prompt of the template."""
        notes["dropped"] = dropped = [*asked.dropped]
        model = self.model_in(found, asked.model)
        if (template := self.options.template) is not None:
            read = dialect_for(self.options.dialect or model).names
            return completion_body(asked, template, server=found.server, model=model, dialects=read, dropped=dropped)
        body = upstream_body(asked, lane=found.lane, server=found.server, model=model, dropped=dropped)
        return Completion(CHAT, body, API, None)

    async def _found(self) -> tuple[Upstream, Found]:
        """Return the first server that is there, and what it is; raise the error of the last if none is."""
        there = self.upstreams_there()
        *others, last = there
        for upstream, following in zip(others, there[1:], strict=True):
            try:
                return upstream, await upstream.find()
            except ProviderError as error:
                self.guards.hide(error)
                log_change(upstream, following, error)
        return last, await last.find()


def dialect_names(dialect: str) -> list[str]:
    """Return the names of the dialects that a model, or a dialect, stands for."""
    return [each if isinstance(each, str) else each.name for each in dialect_for(dialect).names]
