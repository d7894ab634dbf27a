"""The app's page in a real browser: what it shows while a model writes, and what no other page can do."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from app_page import TOKEN, app_served
from app_server import serving
from app_tab import (
    COMMAND_CARD,
    EVENTS,
    FILE,
    FILE_CARD,
    HALF,
    IN_THE_FILE,
    ask,
    card,
    expect_lines,
    leave,
    lines,
    opened,
    replay,
)
from browser import Tab
from chat_chunks import call, closing, event
from every_sdk import nothing_left
from looped import looped
from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

pytestmark = pytest.mark.slow


def test_content_is_on_the_page_before_the_call_ends_and_approval_writes_and_runs(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    with (
        nothing_left(),
        replay().gated() as provider,
        app_served(monkeypatch, provider, root=tmp_path, commands=True) as served,
    ):
        page = opened(tab, served)
        assert TOKEN not in page.url
        ask(page)
        provider.allow(2)
        expect(page.get_by_text("A small bed first.")).to_be_visible()
        expect(page.locator(".text p")).to_have_text("Here is ")
        provider.allow(2)
        expect_lines(card(page, FILE_CARD), "<h1>Her")
        provider.allow(1)
        expect_lines(card(page, FILE_CARD), HALF)
        expect(card(page, FILE_CARD).locator(".state")).to_have_text("writing 2 lines")
        assert [entry.outcome for entry in provider.log] == ["open"]
        assert list(tmp_path.iterdir()) == [] or not (tmp_path / "docs" / "herbs.html").exists()
        provider.allow(len(EVENTS) - IN_THE_FILE)
        approve = page.get_by_role("button", name=f"Approve: {FILE_CARD}")
        expect(approve).to_be_visible()
        expect(page.get_by_role("tab")).to_contain_text("waits for you")
        assert page.title().startswith("(1)")
        assert not (tmp_path / "docs" / "herbs.html").exists()
        approve.press("Enter")  # by the keyboard
        expect(card(page, FILE_CARD).locator(".state")).to_have_text("saved")
        assert (tmp_path / "docs" / "herbs.html").read_text(encoding="utf-8") == FILE
        page.get_by_role("button", name=f"Approve: {COMMAND_CARD}").click()
        expect(lines(card(page, COMMAND_CARD), "result")).to_have_text(FILE.strip().split("\n"))
        expect(page.locator(".badge")).to_have_text("complete")
        expect(page.get_by_text("herbalist-1")).to_contain_text("20 tokens in")
        leave(tab)
    assert tab.complaints == []


def test_what_is_denied_is_not_done(tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    with (
        nothing_left(),
        replay() as provider,
        app_served(monkeypatch, provider, root=tmp_path, commands=True) as served,
    ):
        page = opened(tab, served)
        ask(page)
        page.get_by_role("button", name=f"Deny: {FILE_CARD}").click()
        expect(card(page, FILE_CARD).locator(".state")).to_have_text("denied")
        page.get_by_role("button", name=f"Deny: {COMMAND_CARD}").click()
        expect(page.locator(".badge")).to_have_text("complete")
        assert list(tmp_path.rglob("*.html")) == []
        leave(tab)
    assert tab.complaints == []


def test_a_call_that_leads_out_of_the_folder_ends_while_it_is_written(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    events = [
        call(0, '{"path": "/etc/cron.d/job", "content": "1', "call_file", "write_file"),
        call(0, '2"}'),
        event({"content": "Done."}),
        *closing(),
    ]
    with nothing_left(), replay(events).gated() as provider, app_served(monkeypatch, provider, root=tmp_path) as served:
        page = opened(tab, served)
        ask(page)
        provider.allow(1)
        outside = card(page, "write_file /etc/cron.d/job")
        expect(outside.locator(".state")).to_have_text("not written: guarded")
        expect(outside.get_by_text("'/etc/cron.d/job' is not inside")).to_be_visible()
        assert [entry.outcome for entry in provider.log] == ["open"]
        provider.allow(len(events))
        expect(page.locator(".badge")).to_have_text("complete")
        expect(page.get_by_text("Done.")).to_be_visible()
        assert page.get_by_role("button", name="Approve").count() == 0
        leave(tab)
    assert tab.complaints == []


def test_a_file_that_is_there_is_compared_with_what_would_replace_it(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "herbs.html").write_text("<h1>Herbs</h1>\n<p>Sage</p>\n")
    with nothing_left(), replay() as provider, app_served(monkeypatch, provider, root=tmp_path) as served:
        page = opened(tab, served)
        ask(page)
        changes = page.get_by_role("button", name="Changes: 1 added, 1 removed")
        expect(changes).to_have_attribute("aria-pressed", "true")
        expect(card(page, FILE_CARD).locator(".removed .source")).to_have_text("<p>Sage</p>")
        expect(card(page, FILE_CARD).locator(".added .source")).to_have_text("<p>Mint 🌿</p>")
        page.get_by_role("button", name="Content", exact=True).click()
        expect_lines(card(page, FILE_CARD), FILE)
        page.get_by_role("button", name=f"Deny: {FILE_CARD}").click()
        leave(tab)
    assert tab.complaints == []


def test_the_button_stops_the_provider_and_what_is_open_ends(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), replay().gated() as provider, app_served(monkeypatch, provider) as served:
        page = opened(tab, served)
        ask(page)
        provider.allow(IN_THE_FILE)
        expect_lines(card(page, FILE_CARD), HALF)
        page.get_by_role("button", name="Stop").click()
        left = provider.wait_for("client_left")
        assert left.bytes_sent < left.bytes_total
        expect(page.locator(".badge")).to_have_text("stopped")
        expect(card(page, FILE_CARD).locator(".state")).to_contain_text("stopped")
        expect_lines(card(page, FILE_CARD), HALF)
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
        leave(tab)
    assert tab.complaints == []


def test_a_page_that_is_loaded_again_loses_and_doubles_nothing(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), replay().gated() as provider, app_served(monkeypatch, provider) as served:
        page = opened(tab, served)
        ask(page)
        provider.allow(IN_THE_FILE)
        expect_lines(card(page, FILE_CARD), HALF)
        page.reload()
        expect_lines(card(page, FILE_CARD), HALF)
        leave(tab)
        provider.allow(len(EVENTS) - IN_THE_FILE)
        provider.wait_for("finished")
        page.goto(f"{served.address}/")
        expect_lines(card(page, FILE_CARD), FILE)
        expect(page.locator(".text p")).to_have_text("Here is the page.")
        expect(page.locator(".card")).to_have_count(2)
        expect(page.locator(".badge")).to_have_text("complete")
        assert len(provider.log) == 1
        leave(tab)
    assert tab.complaints == []


def test_a_connection_that_breaks_is_resumed_behind_the_last_event(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), replay().gated() as provider, app_served(monkeypatch, provider) as served:
        page = opened(tab, served)
        seen: list[str | None] = []
        page.on("request", lambda request: seen.append(request.headers.get("last-event-id")))
        page.route("**/api/runs", _cut_in_half)
        ask(page)
        provider.allow(len(EVENTS))
        expect_lines(card(page, FILE_CARD), FILE)
        expect(page.locator(".text p")).to_have_text("Here is the page.")
        expect(page.locator(".badge")).to_have_text("complete")
        assert [each for each in seen if each] != []
        assert len(provider.log) == 1
        leave(tab)
    assert tab.complaints == []


def _cut_in_half(route: Any) -> None:
    """Answer with the beginning of what the server sends, up to the middle of an event."""
    response = route.fetch()
    body = response.body()
    assert len(body) > 400
    route.fulfill(response=response, body=body[: len(body) // 2])


def test_several_runs_are_tabs_and_the_history_keeps_what_was_closed(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), replay() as provider, app_served(monkeypatch, provider) as served:
        page = opened(tab, served)
        for title in ("First", "Second"):
            ask(page, title)
            expect(page.locator("article:not([hidden]) .badge")).to_have_text("complete")
        tabs = page.get_by_role("tab")
        expect(tabs).to_have_text(["First", "Second"])
        tabs.last.press("ArrowLeft")
        expect(tabs.first).to_be_focused()
        expect(page.get_by_role("tabpanel")).to_have_count(1)
        expect(page.get_by_role("heading", name="First")).to_be_visible()
        tabs.first.press("Delete")
        expect(tabs).to_have_text(["Second"])
        page.locator("#history").get_by_role("button", name="First").click()
        expect(tabs).to_have_text(["Second", "First"])
        expect_lines(card(page, FILE_CARD), FILE)
        page.reload()
        expect(tabs).to_have_text(["Second", "First"])
        leave(tab)
    assert tab.complaints == []


HOSTILE = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
SIGNS = "red \x1b[31m bell \x07 right \u202e left \u2066 nothing \u200b"
SHOWN = r"red \x1b[31m bell \x07 right \u202e left \u2066 nothing \u200b"


def test_hostile_content_is_text(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    path = f"{HOSTILE}/{SIGNS}.html"
    events = [
        event({"role": "assistant", "reasoning_content": HOSTILE + SIGNS}),
        event(
            {
                "content": f"# {HOSTILE}\n- **{HOSTILE}** `{HOSTILE}`\n{SIGNS}\n[a](javascript:pwned=3)\n```html\n{HOSTILE}\n```\n"
            }
        ),
        call(0, json.dumps({"path": path, "content": f"{HOSTILE}\n{SIGNS}\n"}), "call<b>1", "write_file"),
        call(1, json.dumps({"command": f"echo '{HOSTILE}' {SIGNS}"}), "call_2", "run_bash"),
        call(2, json.dumps({HOSTILE: HOSTILE}), "call_3", f"{HOSTILE}"),
        *closing(HOSTILE),
    ]
    with nothing_left(), replay(events) as provider, app_served(monkeypatch, provider) as served:
        page = opened(tab, served)
        ask(page, HOSTILE + SIGNS)
        expect(page.locator(".badge")).to_have_text("complete")
        expect(lines(card(page, f"write_file {HOSTILE}/{SHOWN}.html"))).to_have_text([HOSTILE, SHOWN])
        expect(page.locator(".text .source")).to_have_text(HOSTILE)
        expect(page.locator(".heading")).to_have_text(HOSTILE)
        expect(page.locator(".reasoning")).to_contain_text(HOSTILE + SHOWN)
        assert page.evaluate("window.pwned") is None
        assert page.locator("#runs script, #runs img, #runs a, #runs b b").count() == 0
        everything = page.locator("body").inner_text()
        assert not set("\x1b\x07\u202e\u2066\u200b") & set(everything)
        leave(tab)
    assert tab.complaints == []


def test_a_script_in_the_page_cannot_make_html_or_run_text(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), app_served(monkeypatch) as served:
        page = opened(tab, served)
        refused = page.evaluate("""() => {
            const tried = [
                () => { document.body.innerHTML = "<b>x</b>"; },
                () => document.write("x"),
                () => { document.createElement("script").text = "window.pwned = 1"; },
                () => { document.createElement("script").src = "data:text/javascript,window.pwned=1"; },
            ];
            return tried.map((each) => { try { each(); return false; } catch { return true; } });
        }""")
        assert refused == [True] * 4
        leave(tab)


def test_a_file_that_grew_while_its_tab_was_not_shown_is_shown_at_its_end(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    arguments = json.dumps({"path": "long.txt", "content": "".join(f"line {number}\n" for number in range(1000))})
    events = [
        call(0, "", "call_file", "write_file"),
        call(0, arguments[:4000]),
        call(0, arguments[4000:]),
        *closing(),
    ]
    with nothing_left(), replay(events).gated() as provider, app_served(monkeypatch, provider) as served:
        tab.page.set_viewport_size({"width": 1280, "height": 1000})
        page = opened(tab, served)
        ask(page)
        provider.allow(2)
        expect(page.locator(".line").last).to_be_in_viewport()
        page.get_by_role("button", name="New").click()
        provider.allow(len(events))
        expect(page.locator("#history .dot.complete")).to_have_count(1)
        page.get_by_role("tab").click()
        expect(lines(card(page, "write_file long.txt")).last).to_have_text("line 999")
        expect(page.get_by_text("line 999")).to_be_in_viewport()
        card(page, "write_file long.txt").locator(".code").hover()
        page.mouse.wheel(0, -15)  # near the end, too, the file stays where somebody scrolls it to
        expect(page.locator(".code")).to_have_js_property("scrollTop", 1000 * 20 + 12 - 412 - 15)
        leave(tab)
    assert tab.complaints == []


LONG_LINE = 1_000_000
LINES = 80_000


def test_a_line_of_a_megabyte_and_a_file_of_five_leave_the_page_responsive(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    whole = "".join(f"def line_{number:06}(): return '{'x' * 30}'\n" for number in range(LINES))
    assert len(whole) > 4_000_000
    arguments = json.dumps({"path": "big.py", "content": whole + "y" * LONG_LINE + "\nlast\n"})
    size = 20_000
    pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    events = [
        event({"role": "assistant", "content": "z" * LONG_LINE + "\nend of text\n"}),
        call(0, "", "call_file", "write_file"),
        *(call(0, piece) for piece in pieces),
        *closing(),
    ]
    with nothing_left(), replay(events).gated() as provider, app_served(monkeypatch, provider) as served:
        page = opened(tab, served)
        ask(page)
        provider.allow(len(events) // 2)
        big = card(page, "write_file big.py")
        expect(big.locator(".line").last).to_contain_text("line_")
        # In the middle of it the page takes clicks, and draws what they do.
        page.get_by_role("button", name="New").click()
        expect(page.get_by_role("heading", name="Watch an answer")).to_be_visible()
        provider.allow(len(events))
        page.get_by_role("tab").click()
        expect(page.locator(".badge")).to_have_text("complete")
        expect(big.locator(".state")).to_have_text(f"{LINES + 2:,} lines")
        expect(lines(big).last).to_have_text("last")
        assert big.locator(".line").count() < 200
        expect(lines(big).nth(-2)).to_contain_text(f"{LONG_LINE - 2000:,} more characters")
        shown = big.locator(".code").inner_text()
        assert len(shown) < 50_000
        assert page.locator(".text").evaluate("each => each.textContent.length") == LONG_LINE + len("end of text")
        big.get_by_role("region").evaluate("each => { each.scrollTop = 20 * 40000; }")
        expect(big.get_by_text("line_040000")).to_be_visible()
        copied = page.evaluate("navigator.clipboard !== undefined")
        assert copied
        leave(tab)
    assert tab.complaints == []


def test_another_page_in_the_same_browser_can_start_approve_and_read_nothing(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """The other page even knows the token, the run and the call, which no page can."""
    with nothing_left(), replay() as provider, app_served(monkeypatch, provider, root=tmp_path) as served:
        page = opened(tab, served)
        ask(page)
        expect(page.get_by_role("button", name=f"Approve: {FILE_CARD}")).to_be_visible()
        (note,) = served.session.history()
        sha256 = page.locator(".hash").get_attribute("title") or ""
        decision = json.dumps({"call_id": "call_file", "sha256": sha256.rpartition(" ")[2], "approve": True})
        attack = _ATTACK.replace("APP", served.address).replace("RUN", note["id"]).replace("TOKEN", TOKEN)

        async def evil(_: Request) -> HTMLResponse:
            return HTMLResponse(attack.replace("DECISION", json.dumps(decision)))

        with serving(Starlette(routes=[Route("/", evil)])) as host:
            other = page.context.new_page()
            other.goto(f"http://{host}/")  # the same site for a browser, and another origin
            expect(other.locator("#done")).to_have_text("refused " * 8)
            assert other.frames[1].url == "chrome-error://chromewebdata/"
            other.close()
        assert [each["id"] for each in served.session.history()] == [note["id"]]
        assert served.session.history()[0]["state"] == "running"
        assert list(tmp_path.rglob("*.html")) == []
        expect(page.get_by_role("button", name=f"Approve: {FILE_CARD}")).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".badge")).to_have_text("complete")
        leave(tab)


_ATTACK = """<!doctype html><p id=done></p><iframe src="APP/"></iframe>
<script type=module>
const run = JSON.stringify({kind: "ask", id: "evil", prompt: "x", provider: "openai", model: "m"});
const authorization = "Bearer TOKEN";
const tried = [
    ["/api/runs", {method: "POST", body: run}],
    ["/api/runs", {method: "POST", body: run, headers: {authorization}}],
    ["/api/runs", {method: "POST", body: run, mode: "no-cors", headers: {authorization}}],
    ["/api/runs/RUN/decisions", {method: "POST", body: DECISION}],
    ["/api/runs/RUN/decisions", {method: "POST", body: DECISION, headers: {authorization}}],
    ["/api/runs/RUN/stream", {method: "DELETE", headers: {authorization}}],
    ["/api/session", {headers: {authorization}}],
    ["/api/session", {credentials: "include"}],
];
for (const [path, options] of tried) {
    let word = "refused ";
    try {
        const response = await fetch("APP" + path, options);
        if (response.ok) word = "taken ";
    } catch {}
    done.append(word);
}
</script>"""


def test_without_its_token_the_page_says_where_to_find_it(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), app_served(monkeypatch) as served:
        page = tab.page
        page.goto(served.address)
        expect(page.get_by_role("heading", name="This page needs its token")).to_be_visible()
        page.get_by_role("textbox", name="Token").fill(f"{served.address}/#token={TOKEN}")
        page.get_by_role("button", name="Open").click()
        expect(page.get_by_label("Prompt")).to_be_visible()
        leave(tab)
    assert tab.complaints == []


@looped("width, scheme", product([360, 1280], ["light", "dark"]))
def test_nothing_is_wider_than_the_page_narrow_and_wide_dark_and_light(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int, scheme: Any
):
    with nothing_left(), replay() as provider, app_served(monkeypatch, provider, root=tmp_path) as served:
        tab.page.set_viewport_size({"width": width, "height": 760})
        tab.page.emulate_media(color_scheme=scheme)
        page = opened(tab, served)
        ask(page, "A page about herbs, " + "and" * 100)
        expect(page.get_by_role("button", name=f"Approve: {FILE_CARD}")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == scheme
        if width < 800:
            expect(page.locator("#side")).to_be_hidden()
            page.get_by_role("button", name="Session").click()
            expect(page.get_by_role("button", name="New")).to_be_focused()
            page.keyboard.press("Escape")
            expect(page.locator("#side")).to_be_hidden()
        page.get_by_role("button", name=f"Deny: {FILE_CARD}").click()
        expect(page.locator(".badge")).to_have_text("complete")
        leave(tab)
    assert tab.complaints == []


def test_nothing_of_a_command_hides_beyond_the_edge(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    command = "echo harmless" + " " * 400 + "; rm -rf everything"
    events = [call(0, json.dumps({"command": command}), "call_1", "run_bash"), *closing()]
    with nothing_left(), replay(events) as provider, app_served(monkeypatch, provider) as served:
        tab.page.set_viewport_size({"width": 360, "height": 760})
        page = opened(tab, served)
        ask(page)
        shown = card(page, COMMAND_CARD).locator(".wrapped")
        expect(shown).to_have_js_property("textContent", command)
        assert shown.evaluate("each => each.parentElement.scrollWidth <= each.parentElement.clientWidth")
        leave(tab)
    assert tab.complaints == []
