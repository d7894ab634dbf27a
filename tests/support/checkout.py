"""Makes `penstock` the one of this checkout, whether it is installed or not: import it before anything of Penstock."""

import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MADE_BY_TOOLS = (".git", ".venv*", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis")

sys.path.insert(0, str(ROOT))
import penstock  # noqa: E402, F401 - the front door finds the rooms beside it

sys.path.remove(str(ROOT))


def copied(folder: Path) -> Path:
    """Return a copy of the checkout in a folder, without what tools have made."""
    return shutil.copytree(ROOT, folder / "copy", ignore=shutil.ignore_patterns(*MADE_BY_TOOLS))


def clean_environment() -> dict[str, str]:
    """Return the environment of somebody who knows nothing of this checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
