"""What the page may read of the disk, to compare with: texts below the app's folder."""

from __future__ import annotations

import os
from pathlib import Path

import httpx2 as httpx
import pytest
from app_page import TOKEN, app_served

from penstock.studio.app.app_session import LONGEST, disk_text


def test_a_text_below_the_folder_and_nothing_else(tmp_path: Path):
    root = (tmp_path / "root").resolve()
    (root / "src").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (root / "src/a.py").write_text("é\r\n", newline="")
    (root / "inside").symlink_to("src/a.py")
    (root / "out").symlink_to("../secret")
    (root / "round").symlink_to("round")
    (root / "picture").write_bytes(b"\x89PNG\r\n\x1a\n\xff")
    (root / "zero").write_bytes(b"a\0b")
    (root / "longest").write_bytes(b"x" * LONGEST)
    (root / "longer").write_bytes(b"x" * (LONGEST + 1))
    os.mkfifo(root / "pipe")
    assert disk_text(root, "src/a.py") == disk_text(root, "./src/a.py") == "é\r\n"
    assert disk_text(root, str(root / "src/a.py")) == "é\r\n"
    assert disk_text(root, "longest") == "x" * LONGEST
    others = ["../secret", str(tmp_path / "secret"), "out", "src", "", ".", "round", "pipe", "/dev/zero", "a" * 5000]
    others += ["inside", "src/../src/a.py"]  # which write_files refuses, too
    others += ["picture", "zero", "longer", "none", "src/a.py/b", "a\0b", "\ud83d"]
    assert {path: disk_text(root, path) for path in others} == dict.fromkeys(others)


def test_the_page_asks_for_it_with_its_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "a b.txt").write_text("mint\n")
    headers = {"authorization": f"Bearer {TOKEN}"}
    with (
        app_served(monkeypatch, root=tmp_path.resolve()) as served,
        httpx.Client(base_url=served.address, trust_env=False) as asked,
    ):
        assert asked.get("/api/file", params={"path": "a b.txt"}).status_code == 401
        asked.headers.update(headers)
        assert asked.get("/api/file", params={"path": "a b.txt"}).json() == {"text": "mint\n"}
        assert asked.get("/api/file", params={"path": "../a b.txt"}).json() == {"text": None}
        assert asked.get("/api/file").json() == {"text": None}
        assert asked.post("/api/file").status_code == 405
    with (
        app_served(monkeypatch) as served,
        httpx.Client(base_url=served.address, headers=headers, trust_env=False) as it,
    ):
        assert it.get("/api/file", params={"path": "a b.txt"}).json() == {"text": None}
