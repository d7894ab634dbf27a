"""Each folder with code is a package. The folders are named in penstock/__init__.py, all else is in pyproject.toml."""

import os
import re
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup

ROOT = Path(__file__).parent

sys.path.insert(0, str(ROOT))
from penstock import ROOMS  # noqa: E402 - of this checkout

sys.path.remove(str(ROOT))


def packages() -> list[str]:
    folders = {path.parent.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    return ["penstock", *sorted(".".join(("penstock", *folder.parts)) for folder in folders)]


def long_description() -> str:
    """Return the README with links and pictures that an index can show: relative ones lead to the repository."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)"

    def whole(link: re.Match[str]) -> str:
        return f"{link[1]}[{link[2]}]({urls['Repository']}/{'raw' if link[1] else 'blob'}/main/{link[3]})"

    return re.sub(relative, whole, readme)


def extensions() -> list[Extension]:
    """Return what is built in C, where that is wanted; without a compiler the twins in Python do the same."""
    if os.environ.get("PENSTOCK_PURE", "0") not in ("", "0"):
        return []
    return [Extension("penstock.operators.machines._native", ["operators/machines/_native.c"], optional=True)]


if __name__ == "__main__":
    # operators/within.py is penstock.operators.within
    setup(
        packages=packages(),
        ext_modules=extensions(),
        package_dir={"penstock": "penstock", **{f"penstock.{room}": room for room in ROOMS}},
        long_description=long_description(),
        long_description_content_type="text/markdown",
    )
