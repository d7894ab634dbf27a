"""The explorer's module on a bare page, without a server: its files and data are handed to the browser."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from browser import Tab
from playwright.sync_api import Locator, Page, Route, expect

import penstock.studio.explorer

STATIC = Path(penstock.studio.explorer.__file__).with_name("static")
ORIGIN = "http://explorer.test"
_TYPES = {".js": "text/javascript", ".css": "text/css"}
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>explorer</title>
<meta name="color-scheme" content="light dark"><link rel="stylesheet" href="/explorer.css">
<body><script type="module">
import { mount } from "/explorer.js";
window.stores = {};
window.explorers = {};
const new_store = (given) => {
  const values = { item: 0, speed: 1, playing: false, strategy: "", chunk_size: 0, problem: "", ...given };
  const callbacks = [];
  const store = {
    values,
    saved: 0,
    get: (key) => values[key],
    set: (key, value) => {
      if (values[key] === value) return;
      values[key] = value;
      for (const [of, callback] of [...callbacks]) if (of === key) callback();
    },
    save: () => { store.saved += 1; },
    on: (key, callback) => {
      const entry = [key, callback];
      callbacks.push(entry);
      return () => callbacks.splice(callbacks.indexOf(entry), 1);
    },
  };
  return store;
};
const data_of = async (name) => new DataView(await (await fetch(`/data/${name}`)).arrayBuffer());
window.open_view = async (name, store) => {
  const host = document.createElement("div");
  host.id = name;
  document.body.append(host);
  explorers[name] = mount(host, stores[store]);
  await explorers[name].ready;
};
window.open_explorer = async (name, given) => {
  stores[name] = new_store({ ...given, data: await data_of(name) });
  await open_view(name, name);
};
window.show_data = async (store, name) => stores[store].set("data", await data_of(name));
document.title = "ready";
</script></body></html>"""


def explorer_page(tab: Tab, data: Mapping[str, bytes], **given: Any) -> Page:
    """Open a page with an explorer for each of the data, named as they are; `given`: their state at the start."""

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(ORIGIN)
        if path == "/":
            route.fulfill(body=_PAGE, content_type="text/html")
        elif path.startswith("/data/"):
            route.fulfill(body=data[path.removeprefix("/data/")], content_type="application/gzip")
        elif (file := STATIC / path[1:]).is_file():
            route.fulfill(body=file.read_text(encoding="utf-8"), content_type=_TYPES[file.suffix])
        else:
            route.fulfill(status=204)

    tab.page.route(f"{ORIGIN}/**", answer)
    tab.page.goto(f"{ORIGIN}/")
    expect(tab.page).to_have_title("ready")
    for name in data:
        tab.page.evaluate("([name, given]) => open_explorer(name, given)", [name, given])
    return tab.page


def slider(page: Page | Locator) -> Locator:
    return page.get_by_role("slider", name="Item of the stream")


def expect_item(page: Page | Locator, item: int) -> None:
    expect(page.locator(".penstock-explorer")).to_have_attribute("data-item", str(item))
