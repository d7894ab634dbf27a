"""Takes the files beside `docs/` to which pages link into the site.

Programs are pages of code, notebooks are pages with their saved outputs, others are as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TAKEN_TO = "repository"
_LINK = re.compile(r"\[([^\]]*)\]\(\.\./([^)#\s]+)\)")
_LANGUAGES = {".py": "python", ".jsx": "jsx", ".json": "json", ".yaml": "yaml"}
_FENCE = "`" * 12
_LINK_OF_A_NOTEBOOK = re.compile(r"\]\((?:\.\./docs/([^)\s]+)|(\w+\.ipynb))\)")


def linked_files(markdown: str) -> set[str]:
    """Return the files outside of `docs/` to which a page links, as paths below the root."""
    return {path for _, path in _LINK.findall(markdown) if (ROOT / path).is_file()}


def with_links_inside(markdown: str) -> str:
    """Return a page whose links stay in the site; a folder, which a site cannot show, is named in place of a link."""
    return _LINK.sub(_link, markdown)


def page_of_code(path: str) -> str:
    """Return a program as a page."""
    code = (ROOT / path).read_text(encoding="utf-8").rstrip()
    return f"# {path}\n\n{_FENCE}{_LANGUAGES[Path(path).suffix]}\n{code}\n{_FENCE}\n"


def page_of_notebook(path: str) -> str:
    """Return a notebook as a page: its text, its code, and the outputs that are saved in it."""
    cells = json.loads((ROOT / path).read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(block for cell in cells for block in _blocks(cell)) + "\n"


def on_files(files: Any, *, config: Any) -> Any:
    """Add the linked files to those of the site, and the tests of the laws, to which a completed page links."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - the tests ask the other functions without mkdocs

    linked = {f"tests/laws/{path.name}" for path in (ROOT / "tests/laws").glob("test_*.py")}
    for page in files.documentation_pages():
        linked |= linked_files(page.content_string)
    for path in sorted(linked):
        if Path(path).suffix in _LANGUAGES:
            files.append(File.generated(config, _taken(path), content=page_of_code(path)))
        elif Path(path).suffix == ".ipynb":
            files.append(File.generated(config, _taken(path), content=page_of_notebook(path)))
        else:
            files.append(File.generated(config, _taken(path), abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page as mkdocs shows it."""
    return markdown if page.file.src_uri.startswith(f"{TAKEN_TO}/") else with_links_inside(markdown)


def _blocks(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield _LINK_OF_A_NOTEBOOK.sub(lambda link: f"](../../{link[1]})" if link[1] else f"]({link[2]}.md)", source)
        return
    yield f"{_FENCE}python\n{source}\n{_FENCE}"
    for output in cell["outputs"]:
        data = {kind: "".join(text) for kind, text in output.get("data", {"text/plain": output.get("text")}).items()}
        if "text/html" in data:
            yield f'<div class="output">{data["text/html"]}</div>'
        elif "image/png" in data:
            source = f"data:image/png;base64,{data['image/png'].strip()}"
            yield f'<div class="output"><img alt="{escape(data["text/plain"])}" src="{source}"></div>'
        else:
            yield f"{_FENCE}text\n{data['text/plain'].rstrip()}\n{_FENCE}"


def _taken(path: str) -> str:
    return f"{TAKEN_TO}/{path}{'.md' if Path(path).suffix in (*_LANGUAGES, '.ipynb') else ''}"


def _link(found: re.Match[str]) -> str:
    text, path = found.groups()
    return f"[{text}]({_taken(path)})" if (ROOT / path).is_file() else f"{text} (`{path}/`)"
