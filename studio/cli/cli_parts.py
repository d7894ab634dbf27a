"""Common parts of the commands: tools by name, errors, shell completion, a served page, and showing an answer."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import warnings
import webbrowser
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer

from ...events.answer_end import AnswerEnd
from ...events.errors import ProviderError, UsageError, how_to_install, without_credentials
from ...events.json_form import Event, to_json
from ...pipeline.strategies import STRATEGIES
from ...pipeline.strategy_choice import settings_from_environment
from ...pipeline.tool import Tool, as_tools
from ...pipeline.tool_schemas import FILE_TOOL_DEFINITIONS
from ...sinks.parts.event_words import printable, shortened
from ...sources.recognition.apis import APIS, PROVIDERS
from ..reading.read_input import read_input
from .stream_parts import on_interrupt


def tools_named(names: Iterable[str], *, option: str = "--tool") -> tuple[Tool, ...]:
    """Return the named tools: built-in ones, MODULE:FUNCTION, FILE.py:FUNCTION, or a JSON file of definitions.

    `option`: the option named at the start of an error message.

    >>> [tool.name for tool in tools_named(["write_file", "base64:b64encode"])]
    ['write_file', 'b64encode']
    """
    values: list[Any] = []
    for name in names:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # a library's function may have no types
                values += as_tools(_values(name))
        except UsageError as error:
            message = f"{option} {name}: {error}"
            raise UsageError(message) from error
    return as_tools(values)


def _values(name: str) -> list[Any]:
    if name in FILE_TOOL_DEFINITIONS:
        return [FILE_TOOL_DEFINITIONS[name]]
    if name.endswith(".json") or Path(name).is_file():
        return _definitions(Path(name))
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        known = ", ".join(FILE_TOOL_DEFINITIONS)
        message = f"no such tool; pass one of {known}, MODULE:FUNCTION, or a JSON file"
        raise UsageError(message)
    return [imported(module, path)]


def _definitions(path: Path) -> list[Any]:
    try:
        content: Any = json.loads(read_input(str(path)))
    except (ValueError, RecursionError) as error:
        message = f"is not JSON: {error}"
        raise UsageError(message) from error
    return list(_unwrapped(content))


def _unwrapped(content: Any) -> Iterator[Any]:
    """Yield the definitions of a list, of a request, or of Gemini's declarations."""
    match content:
        case [*inner] | {"tools": [*inner]} | {"function_declarations": [*inner]} | {"functionDeclarations": [*inner]}:
            for each in inner:
                yield from _unwrapped(each)
        case _:
            yield content


def imported(module: str, path: str) -> Any:
    """Return what a module, or a file of Python, has under a name; `UsageError` if it has not."""
    folder = Path.cwd()
    if module.endswith(".py"):
        folder, module = Path(module).resolve().parent, Path(module).stem
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # as `python` itself has it; an installed command has not
    try:
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:  # whatever the user's module raises is reported in one line
        message = f"cannot be imported: {type(error).__name__}: {error}"
        raise UsageError(message) from error
    return found


@contextmanager
def packages_of_a_page(command: str) -> Generator[None, None, None]:
    """Around the import of a page's server: `UsageError` with what to install, if its packages are missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("h11", "starlette", "uvicorn"):
            raise
        message = f"penstock {command} needs starlette and uvicorn; {how_to_install('cli')}"
        raise UsageError(message) from error


NoBrowser = Annotated[
    bool, typer.Option("--no-browser", help="Print the page's address without opening it in your browser.")
]
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""The variables of which one is set where a browser can be opened, or is named by the user."""


def announced(*, no_browser: bool) -> Callable[[str], None]:
    """Return what prints a page's address, and opens it in the browser unless there is none."""

    def ready(address: str) -> None:
        typer.echo(f"The page is open to this machine until Ctrl-C:\n\n  {address}\n")
        if not no_browser and _has_screen():
            # Some browsers return only when they are closed.
            threading.Thread(target=webbrowser.open, args=(address,), name="penstock-browser", daemon=True).start()

    return ready


def _has_screen() -> bool:
    """Return whether a browser has a window; `webbrowser` would start one that takes the terminal, such as w3m."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, _SCREENS))


LONGEST_COMPLAINT = 1000
"""The most characters of a printed error, because some gateways answer with a whole page."""
CTRL_C = "Ctrl-C"
_IN_CODE = (
    (re.compile(r"pass api='[^']+' to from_stream, from_wire or Pipeline"), "name that one with --api or --provider"),
    (re.compile(r"\b(api|body|interaction|text|workers)=(?![\w'\"])"), r"--\1"),
)
"""What the library advises to those who write code, and the same for those who type a command."""


def beginning_with(words: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a shell completion for words; words that a shell would split are left out."""
    known = list(words)

    def complete(incomplete: str) -> list[str]:
        return [word for word in known if word.startswith(incomplete)]

    return complete


_PROVIDER_NAMES = ("openai", *(name for name in PROVIDERS if name != "openai-chat"))
SHOWN_PROVIDERS = f"{', '.join(_PROVIDER_NAMES[:-1])} or {_PROVIDER_NAMES[-1]}"
complete_provider = beginning_with(_PROVIDER_NAMES)
complete_strategy = beginning_with(STRATEGIES)

AsJson = Annotated[bool, typer.Option("--json", help="One event a line, as JSON in ASCII.")]
ApiName = Annotated[
    str | None,
    typer.Option(
        "--api",
        metavar="NAME",
        help="The API, if it cannot be detected.",
        autocompletion=beginning_with(api.name for api in APIS),
    ),
]
Interaction = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=0, help="Which response of a cassette of VCR.py, from 0; by default its only stream."
    ),
]
StrategyName = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="How calls are found, by default the environment's; see penstock strategies.",
        autocompletion=complete_strategy,
    ),
]
ToolNames = Annotated[
    list[str] | None,
    typer.Option(
        "--tool",
        metavar="TOOL",
        help=f"A tool to offer, any number of times: {', '.join(FILE_TOOL_DEFINITIONS)}, MODULE:FUNCTION, or a JSON "
        "file with a definition or a list of them. Calls are shown, never run.",
        autocompletion=beginning_with(FILE_TOOL_DEFINITIONS),
    ),
]


def complain(message: str) -> None:
    """Print an error to stderr in one line; credentials in URLs are hidden."""
    for theirs, ours in _IN_CODE:
        message = theirs.sub(ours, message)
    said = shortened(without_credentials(message), LONGEST_COMPLAINT)
    typer.echo(f"penstock: {printable(said)}", err=True)


def strategy_name(given: str | None) -> str:
    return settings_from_environment().strategy if given is None else given


def json_line(event: Event) -> str:
    r"""Return an event as a line of JSON in ASCII, which is safe on every terminal and in every encoding.

    >>> from penstock.events import Notice
    >>> json_line(Notice("c", "é\x9b"))
    '{"type":"NOTICE","code":"c","detail":"\\u00e9\\u009b"}'
    """
    text = to_json(event).decode()
    if text.isascii() and text.isprintable():
        return text
    return "".join(each if " " <= each <= "~" else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return r"\u007f" if character == "\x7f" else dumps(character)[1:-1]


class Watched:
    """Events for a sink, without the exception at their end, which the command reports itself.

    `error` is the provider's error or the lost connection. Ctrl-C calls `stop`, which ends open segments as interrupted
    and sets `is_stopped`. Before the first event, and the second time, Ctrl-C is a plain KeyboardInterrupt.
    """

    def __init__(self, events: Iterator[Any], stop: Callable[[str], object]) -> None:
        self.error: ProviderError | None = None
        self.is_stopped = False
        self._stop = stop
        self._is_begun = False
        self._events = self._until_the_end(events)

    def __iter__(self) -> Iterator[Any]:
        return self._events

    def close(self) -> None:
        self._events.close()

    def _until_the_end(self, events: Any) -> Generator[Any, None, None]:
        with closing(events), on_interrupt(self._interrupt):
            try:
                for event in events:
                    self._is_begun = True
                    yield event
            except ProviderError as error:
                self.error = error

    def _interrupt(self) -> None:
        if not self._is_begun:
            raise KeyboardInterrupt
        self.is_stopped = True
        self._stop(CTRL_C)


def print_lines(events: Watched, line: Callable[[Any], str]) -> None:
    """Print a line for each event as it arrives."""
    with closing(events):
        for event in events:
            sys.stdout.write(line(event) + "\n")
            sys.stdout.flush()


def show(watched: Watched, *, as_json: bool) -> None:
    """Show events on the terminal or in lines; `watched` has the outcome of the stream afterwards."""
    if as_json:
        print_lines(watched, json_line)
        return
    from ...sinks.terminal_view import terminal_view  # noqa: PLC0415 - rich is not needed for help

    with closing(watched):
        terminal_view()(_without_error(watched))


def _without_error(watched: Watched) -> Iterator[Any]:
    """Yield events without the ends of answers that the error of the stream follows, which the command reports."""
    ends: list[AnswerEnd] = []
    for event in watched:
        if isinstance(event, AnswerEnd):
            ends.append(event)
        else:
            yield from ends
            ends.clear()
            yield event
    if watched.error is None:
        yield from ends
