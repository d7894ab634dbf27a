"""Tests import the checkout under its installed name, whether it is installed or not."""

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]

if "penstock" not in sys.modules:
    penstock = ModuleType("penstock")
    penstock.__path__ = [str(ROOT)]
    sys.modules["penstock"] = penstock


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of outside corpora, named by the environment variable SHARED; skip where there is none."""
    folder = os.environ.get("SHARED")
    if not folder:
        pytest.skip("needs the outside corpora: make test-shared SHARED=FOLDER")
    return Path(folder).resolve()
