"""`read_config`: the TOML file of a gateway for several models and servers."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...events.errors import UsageError
from ...operators.catalogue.dialect_for import dialects_named
from ...operators.engine.known_names import known_names
from ...sources.streams.bounded_read import read_file
from ..chat_template import ChatTemplate, read_template
from .answer_guards import REDACTED
from .served_model import PATTERN, GatewayOptions, ServedModel
from .server_profiles import ServerName
from .upstream import Upstream, checked_key

Seconds = Annotated[float, Field(gt=0)]
Names = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class LimitsTable(_Table):
    """Seconds to wait, as for `watchdog`: `[watchdog]`."""

    first: Seconds | None = None
    between: Seconds | None = None
    call: Seconds | None = None
    total: Seconds | None = None


class _ModelOptions(_Table):
    dialect: str | None = None
    template: str | None = None
    allow_tools: Names | None = None
    root: str | None = None
    redact: list[Literal["keys", "email", "card", "phone", "all"]] | None = None
    watchdog: LimitsTable | None = None


class UpstreamTable(_Table):
    """A server: `[upstreams.NAME]`."""

    url: str
    server: ServerName | None = None
    """Which one it is; without it, it is asked."""
    key_env: str | None = None
    """The environment variable that has the server's key."""
    dialect: str | None = None
    """How its models write calls, where they do not say otherwise."""
    silence: Seconds = 600.0


class ModelTable(_ModelOptions):
    """A model that clients can ask for: `[models.NAME]`."""

    upstreams: Names | None = None
    """Where it is; it may be left out if there is one server only."""
    model: str | None = None
    """The server's name of it."""
    aliases: Names | None = None
    """Further names, and patterns such as `claude-*`."""


class GatewayTable(_ModelOptions):
    """The whole file; what it says of models holds for all that do not say otherwise."""

    host: str | None = None
    port: Annotated[int, Field(ge=0, le=65535)] | None = None
    key_env: str | None = None
    most_at_once: Annotated[int, Field(ge=1)] | None = None
    most_waiting: Annotated[int, Field(ge=0)] | None = None
    grace: Annotated[float, Field(ge=0)] | None = None
    record: str | None = None
    log: str | None = None
    upstreams: Annotated[dict[str, UpstreamTable], Field(min_length=1)]
    models: dict[str, ModelTable] = {}


class GatewayConfig(NamedTuple):
    """What a file says.

    - `options`: those of `GatewayOptions` that are of the whole gateway. `running`: what `run_gateway` takes, and the
      address of the log. They have what the file has, and no defaults.
    """

    models: tuple[ServedModel, ...]
    options: Mapping[str, Any]
    running: Mapping[str, Any]


def read_config(path: str | PathLike[str], environment: Mapping[str, str] = os.environ) -> GatewayConfig:
    """Return what a file says.

        [upstreams.local]
        url = "http://127.0.0.1:8080"

        [models."qwen3-coder"]
        aliases = ["claude-*", "gpt-*"]

    - `environment`: has the keys under the names in the file.

    `UsageError` for what is wrong, with the key of the file and what to do about it.
    """
    try:
        table = GatewayTable.model_validate(_toml(path))
        options = {
            "key": _key(table.key_env, "key_env", environment),
            "most_at_once": table.most_at_once,
            "most_waiting": table.most_waiting,
            "record": None if table.record is None else Path(path).parent / table.record,
        }
        running = {"host": table.host, "port": table.port, "grace": table.grace, "log": table.log}
        _check_dialect(table.dialect, "")
        return GatewayConfig(_models(table, Path(path).parent, environment), given(**options), given(**running))
    except ValidationError as error:
        message = f"{path}: {'; '.join(map(_told, error.errors()))}"
        raise UsageError(message) from error
    except UsageError as error:
        message = f"{path}: {error}"
        raise UsageError(message) from error


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given.

    >>> given(host=None, port=0)
    {'port': 0}
    """
    return {name: value for name, value in options.items() if value is not None}


def _toml(path: str | PathLike[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(read_file(path).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"it is not TOML: {error}"
        raise UsageError(message) from error


def _models(table: GatewayTable, folder: Path, environment: Mapping[str, str]) -> tuple[ServedModel, ...]:
    upstreams = {name: _upstream(name, each, environment) for name, each in table.upstreams.items()}
    if not table.models and len(upstreams) == 1:
        ((name, upstream),) = upstreams.items()
        options = _options(table, ModelTable(), table.upstreams[name].dialect, folder, "")
        return (_served([upstream], options, ("*",), ""),)
    if not table.models:
        message = "there are several upstreams, so each model needs a table such as [models.NAME] with upstreams"
        raise UsageError(message)
    owners: dict[str, str] = {}
    return tuple(_model(name, each, table, upstreams, owners, folder) for name, each in table.models.items())


def _model(
    name: str,
    model: ModelTable,
    table: GatewayTable,
    upstreams: Mapping[str, Upstream],
    owners: dict[str, str],
    folder: Path,
) -> ServedModel:
    where = f"models.{_shown(name)}"
    if PATTERN & {*name}:
        message = f"{where}: clients see this name, so it cannot be a pattern; move it to the aliases of a model"
        raise UsageError(message)
    for each in (name, *(model.aliases or ())):
        if (owner := owners.setdefault(each, where)) != where:
            message = f"{where}: {each!r} is a name of {owner} too; take it out of one of them"
            raise UsageError(message)
    chosen = model.upstreams or list(upstreams)
    if model.upstreams is None and len(upstreams) > 1:
        message = f"{where}.upstreams: there are several; name one of {', '.join(upstreams)}"
        raise UsageError(message)
    for each in chosen:
        if each not in upstreams:
            message = f"{where}.upstreams: unknown {each!r}; {known_names(each, upstreams)}"
            raise UsageError(message)
    options = _options(table, model, table.upstreams[chosen[0]].dialect, folder, f"{where}.")
    return _served([upstreams[each] for each in chosen], options, (name, *(model.aliases or ())), f"{where}: ")


def _served(upstreams: list[Upstream], options: GatewayOptions, names: tuple[str, ...], where: str) -> ServedModel:
    try:
        return ServedModel(upstreams, options, names)
    except UsageError as error:  # of the guards
        message = f"{where}{error}"
        raise UsageError(message) from error


def _options(table: GatewayTable, model: ModelTable, of_server: str | None, folder: Path, where: str) -> GatewayOptions:
    """Return what is said of a model: in its own table, then in that of its server, then at the top."""
    _check_dialect(model.dialect, where)
    fields = {*_ModelOptions.model_fields}
    said = {
        **table.model_dump(include=fields, exclude_none=True),
        **given(dialect=of_server),
        **model.model_dump(include=fields, exclude_none=True),
    }
    if "root" in said:
        said["root"] = folder / said["root"]
    if "template" in said:
        said["template"] = _template(folder / said["template"], where)
    if "redact" in said:
        names = REDACTED if "all" in said["redact"] else said["redact"]
        said["redact"] = [REDACTED[name] for name in names]
    return GatewayOptions(model=model.model, **said)


def _upstream(name: str, table: UpstreamTable, environment: Mapping[str, str]) -> Upstream:
    where = f"upstreams.{_shown(name)}"
    _check_dialect(table.dialect, f"{where}.")
    key = _key(table.key_env, f"{where}.key_env", environment)
    try:
        return Upstream(table.url, server=table.server, key=key, silence=table.silence)
    except UsageError as error:
        message = f"{where}.url: {error}"
        raise UsageError(message) from error


def _template(path: Path, where: str) -> ChatTemplate:
    try:
        return read_template(path)
    except UsageError as error:
        message = f"{where}template: {error}"
        raise UsageError(message) from error


def _check_dialect(dialect: str | None, where: str) -> None:
    try:
        if dialect is not None:
            dialects_named(dialect)
    except UsageError as error:
        message = f"{where}dialect: {error}"
        raise UsageError(message) from error


def _key(variable: str | None, where: str, environment: Mapping[str, str]) -> str | None:
    if variable is None:
        return None
    if not environment.get(variable):
        message = f"{where}: the environment variable {variable!r} is not set; put the key into it"
        raise UsageError(message)
    try:
        return checked_key(environment[variable])
    except UsageError as error:
        message = f"{where}: {error}"
        raise UsageError(message) from error


def _told(error: Any) -> str:
    """Return what pydantic found as a key of the file and what to do about it."""
    *place, key = map(str, error["loc"])
    where = ".".join(map(_shown, (*place, key)))
    match error["type"]:
        case "extra_forbidden":
            table = LimitsTable if "watchdog" in place else _TABLES[place[0]] if place else GatewayTable
            return f"{where}: unknown key; {known_names(key, table.model_fields)}"
        case "missing":
            return f"{where} is missing; add {_REQUIRED[key]}"
        case "too_short" | "string_too_short":
            return f"{where}: must not be empty"
        case _:
            return f"{where}: {error['msg'].replace('Input should be', 'must be')}, got {error['input']!r:.80}"


_TABLES: Final[Mapping[str, type[_Table]]] = {"upstreams": UpstreamTable, "models": ModelTable}
_REQUIRED: Final = {
    "upstreams": "a table such as [upstreams.local] with a url",
    "url": 'it, as "http://127.0.0.1:8080"',
}


def _shown(name: str) -> str:
    """Return a part of a key as TOML writes it."""
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else f'"{name}"'
