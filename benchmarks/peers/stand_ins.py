"""Stand-ins for the modules that an inference engine imports and its parsers do not use.

vLLM and SGLang are installed without their dependencies (torch, CUDA's libraries). Their parsers are plain Python, but
importing them imports the engine. Within `absent_modules`, a module of a known list that is not installed imports as
one in which every name exists and does nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from pydantic_core.core_schema import any_schema


class _Anything(type):
    """The class of stand-ins: they have every attribute, can be called, subclassed and used as decorators."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        if cls is not StandIn:
            return super().__call__(*arguments, **options)
        if len(arguments) == 1 and not options and callable(arguments[0]) and arguments[0] is not StandIn:
            return arguments[0]  # as a decorator does
        return StandIn

    def __getitem__(cls, _: Any) -> Any:
        return StandIn

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __or__(cls, _: Any) -> Any:
        return Any

    __ror__ = __or__

    def __lt__(cls, _: Any) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __add__(cls, other: Any) -> Any:
        return other

    __radd__ = __add__

    def __hash__(cls) -> int:
        return id(cls)


class StandIn(metaclass=_Anything):
    """Stands for whatever a module has."""

    def __init_subclass__(cls, **_: Any) -> None:
        super().__init_subclass__()

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        return any_schema()


class _Module(ModuleType):
    __version__ = "0.0"
    __all__: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn


class _Finder(MetaPathFinder, Loader):
    def __init__(self, roots: Iterable[str]) -> None:
        self.roots = tuple(roots)

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        if any(name == root or name.startswith(f"{root}.") for root in self.roots):
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = _Module(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


@contextmanager
def absent_modules(missing: Iterable[str], replaced: Iterable[str] = ()) -> Iterator[None]:
    """Let modules import as stand-ins within the block: missing ones if not installed, replaced ones always."""
    last, first = _Finder(missing), _Finder(replaced)
    sys.meta_path.append(last)
    sys.meta_path.insert(0, first)
    try:
        yield
    finally:
        sys.meta_path.remove(last)
        sys.meta_path.remove(first)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _Module)]:
            del sys.modules[name]


def bare_package(name: str) -> None:
    """Import a package without running its `__init__`, which imports the engine."""
    spec = find_spec(name)
    if spec is None:
        message = f"no package {name}"
        raise ModuleNotFoundError(message, name=name)
    module = ModuleType(name)
    module.__path__ = list(spec.submodule_search_locations or ())
    module.__spec__ = spec
    sys.modules[name] = module
