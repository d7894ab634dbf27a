"""Each folder with code is a package. The folders are named in penstock/__init__.py, all else is in pyproject.toml."""

import gzip
import os
import re
import sys
import tarfile
import tomllib
from io import BytesIO
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.sdist import sdist

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
    # The same bytes in whatever folder it is built: what debuggers are told has no path of it.
    anywhere = [f"-ffile-prefix-map={ROOT}=."] if os.name == "posix" else []
    source = "operators/machines/_native.c"
    return [Extension("penstock.operators.machines._native", [source], extra_compile_args=anywhere, optional=True)]


class Sdist(sdist):
    """Writes the same bytes for the same files, where SOURCE_DATE_EPOCH says when; wheels do so themselves."""

    def make_archive(self, *args: Any, **options: Any) -> str:
        path: str = super().make_archive(*args, **options)
        if (epoch := os.environ.get("SOURCE_DATE_EPOCH")) is None or not path.endswith(".tar.gz"):
            return path
        written = BytesIO()
        with tarfile.open(path) as made, tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as same:
            for member in sorted(made.getmembers(), key=lambda each: each.name):
                member.mtime, member.uid, member.gid, member.uname, member.gname = int(epoch), 0, 0, "", ""
                member.pax_headers = {}
                same.addfile(member, made.extractfile(member) if member.isfile() else None)
        Path(path).write_bytes(gzip.compress(written.getvalue(), mtime=int(epoch)))
        return path


if __name__ == "__main__":
    # operators/within.py is penstock.operators.within
    setup(
        packages=packages(),
        ext_modules=extensions(),
        cmdclass={"sdist": Sdist},
        package_dir={"penstock": "penstock", **{f"penstock.{room}": room for room in ROOMS}},
        long_description=long_description(),
        long_description_content_type="text/markdown",
    )
