"""A process that swaps a name between what it is and a symbolic link, as fast as it can, until its stdin closes.

python swapping_links.py NAME LINK    a line on stdout once it has begun
"""

# ruff: noqa: PTH104, PTH114 - each call is one of the system, as fast as it can be
from __future__ import annotations

import os
import sys
import threading


def main(name: str, link: str) -> None:
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    aside = f"{name}.aside"
    print("swapping", flush=True)  # noqa: T201
    while True:
        try:
            os.rename(name, aside)
            os.rename(link, name)
            os.rename(name, link)
            os.rename(aside, name)
        except OSError:  # somebody wrote where the link was
            pass
        if not os.path.lexists(name) and os.path.lexists(aside):
            os.rename(aside, name)
        if not os.path.islink(link):
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
