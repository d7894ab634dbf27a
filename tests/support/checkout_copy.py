"""A copy of the checkout in which somebody adds a thing, and what that touched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from hypothesis import settings
from looped import ROWS_FILE

ROOT = Path(__file__).parents[2]
MADE = shutil.ignore_patterns(".*", "*.pyc.*", "build", "dist", "*.egg-info")
"""What tools make; what is compiled is copied too, but for the files that are just being written."""
READ_BEFORE = {"HYPOTHESIS_STORAGE_DIRECTORY": str(ROOT / ".hypothesis")}
"""Where Hypothesis finds the constants of the files that it has read in the checkout."""


class CheckoutCopy:
    """The checkout, to be changed."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        shutil.copytree(ROOT, self.root, ignore=MADE)
        self._before = self._files()

    def write(self, path: str, text: str) -> None:
        """Write a file that is not there yet."""
        assert not (self.root / path).exists()
        (self.root / path).write_text(text, encoding="utf-8")

    def put_before(self, path: str, line: str, new: str) -> None:
        """Put text before the one line of a file that begins so."""
        file = self.root / path
        text, count = re.subn(f"^(?={re.escape(line)})", lambda _: new, file.read_text("utf-8"), flags=re.MULTILINE)
        assert count == 1, f"{path} has {count} lines that begin with {line!r}"
        file.write_text(text, encoding="utf-8")

    def touched(self) -> list[str]:
        """Return the files that are new or have changed; what runs have made does not count."""
        now = self._files()
        return sorted(path for path in now | self._before if now.get(path) != self._before.get(path))

    def run(self, *arguments: str, **environment: str) -> str:
        """Run Python in the copy; what it says, or an AssertionError with that."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**clean, **READ_BEFORE, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def penstock(self, code: str) -> str:
        """Run code with the copy as the installed Penstock."""
        return self.run("-c", f"import sys; sys.path.insert(0, 'tests/support'); import checkout\n{code}")

    def pytest(self, *arguments: str) -> str:
        """Run tests in the copy, which go as far as those that run here; what they say, and the rows that they asked."""
        profile = f"--hypothesis-profile={settings.get_current_profile_name()}"
        rows = Path(f"{self.root}.rows")
        rows.unlink(missing_ok=True)
        options = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", profile)
        said = self.run("-m", "pytest", *options, *arguments, **{ROWS_FILE: str(rows)})
        return said + (rows.read_text(encoding="utf-8") if rows.exists() else "")

    def _files(self) -> dict[str, bytes]:
        found = (path for path in self.root.rglob("*") if path.is_file())
        paths = ((path.relative_to(self.root), path) for path in found)
        return {
            name.as_posix(): path.read_bytes()
            for name, path in paths
            if name.parts[0] != "build" and not {"__pycache__", ".hypothesis"} & set(name.parts)
        }


def code_blocks(page: str, language: str) -> list[str]:
    """Return the blocks of code in one language of a page in docs/."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
