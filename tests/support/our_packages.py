"""Prints what an installation with the extra `all` brings, one `name==version` a line, as it is installed here."""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def wanted(extra: str = "all") -> list[Requirement]:
    """Return what the project itself and one of its extras ask for."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    ours, left, found = canonicalize_name(project["name"]), [extra], list(project["dependencies"])
    while left:
        for each in map(Requirement, project["optional-dependencies"][left.pop()]):
            if canonicalize_name(each.name) == ours:
                left += sorted(each.extras)
            else:
                found.append(str(each))
    return [Requirement(each) for each in found]


def installed(requirements: list[Requirement]) -> tuple[dict[str, str], list[str]]:
    """Return all that is installed for some requirements, by name, and the names of what is not."""
    versions: dict[str, str] = {}
    absent: set[str] = set()
    left = [(each, extra) for each in requirements for extra in ("", *each.extras)]
    seen: set[tuple[str, str]] = set()
    while left:
        requirement, extra = left.pop()
        name = canonicalize_name(requirement.name)
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            found = distribution(name)
        except PackageNotFoundError:
            absent.add(name)
            continue
        versions[name] = found.version
        for each in map(Requirement, found.requires or ()):
            if each.marker is None or each.marker.evaluate({"extra": extra}):
                left += [(each, more) for more in ("", *each.extras)]
    return versions, sorted(absent)


if __name__ == "__main__":
    versions, absent = installed(wanted())
    sys.stdout.writelines(f"{name}=={version}\n" for name, version in sorted(versions.items()))
    if absent:
        message = f"not installed here, and so not audited: {', '.join(absent)}"
        raise SystemExit(message)
