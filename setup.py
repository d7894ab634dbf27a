"""Each folder with code is a package. The folders are named in penstock/__init__.py, all else is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent

sys.path.insert(0, str(ROOT))
from penstock import ROOMS  # noqa: E402 - of this checkout

sys.path.remove(str(ROOT))


def packages() -> list[str]:
    folders = {path.parent.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    return ["penstock", *sorted(".".join(("penstock", *folder.parts)) for folder in folders)]


if __name__ == "__main__":
    # operators/within.py is penstock.operators.within
    setup(packages=packages(), package_dir={"penstock": "penstock", **{f"penstock.{room}": room for room in ROOMS}})
