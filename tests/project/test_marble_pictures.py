"""The pictures of docs/trace.md are those that are drawn today."""

from __future__ import annotations

import runpy
from pathlib import Path

from drawn import drawn

IMAGES = Path(__file__).parents[2] / "docs/images"


def test_the_pictures_in_the_documentation_are_of_these_marbles():
    script = runpy.run_path(str(IMAGES / "make_marbles_pictures.py"))
    page = (IMAGES.parent / "trace.md").read_text(encoding="utf-8")
    assert len(list(script["long_answer"]())) >= 5_000
    for name, picture in script["pictures"]().items():
        assert f"](images/{name})" in page
        saved = (IMAGES / name).read_text(encoding="utf-8")
        assert drawn(saved) == drawn(picture.svg), "make it anew: python docs/images/make_marbles_pictures.py"
