"""The command line: `main` runs it and prints each error in one line."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec

from .installed_version import installed_version

NEEDED = ("typer", "rich")
OUTPUT_IS_CLOSED = "penstock: the output is closed; let it go somewhere, as to /dev/null"


def main() -> None:
    """Run the command line; the exit code is 0, 2 for an error that the user can fix, or 130 after Ctrl-C."""
    sys.exit(code_of(_load_and_run))


def loaded() -> Callable[[], int]:
    """Import the commands, and return the function that runs the one in `sys.argv`."""
    if sys.argv[1:] == ["--version"]:
        return _say_version
    if not all(map(find_spec, NEEDED)):
        return _not_installed
    from .cli_commands import run_command  # noqa: PLC0415 - what it imports is an extra

    return run_command


def code_of(run: Callable[[], int]) -> int:
    """Run a command, handle errors of its output, and return the exit code."""
    if sys.stdout is None:
        _say(OUTPUT_IS_CLOSED)
        return 2
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 shows what it can
    try:
        code = run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
        with suppress(OSError):
            sys.stdout.flush()
            return code
    except BrokenPipeError:  # the reader (`| head`) has left
        code = 1
    except OSError as error:  # a full disk behind the output, say
        from ...events.errors import without_credentials  # noqa: PLC0415 - a version needs no events

        _say(f"penstock: {without_credentials(str(error.strerror or error))}")
        code = 2
    else:
        return code
    _write_no_more()
    return code


def _load_and_run() -> int:
    return loaded()()


def _say_version() -> int:
    sys.stdout.write(f"penstock {installed_version()}\n")
    return 0


def _not_installed() -> int:
    from ...events.errors import how_to_install  # noqa: PLC0415 - a version needs no events

    _say(f"the command line needs two more packages; {how_to_install('cli')}")
    return 2


def _say(line: str) -> None:
    with suppress(OSError):
        if sys.stderr is not None:  # `print` would take the output in its place
            print(line, file=sys.stderr)  # noqa: T201 - the command line's own output


def _write_no_more() -> None:
    """Redirect buffered output to nowhere, because the interpreter flushes it at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
