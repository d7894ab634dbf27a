"""What changes in a file on the disk, on the page while the file is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from app_page import app_served
from app_tab import EVENTS, FILE_CARD, HALF, IN_THE_FILE, ask, card, expect_lines, leave, opened, replay
from browser import Tab
from chat_chunks import call, closing, event
from every_sdk import nothing_left
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


def test_a_file_is_compared_with_the_one_on_the_disk_while_it_is_written(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "herbs.html").write_text("<h1>Herbs</h1>\n<p>Sage</p>\n<hr>\n")
    with nothing_left(), replay().gated() as provider, app_served(monkeypatch, provider, root=tmp_path) as served:
        page = opened(tab, served)
        ask(page)
        provider.allow(IN_THE_FILE)
        file = card(page, FILE_CARD)
        expect(page.get_by_role("button", name="Changes: 0 added, 0 removed")).to_have_attribute("aria-pressed", "true")
        changes = file.get_by_role("region", name=f"{FILE_CARD}, changes so far")
        expect(changes.locator(".same .source")).to_have_text("<h1>Herbs</h1>")
        expect(changes.locator(".added .source")).to_have_text("<p>Mi")
        page.get_by_role("button", name="Content", exact=True).click()
        expect_lines(file, HALF)
        assert [entry.outcome for entry in provider.log] == ["open"]
        provider.allow(len(EVENTS) - IN_THE_FILE)
        change = page.get_by_role("button", name="Changes: 1 added, 2 removed")
        expect(change).to_have_attribute("aria-pressed", "false")  # who chose the content keeps it
        change.click()
        expect(file.locator(".removed .source")).to_have_text(["<p>Sage</p>", "<hr>"])
        page.get_by_role("button", name=f"Deny: {FILE_CARD}").click()
        leave(tab)
    assert tab.complaints == []


def test_at_every_moment_the_changes_are_those_between_the_two_files(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    """Over files of few different lines: the rows without the added ones are the old file, without the removed ones the new."""
    with nothing_left(), app_served(monkeypatch) as served:
        page = opened(tab, served)
        wrong = page.evaluate(_COMPARED)
        leave(tab)
    assert wrong == []
    assert tab.complaints == []


_COMPARED = """async () => {
    const { LiveDiff } = await import("/static/live_diff.js");
    let seed = 16;
    const below = (limit) => (seed = (seed * 48271) % 2147483647) % limit;
    const text = (kinds) => Array.from({ length: below(12) }, () => ["", "}", "a", "ab", "abc", "x = 1"][below(kinds)] + (below(9) ? "\\n" : "")).join("");
    const lines = (whole) => { const all = whole.split("\\n"); if (all.at(-1) === "") all.pop(); return all; };
    const wrong = [];
    for (let round = 0; round < 400; round += 1) {
        const kinds = 2 + below(5);
        const [before, after] = [text(kinds), text(kinds)];
        const diff = new LiveDiff(before, null, "x");
        const check = (now, isWhole) => {
            const rows = diff.view.lines.map((line, at) => [diff.view.marks[at].kind, diff.view.marks[at].number, line]);
            const of = (kind) => rows.filter((row) => row[0] !== kind).map((row) => row[2]);
            const isGrowing = !isWhole && now.split("\\n").at(-1) !== "";
            const old = of("added").slice(0, isGrowing && rows.at(-1)?.[0] === "same" ? -1 : undefined);
            const isRight =
                JSON.stringify(of("removed")) === JSON.stringify(lines(now)) &&
                JSON.stringify(old) === JSON.stringify(lines(before).slice(0, isWhole ? undefined : old.length)) &&
                rows.every(([kind, number, line], at) => kind === "removed" ? lines(before)[number - 1] === line : lines(now)[number - 1] === line) &&
                diff.removed === rows.filter((row) => row[0] === "removed").length;
            if (!isRight) wrong.push({ before, now, rows, isWhole });
        };
        for (let at = 1; at <= after.length; at += 1 + below(4)) {
            const now = after.slice(0, at);
            diff.update(now.split("\\n"));
            check(now, false);
        }
        diff.update(after.split("\\n"), true);
        check(after, true);
    }
    return wrong.slice(0, 3);
}"""


PATCH = "--- a/herbs.txt\n+++ b/herbs.txt\n@@ -1,2 +1,2 @@\n-sage\n+mint\n hops\n@@ -4 +4 @@\n-dill\n+chive\n"
EDIT = json.dumps({"path": "herbs.txt", "patch": PATCH})
HALF_EDIT = EDIT.index(" -4 +4")
EDITED = [
    event({"role": "assistant", "content": "Here it is."}),
    call(0, EDIT[:HALF_EDIT], "call_edit", "edit_file"),
    call(0, EDIT[HALF_EDIT:-5]),
    call(0, EDIT[-5:]),
    *closing(),
]


def test_an_edit_has_its_counts_and_the_line_that_does_not_match(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "herbs.txt").write_text("sage\nhops\nrue\nparsley\n")
    with nothing_left(), replay(EDITED).gated() as provider, app_served(monkeypatch, provider, root=tmp_path) as served:
        page = opened(tab, served)
        ask(page)
        provider.allow(2)
        edit = card(page, "edit_file herbs.txt")
        expect(edit.locator(".state")).to_have_text("writing 7 lines · +1 -1 in 1 hunk, line 1")
        provider.allow(1)
        expect(edit.locator(".note.bad")).to_have_text("hunk 2: line 4 is 'parsley', not 'dill'")
        provider.allow(len(EDITED) - 3)
        expect(edit.locator(".note.bad")).to_have_count(2)  # and why nothing was written
        leave(tab)
    assert (tmp_path / "herbs.txt").read_text() == "sage\nhops\nrue\nparsley\n"
    assert tab.complaints == []
