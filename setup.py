"""Each folder with code is a package; what it is called stands in setup.cfg, all else in pyproject.toml."""

from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
ROOMS = ("events", "operators", "pipeline", "sinks", "sources", "studio")


def packages() -> list[str]:
    folders = {path.parent.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    return ["penstock", *sorted(".".join(("penstock", *folder.parts)) for folder in folders)]


if __name__ == "__main__":
    setup(packages=packages())
