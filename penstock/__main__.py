"""Entry point of `penstock` and of `python -m penstock`. It handles Ctrl-C before it imports anything else."""

import os
import sys


def main() -> None:
    """Run the command line; Ctrl-C during import or after the end exits at once with 130."""
    try:
        import signal  # noqa: PLC0415 - Ctrl-C may come in the middle of it

        is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if is_ours:
            signal.signal(signal.SIGINT, _leave)
        from penstock.studio.cli.cli import code_of, loaded  # noqa: PLC0415

        run = loaded()
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = code_of(run)
        if is_ours:
            signal.signal(signal.SIGINT, _leave)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _leave(*_: object) -> None:
    # Raised in the middle of an import, an exception may be swallowed, or come out as another.
    os._exit(130)


if __name__ == "__main__":
    main()
