"""`lazy_names`: a package whose public names are imported from their files when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def lazy_names(package: str, names: Iterable[str], files: Mapping[str, Iterable[str]]) -> None:
    """Let a package import each of its public names at first use, so that importing the package stays cheap.

    - `names`: the package's `__all__`. A name is in the file that is named like it, unless `files` has it.
    - `files`: the names of each other file, by its path from the package on: `{"engine.drive": ("adrive", "drive")}`.
    """
    module = sys.modules[package]
    known = {name: name for name in names} | {name: file for file, held in files.items() for name in held}
    module.__dict__["_file_of"] = known
    module.__class__ = _Names


class _Names(ModuleType):
    def __getattr__(self, name: str) -> Any:
        file = self.__dict__["_file_of"].get(name)
        if file is None:
            message = f"module {self.__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        value = getattr(import_module(f".{file}", self.__name__), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds each file that it has loaded to its package. Where a file is named like what is in it,
        # the name is that of its content.
        is_file = isinstance(value, ModuleType) and name in self.__dict__["_file_of"]
        super().__setattr__(name, getattr(value, name) if is_file else value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self.__dict__["_file_of"]})
