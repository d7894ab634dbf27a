"""What the page does with the state that Python, another view and the keyboard set, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from browser import Tab, browser_tab
from chat_chunks import closing, event
from explorer_tab import expect_item, explorer_page, slider
from looped import looped
from playwright.sync_api import Browser, expect

from penstock.studio.explorer.explored_runs import RunChoice, runs_of_stream
from penstock.studio.explorer.explored_stream import ExploredStream

pytestmark = pytest.mark.slow

ANSWER = [*(event({"content": f"{number} "}) for number in range(8)), *closing()]
SECOND = 1_000_000_000


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    with browser_tab(chromium) as opened:
        opened.page.clock.install(time=0)
        opened.page.clock.pause_at(1_000)
        yield opened
        assert opened.complaints == []


def data_of(items: Sequence[bytes] = ANSWER, times: Sequence[int] | None = None) -> bytes:
    runs = runs_of_stream(ExploredStream("a stream", "wire", items, times, "openai-chat"))
    return runs.data(RunChoice(), runs.first)


def test_it_plays_at_once_if_python_said_so_before_it_was_shown(tab: Tab):
    page = explorer_page(tab, {"one": data_of()}, playing=True, item=2)
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.clock.run_for(250)
    expect_item(page, 4)
    page.clock.run_for(5_000)
    expect_item(page, len(ANSWER))
    assert page.evaluate("stores.one.values.playing") is False


@looped("speed, item", [(3, 3), (0.5, 0), (0.05, 0), (20, 8)])
def test_it_plays_at_any_speed_that_python_sets(tab: Tab, speed: float, item: int):
    times = [number * SECOND for number in range(len(ANSWER))]
    page = explorer_page(tab, {"one": data_of(times=times)})
    page.evaluate("speed => stores.one.set('speed', speed)", speed)
    expect(page.get_by_label("Pace")).to_have_value(str(speed))
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(1_050)
    expect_item(page, min(item, len(ANSWER)) if speed != 20 else len(ANSWER))
    page.get_by_label("Pace").select_option("1")
    assert page.evaluate("stores.one.values.speed") == 1


def test_a_new_run_that_comes_while_it_plays_goes_on_from_the_item_at_its_own_times(tab: Tab):
    late = [number * 60 * SECOND for number in range(len(ANSWER))]
    page = explorer_page(tab, {"one": data_of(times=late), "two": data_of()}, item=5)
    page.evaluate("stores.one.set('playing', true)")
    page.clock.run_for(200)
    page.evaluate("show_data('one', 'two')")
    one = page.locator("#one .penstock-explorer")
    expect(one.get_by_label("Pace")).to_contain_text("10 items a second")
    expect(one).to_have_attribute("data-item", "5")
    page.clock.run_for(150)
    expect(one).to_have_attribute("data-item", "6")


def test_a_step_draws_once_although_the_state_tells_of_it(tab: Tab):
    page = explorer_page(tab, {"one": data_of()})
    page.evaluate(
        """() => {
            const { lanes } = explorers.one;
            const { draw } = lanes;
            window.drawn = 0;
            lanes.draw = (item) => { window.drawn += 1; draw.call(lanes, item); };
        }"""
    )
    slider(page).press("ArrowRight")
    expect_item(page, 1)
    assert page.evaluate("window.drawn") == 1


@looped("item, shown", [(99, len(ANSWER)), (-3, 0), (2.5, 2)])
def test_python_hears_which_item_is_shown_if_there_is_none_of_its_number(tab: Tab, item: float, shown: int):
    page = explorer_page(tab, {"one": data_of()}, item=1)
    page.evaluate("item => stores.one.set('item', item)", item)
    expect_item(page, shown)
    assert page.evaluate("stores.one.values.item") == shown


def test_two_views_of_one_state_go_together_and_one_that_closes_leaves_the_other_playing(tab: Tab):
    page = explorer_page(tab, {"one": data_of()})
    page.evaluate("open_view('again', 'one')")
    one, again = (page.locator(f"#{name} .penstock-explorer") for name in ("one", "again"))
    slider(one).press("ArrowRight")
    expect(again).to_have_attribute("data-item", "1")
    again.get_by_role("button", name="Play").click()
    expect(one.get_by_role("button", name="Pause")).to_be_visible()
    page.evaluate("explorers.again.dispose()")
    assert page.evaluate("stores.one.values.playing") is True
    page.clock.run_for(450)
    item = int(one.get_attribute("data-item") or "")
    assert item in (4, 5)
    assert again.get_attribute("data-item") == "1"


def test_a_view_that_is_closed_before_its_data_are_read_does_nothing(tab: Tab):
    page = explorer_page(tab, {"one": data_of()}, item=3)
    page.evaluate("(opened => { explorers.again.dispose(); return opened; })(open_view('again', 'one'))")
    assert page.locator("#again .penstock-explorer").get_attribute("data-ready") is None
    page.evaluate("stores.one.set('playing', true)")
    page.clock.run_for(150)
    expect(page.locator("#one .penstock-explorer")).to_have_attribute("data-item", "4")


def test_what_is_not_sent_yet_is_sent_when_a_view_closes(tab: Tab):
    page = explorer_page(tab, {"one": data_of()})
    slider(page).press("End")
    assert page.evaluate("stores.one.saved") == 0
    page.evaluate("explorers.one.dispose()")
    assert page.evaluate("stores.one.saved") == 1
    page.clock.run_for(1_000)
    assert page.evaluate("stores.one.saved") == 1


@looped("where", [".pe-event summary", ".pe-panel >> nth=0", ".pe-panel >> nth=2"])
def test_the_keys_go_on_where_the_focus_is(tab: Tab, where: str):
    page = explorer_page(tab, {"one": data_of()})
    page.locator(where).first.focus()
    for item in (1, 2, 3):
        page.keyboard.press("ArrowRight")
        expect_item(page, item)
    assert page.evaluate("document.activeElement.matches('.pe-panel')")
    page.keyboard.press("Home")
    expect_item(page, 0)


@looped("where", ["h3", ".pe-changed", ".pe-help"])
def test_after_a_click_anywhere_in_it_the_keys_are_its_own(tab: Tab, where: str):
    page = explorer_page(tab, {"one": data_of()})
    page.locator(where).first.click()
    page.keyboard.press("ArrowRight")
    expect_item(page, 1)
    page.keyboard.press("End")
    expect_item(page, len(ANSWER))


def test_what_a_kernel_repeats_of_an_earlier_step_takes_no_later_one_back(tab: Tab):
    page = explorer_page(tab, {"one": data_of()})
    slider(page).press("ArrowRight")
    page.clock.run_for(150)  # it is sent
    assert page.evaluate("stores.one.saved") == 1
    for _ in range(3):
        slider(page).press("ArrowRight")
    page.evaluate("stores.one.set('item', 1)")  # and comes back
    expect_item(page, 4)
    assert page.evaluate("stores.one.values.item") == 4
    page.clock.run_for(150)
    assert page.evaluate("stores.one.saved") == 2
    page.evaluate("stores.one.set('item', 1)")  # this is another one's wish
    expect_item(page, 1)


def test_what_is_chosen_is_marked_until_it_is_run(tab: Tab):
    page = explorer_page(tab, {"one": data_of(), "two": data_of()})
    one = page.locator("#one .penstock-explorer")
    mark, run, strategy = (
        one.get_by_text("chosen, not run yet", exact=True),
        one.get_by_role("button", name="Run"),
        one.get_by_label("Strategy"),
    )
    expect(mark).to_be_hidden()
    plain = run.evaluate("each => getComputedStyle(each).backgroundColor")
    strategy.select_option("hermes")
    expect(mark).to_be_visible()
    expect(one.get_by_role("status")).to_have_text("Chosen, not run yet.")
    assert run.evaluate("each => getComputedStyle(each).backgroundColor") != plain
    strategy.select_option("as given")
    expect(mark).to_be_hidden()
    expect(one.get_by_role("status")).to_have_text("")
    assert run.evaluate("each => getComputedStyle(each).backgroundColor") == plain
    one.get_by_label("Bytes a chunk").fill("64")
    expect(mark).to_be_visible()
    run.click()
    expect(one.get_by_role("button", name="Running …")).to_be_visible()
    expect(mark).to_be_hidden()
    page.evaluate("stores.one.set('problem', 'no')")
    expect(run).to_have_text("Run")
    expect(mark).to_be_visible()  # what was chosen is still not what is shown
    page.evaluate("show_data('one', 'two')")
    expect(mark).to_be_hidden()


@looped("canvas", [".pe-canvas", ".pe-overview"])
def test_after_a_click_on_a_column_the_arrows_move(tab: Tab, canvas: str):
    page = explorer_page(tab, {"one": data_of()})
    page.locator(canvas).click(position={"x": 2, "y": 8})
    expect(slider(page)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect_item(page, 1)


def test_each_panel_can_be_reached_and_has_a_name(tab: Tab):
    page = explorer_page(tab, {"one": data_of()})
    for name in ("What came, as it is", "What each stage did with it", "The answer so far"):
        panel = page.get_by_role("region", name=name, exact=True)
        panel.focus()
        expect(panel).to_be_focused()
    slider(page).focus()
    for _ in range(2):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "What came, as it is"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


@looped(
    "ground, theme",
    [
        ("oklch(0.2 0.02 200)", "dark"),
        ("color(srgb 0.98 0.98 0.97)", "light"),
        ("hsl(0 0% 5%)", "dark"),
        ("#fff8", "light"),
    ],
)
def test_its_theme_is_that_of_the_ground_in_any_notation(tab: Tab, ground: str, theme: str):
    page = explorer_page(tab, {"one": data_of()})
    page.evaluate("ground => { document.body.style.background = ground; }", ground)
    expect(page.locator(".penstock-explorer")).to_have_attribute("data-theme", theme)
