"""What Chromium's accessibility tree says of a page, and which of its texts are faint."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page


def tree(page: Page) -> list[tuple[str, str]]:
    """Return the role and the name of each node of the accessibility tree, in the order of reading."""
    session = page.context.new_cdp_session(page)
    found: list[dict[str, Any]] = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    shown = [each for each in found if not each["ignored"]]
    return [(each["role"]["value"], each.get("name", {}).get("value", "")) for each in shown]


def faint_texts(page: Page) -> list[str]:
    """Return the texts whose contrast with what is behind them is below 4.5, which WCAG asks of small letters."""
    return page.evaluate(_CONTRAST)


_CONTRAST = """() => {
    const parsed = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return [...n.slice(0, 3), n[3] ?? 1]; };
    const over = ([r, g, b, a], below) => [r, g, b].map((each, at) => each * a + below[at] * (1 - a));
    const ground = (node) => {
        const layers = [];
        for (let at = node; at && layers.at(-1)?.[3] !== 1; at = at.parentElement)
            layers.push(parsed(getComputedStyle(at).backgroundColor));
        return layers.reverse().reduce((below, each) => over(each, below), [255, 255, 255]);
    };
    const light = (colour) => {
        const [r, g, b] = colour.map((each) => each / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const faint = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode.parentElement;
        const isSeen = node.checkVisibility({ visibilityProperty: true }) && !node.closest(".hidden, :disabled, input:disabled + span");
        if (!walker.currentNode.data.trim() || !isSeen) continue;
        const colour = parsed(getComputedStyle(node).color);
        for (let at = node; at; at = at.parentElement) colour[3] *= Number(getComputedStyle(at).opacity);
        const [more, less] = [light(over(colour, ground(node))), light(ground(node))].sort((one, other) => other - one);
        const contrast = (more + 0.05) / (less + 0.05);
        if (contrast < 4.5) faint.push(`${node.className} ${walker.currentNode.data.trim().slice(0, 30)} ${contrast.toFixed(2)}`);
    }
    return faint;
}"""
