"""The explorer as a page of the app, in a real browser: its strategies run in the app's process."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import httpx2 as httpx
import pytest
from app_page import TOKEN, app_served
from app_tab import leave
from browser import Tab
from every_sdk import nothing_left
from explorer_tab import expect_item, slider
from looped import looped
from playwright.sync_api import Page, Route, expect

from penstock.studio.app.app_sources import Playable
from penstock.studio.replay.replay_recordings import Recording

STREAMS = Path(__file__).parents[2] / "streams"
PLAYABLE = (
    Playable("A file", Recording("chat", "openai-chat", (STREAMS / "openai_chat" / "write_file.sse").read_bytes())),
    Playable(
        "Two <b>calls</b>",
        Recording("two calls", "openai-chat", (STREAMS / "openai_chat" / "interleaved_calls.sse").read_bytes()),
    ),
)


def ready(page: Page) -> None:
    expect(page.locator(".penstock-explorer")).to_have_attribute("data-ready", "true")


@pytest.mark.slow
def test_a_recording_of_the_app_is_explored_and_run_otherwise(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), app_served(monkeypatch, playable=PLAYABLE) as served:
        page = tab.page
        page.goto(served.page)
        page.get_by_label("Recording", exact=True).select_option("two calls")
        page.get_by_role("button", name="Explore").click()
        ready(page)
        expect(page.get_by_role("heading", level=3)).to_have_text("Two <b>calls</b>")
        assert page.url == f"{served.address}/explore#two%20calls"
        page.get_by_label("Stream", exact=True).select_option("A file")
        ready(page)
        expect(page.get_by_role("heading", level=3)).to_have_text("A file")
        slider(page).focus()
        page.keyboard.press("ArrowRight")
        page.get_by_label("Bytes a chunk").fill("64")
        page.keyboard.press("Enter")
        explorer = page.locator(".penstock-explorer")
        expect(explorer).to_have_attribute("data-choice", "/64")
        expect(page.get_by_text("The same comes out as before.")).to_be_visible()
        expect_item(page, 1)
        page.get_by_label("Strategy").select_option("pass_through")
        page.get_by_role("button", name="Run").click()
        expect(explorer).to_have_attribute("data-choice", "pass_through/64")
        expect(page.locator(".pe-divergence")).to_contain_text("First difference, in ")
        page.get_by_role("button", name="Go to item").click()
        assert explorer.get_attribute("data-item") != "1"
        page.get_by_label("Bytes a chunk").evaluate("each => { each.max = 9e9; each.value = 2000000; }")
        page.get_by_role("button", name="Run").click()
        expect(page.get_by_role("alert").first).to_have_text(
            "the size of a chunk must be from 1 to 1,000,000, got 2000000"
        )
        expect(page.get_by_role("button", name="Run")).to_have_text("Run")
        page.reload()
        ready(page)
        page.get_by_role("link", name="Penstock").click()
        expect(page.get_by_label("Recording", exact=True)).to_be_visible()
        leave(tab)
    assert [each for each in tab.complaints if "400" not in each] == []  # which the browser says of the refused size


@pytest.mark.slow
@looped("width, scheme", product([360, 1280], ["light", "dark"]))
def test_nothing_is_wider_than_the_page_and_it_has_the_colours_of_the_page(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, width: int, scheme: str
):
    with nothing_left(), app_served(monkeypatch, playable=PLAYABLE) as served:
        page = tab.page
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.goto(f"{served.address}/explore#token={TOKEN}")
        ready(page)
        assert TOKEN not in page.url
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        expect(page.locator(".penstock-explorer")).to_have_attribute("data-theme", scheme)
        page.evaluate("localStorage.setItem('penstock.theme', 'light')")
        page.reload()
        ready(page)
        expect(page.locator(".penstock-explorer")).to_have_attribute("data-theme", "light")
        leave(tab)
    assert tab.complaints == []


@pytest.mark.slow
def test_the_page_takes_keys_at_once(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), app_served(monkeypatch, playable=PLAYABLE) as served:
        page = tab.page
        page.goto(f"{served.address}/explore#token={TOKEN}")
        ready(page)
        page.keyboard.press("ArrowRight")
        expect_item(page, 1)
        page.keyboard.press("Shift+ArrowRight")
        expect_item(page, 11)
        page.mouse.click(5, 5)
        page.keyboard.press("Home")
        expect_item(page, 0)
        page.get_by_label("Stream", exact=True).focus()
        page.keyboard.press("End")  # of the field
        expect(page.get_by_role("heading", level=3)).to_have_text("Two <b>calls</b>")
        expect_item(page, 0)
        leave(tab)
    assert tab.complaints == []


@pytest.mark.slow
@looped("path", ["/", "/explore"])
def test_the_chosen_theme_is_there_before_any_module(tab: Tab, monkeypatch: pytest.MonkeyPatch, path: str):
    with nothing_left(), app_served(monkeypatch, playable=PLAYABLE) as served:
        page = tab.page
        page.emulate_media(color_scheme="light")
        page.goto(f"{served.address}/")
        page.evaluate("localStorage.setItem('penstock.theme', 'dark')")
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.route("**/static/app.js", hold)
        page.route("**/static/explore.js", hold)
        page.goto(f"{served.address}{path}", wait_until="commit")
        expect(page.locator("body")).to_have_css("background-color", "rgb(12, 18, 19)")
        while not held:  # the route of its module is told later
            page.wait_for_timeout(5)
        (route,) = held
        route.continue_()
        if path == "/":
            expect(page.get_by_label("Theme")).to_have_value("dark")
        page.unroute_all()
        leave(tab)


def choose(page: Page, size: int) -> None:
    page.get_by_label("Bytes a chunk").evaluate("(each, size) => { each.max = 9e9; each.value = size; }", size)
    page.get_by_role("button", name="Run").click()


@pytest.mark.slow
def test_a_choice_that_was_refused_is_not_asked_for_again(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), app_served(monkeypatch, playable=PLAYABLE) as served:
        page = tab.page
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/explored/data" in request.url else None)
        page.goto(f"{served.address}/explore#token={TOKEN}")
        ready(page)
        choose(page, 2_000_000)
        alert = page.get_by_role("alert").first
        expect(alert).to_contain_text("got 2000000")
        assert len(asked) == 2
        slider(page).focus()
        page.clock.install()
        page.keyboard.press("End")
        page.clock.run_for(500)
        page.clock.resume()
        choose(page, 2_000_000)
        expect(alert).to_contain_text("got 2000000")
        assert len(asked) == 3
        leave(tab)
    assert [each for each in tab.complaints if "400" not in each] == []


@pytest.mark.slow
def test_of_choices_in_quick_succession_the_last_is_shown(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), app_served(monkeypatch, playable=PLAYABLE) as served:
        page = tab.page
        explorer = page.locator(".penstock-explorer")
        page.goto(f"{served.address}/explore#token={TOKEN}")
        ready(page)
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        def go_on(count: int) -> None:
            while len(held) < count:  # a request is told before its route
                page.wait_for_timeout(5)
            while held:
                held.pop(0).continue_()

        page.route("**/explored/data?*", hold)
        for size in (40, 50, 2_000_000):
            with page.expect_request("**/explored/data?*"):
                choose(page, size)
        page.get_by_role("button", name="Play").click()
        go_on(3)
        expect(page.get_by_role("alert").first).to_contain_text("got 2000000")
        page.unroute_all()
        expect(explorer).to_have_attribute("data-choice", "/0")
        choose(page, 50)  # whose data came, but were not shown
        expect(explorer).to_have_attribute("data-choice", "/50")
        page.route("**/explored/data?*", hold)
        with page.expect_request("**/explored/data?*"):
            choose(page, 60)
        choose(page, 50)
        expect(page.get_by_role("button", name="Run")).to_have_text("Run")
        with page.expect_request("**/explored/data?*"):
            choose(page, 70)
        go_on(2)
        expect(explorer).to_have_attribute("data-choice", "/70")
        leave(tab)
    assert [each for each in tab.complaints if "400" not in each] == []


@pytest.mark.slow
def test_a_name_that_cannot_be_read_opens_the_first_stream(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), app_served(monkeypatch, playable=PLAYABLE) as served:
        page = tab.page
        page.goto(f"{served.address}/explore#token={TOKEN}")
        ready(page)
        page.goto(f"{served.address}/explore#100%")
        page.reload()
        ready(page)
        expect(page.get_by_role("heading", level=3)).to_have_text("A file")
        leave(tab)
    assert tab.complaints == []


@pytest.mark.slow
def test_without_a_token_or_without_a_recording_it_says_what_to_do(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), app_served(monkeypatch) as served:
        page = tab.page
        page.goto(f"{served.address}/explore")
        expect(page.get_by_role("alert")).to_contain_text("needs its token")
        page.goto(f"{served.address}/explore#token={TOKEN}")
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("penstock explore FILE")
        leave(tab)


def test_the_data_needs_the_token_and_wrong_requests_are_told(monkeypatch: pytest.MonkeyPatch):
    with (
        app_served(monkeypatch, playable=PLAYABLE) as served,
        httpx.Client(base_url=served.address, trust_env=False, timeout=60) as client,
    ):
        assert client.get("/api/explored").status_code == 401
        assert client.get("/explorer/explorer.js").headers["content-type"].startswith("text/javascript")
        client.headers["authorization"] = f"Bearer {TOKEN}"
        assert [each["name"] for each in client.get("/api/explored").json()["streams"]] == ["chat", "two calls"]
        data = client.get("/api/explored/data", params={"name": "chat", "strategy": "hermes", "chunk_size": "900"})
        assert (data.status_code, data.content[:2]) == (200, b"\x1f\x8b")
        for wrong, said in [
            ({"name": "../../etc/passwd"}, "unknown stream"),
            ({"name": "chat", "strategy": "nonsense"}, "unknown strategy"),
            ({"name": "chat", "chunk_size": "-3"}, "from 1 to 1,000,000"),
            ({"name": "chat", "chunk_size": "many"}, "must be a whole number, got 'many'"),
        ]:
            refused = client.get("/api/explored/data", params=wrong)
            assert refused.status_code == 400
            assert said in refused.json()["error"]
