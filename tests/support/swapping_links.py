"""A process that swaps a name between what it is and a symbolic link, as fast as it can, until its stdin closes.

python swapping_links.py NAME LINK    a line on stdout once it has begun
"""

# ruff: noqa: PTH104, PTH114, PTH115, PTH211 - each call is one of the system, as fast as it can be
from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from itertools import count


def main(name: str, link: str) -> None:
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    aside, target = f"{name}.aside", os.readlink(link)
    print("swapping", flush=True)  # noqa: T201
    for number in count():
        with suppress(OSError):  # somebody wrote where the link was, or where nothing was
            os.rename(name, aside)
            os.rename(link, name)
            os.rename(name, link)
            os.rename(aside, name)
        with suppress(OSError):
            if os.path.lexists(aside):
                if os.path.lexists(name):
                    os.rename(name, f"{name}.{number}")
                os.rename(aside, name)
            if not os.path.islink(link):
                if os.path.lexists(link):
                    os.rename(link, f"{link}.{number}")
                os.symlink(target, link)


if __name__ == "__main__":
    main(*sys.argv[1:])
