"""The command `penstock`: `main` starts it, and says everything that goes wrong in one line."""

from __future__ import annotations

import io
import os
import sys
from importlib.util import find_spec

NEEDED = ("typer", "rich")
NOT_INSTALLED = 'the command line needs two more packages: pip install "penstock[cli]"'


def main() -> None:
    """Run the command line; the process ends with 0, with 2 for what its user can mend, with 130 after Ctrl-C."""
    try:
        code = _run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        # The reader (`| head`) has left; nothing may be written any more, not even by the interpreter's last flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:  # a full disk behind the output, say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"penstock: {error.strerror or error}", file=sys.stderr)  # noqa: T201 - the command line's own output
        code = 2
    sys.exit(code)


def _run() -> int:
    if not all(map(find_spec, NEEDED)):
        print(NOT_INSTALLED, file=sys.stderr)  # noqa: T201 - the command line's own output
        return 2
    from .cli_commands import run_command  # noqa: PLC0415 - what it imports is an extra

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 shows what it can
    return run_command()


if __name__ == "__main__":
    main()
