"""The operators that are asked whether they keep the contract: `CONTRACT` of every test file that has one."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from operator_contract import Case

TESTS = Path(__file__).parents[1]


def declared() -> tuple[Case, ...]:
    """Return the cases of all test files; what a file declares stands at the beginning of a line."""
    files = sorted(path for room in ("operators", "sources") for path in (TESTS / room).rglob("test_*.py"))
    modules = [_module(path) for path in files if "\nCONTRACT = " in path.read_text(encoding="utf-8")]
    return tuple(case for module in modules for case in module.CONTRACT)


def _module(path: Path) -> ModuleType:
    """Import a test file by the name that pytest gives it."""
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    return import_module(path.stem)


CASES = declared()
