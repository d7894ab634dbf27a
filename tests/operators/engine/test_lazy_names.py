"""`lazy_names`: a package's names come from their files when they are first used."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path(__file__).parents[2]
PACKAGES = ("penstock.operators", "penstock.sinks")


def loaded_by(code: str) -> set[str]:
    """Return the modules of a fresh process that has run some code."""
    begin = f"import sys; sys.path.insert(0, {str(TESTS / 'support')!r}); import checkout"
    end = "import json; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", f"{begin}\n{code}\n{end}"], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_what_its_file_defines_and_no_module(package: str):
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert not isinstance(getattr(module, name), ModuleType), name


def test_importing_a_package_loads_none_of_its_operators_and_a_name_only_what_it_needs():
    alone = loaded_by("import penstock.operators, penstock.sinks")
    assert not {"reactivex", "msgspec", "penstock.operators.engine.stage", "penstock.sinks.collect"} & alone
    native = loaded_by("from penstock.operators import drive, stream_fields, to_invocations, to_segments")
    assert "penstock.operators.to_segments" in native
    assert not {"penstock.operators.text.text_engine", "penstock.operators.catalogue.dialect_for"} & native


def test_a_file_that_is_loaded_first_does_not_take_the_place_of_its_function():
    code = (
        "import penstock.operators.to_segments as other, penstock.operators\n"
        "from penstock.operators import to_segments\n"
        "assert other is to_segments is penstock.operators.to_segments is not sys.modules[other.__module__]"
    )
    assert "penstock.operators.to_segments" in loaded_by(code)


def test_other_names_are_refused_as_those_of_any_module():
    package = importlib.import_module("penstock.operators")
    with pytest.raises(AttributeError, match=r"module 'penstock\.operators' has no attribute 'to_segment'"):
        _ = package.to_segment
    with pytest.raises(ImportError, match="cannot import name 'to_segment'"):
        exec("from penstock.operators import to_segment", {})
    assert isinstance(importlib.import_module("penstock.operators.engine"), ModuleType)
    assert isinstance(package.engine, ModuleType)
