"""Markdown is divided into the same blocks however it is cut, as early as it is certain, and nothing of it is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.sinks.terminal import markdown_reader
from penstock.sinks.terminal.markdown_reader import LONGEST, MarkdownReader

PIECES = st.sampled_from(
    ["a", "b", "1", " ", "  ", "    ", "\n", "\n\n", "- ", "* ", "1. ", "2) ", "# ", "> ", "```", "~~~", "`", "*", "**",
     "_", "|", "|-|-|\n", "| a | b |\n", "---\n", "===\n", "[x](y)", "[x]: y\n", "<b>", "\\", "    x\n", "+ ", "&lt;"]
)  # fmt: skip


def read(*pieces: str) -> MarkdownReader:
    reader = MarkdownReader()
    for piece in pieces:
        reader.feed(piece)
    return reader


def finished(*pieces: str) -> list[str]:
    reader = read(*pieces)
    reader.end()
    return [part.source for part in reader.parts]


def told(reader: MarkdownReader) -> Iterator[object]:
    for part in reader.parts:
        tokens = getattr(part, "tokens", ())
        yield type(part), part.source, part.joined
        yield [(token.type, token.content, str(token.attrs), str(token.children)) for token in tokens]


@pytest.fixture(autouse=True)
def _usual_length() -> Iterator[None]:
    yield
    markdown_reader.LONGEST = LONGEST


@settings(max_examples=scaled(150))
@given(st.lists(PIECES, max_size=30), st.data(), st.sampled_from([20, 40, LONGEST]))
def test_however_a_text_is_cut_its_blocks_are_the_same(pieces: list[str], data: st.DataObject, longest: int):
    markdown_reader.LONGEST = longest
    text = "".join(pieces)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=10)))
    whole, cut = read(text), MarkdownReader()
    for begin, stop in zip([0, *cuts], [*cuts, len(text)], strict=True):
        cut.feed(text[begin:stop])
        cut.unfinished()
    for reader in (whole, cut):
        reader.end()
    assert list(told(whole)) == list(told(cut))


@settings(max_examples=scaled(150))
@given(st.lists(PIECES, max_size=30))
def test_no_word_is_lost(pieces: list[str]):
    text = "".join(pieces)
    kept = "".join(finished(text))
    infos = sum(part.count("a") for part in text.replace("~~~", "```").split("```"))  # also behind a fence
    assert text.count("a") - kept.count("a") <= (infos if "```" in text or "~~~" in text else 0)


@pytest.mark.parametrize(
    ("text", "done", "open_blocks"),
    [
        ("one", [], ["one"]),
        ("one\n", [], ["one"]),
        ("one\n\n", ["one"], []),
        ("one\n\ntwo", ["one"], ["two"]),
        ("# head\n", ["# head"], []),
        ("# head", [], ["# head"]),
        ("one\n---\n", ["one", "---"], []),
        ("- a\n- b", [], ["- a", "- b"]),
        ("- a\n- b\n", ["- a"], ["- b"]),
        ("- a\n  more\n\n  more\n- b\n\nend\n", ["- a\n  more\n\n  more", "- b"], ["end"]),
        ("> a\n\n> b", ["> a"], ["> b"]),
        ("| a |\n|---|\n| 1 |\n", [], ["| a |\n|---|\n| 1 |"]),
        ("| a |\n|---|\n| 1 |\n\n", ["| a |\n|---|\n| 1 |"], []),
        ("so:\n```py\nx", ["so:"], []),
        ("so:\n- ", [], ["so:"]),
        ("so:\n1.", [], ["so:"]),
        ("so:\n|--", [], ["so:"]),
    ],
)
def test_a_block_is_finished_once_that_is_certain(text: str, done: list[str], open_blocks: list[str]):
    for reader in (read(text), read(*text)):
        assert [part.source for part in reader.parts] == done
        assert [passage.source for passage in reader.unfinished()] == open_blocks


def test_code_grows_line_by_line_and_ends_with_its_fence():
    reader = read("```py title=x\nx = 1\n``", "\ny")
    assert reader.fence is not None
    assert (reader.fence.info, reader.fence.tail.last(9)) == ("py title=x", ["x = 1", "``", "y"])
    reader.feed("\n```\nafter")
    assert reader.fence is None
    assert [part.source for part in reader.parts] == ["x = 1\n``\ny\n"]
    assert [(passage.source, passage.joined) for passage in reader.unfinished()] == [("after", True)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("~~~~\n```\n~~~\n~~~~", "```\n~~~\n"),
        ("  ```\n  x\n    y\n  ```", "x\n  y\n"),
        ("```\nnever closed", "never closed"),
        ("```\n", ""),
        ("```", ""),
    ],
)
def test_code_is_what_stands_between_its_fences(text: str, code: str):
    assert finished(text) == finished(*text) == [code]


def test_numbers_go_on_where_a_list_is_divided():
    reader = read("3. a\n", "1. b\n", "1. c\n\nend")
    numbers = [part.tokens[0].attrs for part in reader.parts if isinstance(part, markdown_reader.Passage)]
    assert numbers == [{"start": 3}, {"start": 4}]
    reader.end()
    assert [str(getattr(part, "tokens")[0].attrs) for part in reader.parts] == [  # noqa: B009 - of all parts
        "{'start': 3}", "{'start': 4}", "{'start': 5}", "{}",
    ]  # fmt: skip


def test_a_block_that_directly_follows_another_is_joined_to_it():
    reader = read("So:\n- a\n- b\n\n- c\n\nend\n# head\n")
    reader.end()
    assert [(part.source, part.joined) for part in reader.parts] == [
        ("So:", True), ("- a", True), ("- b", True), ("- c", False), ("end", False), ("# head", True),
    ]  # fmt: skip


@pytest.mark.parametrize("unit", ["word ", "line of words\n", "x", "- a\n  b\n  ", "> a\n", "世"])
def test_a_block_without_end_is_divided_and_nothing_is_lost(unit: str):
    text = unit * (2 * LONGEST // len(unit))
    reader = MarkdownReader()
    for at in range(0, len(text), 3000):
        reader.feed(text[at : at + 3000])
        assert sum(len(passage.source) for passage in reader.unfinished()) <= LONGEST
    reader.end()
    blanks = str.maketrans("", "", " \n")
    assert "".join(part.source for part in reader.parts).translate(blanks) == text.translate(blanks)


def test_a_table_without_end_goes_on_with_the_same_head():
    head = "| name | value |\n|------|-------|\n"
    rows = [f"| n{number} | {'v' * 50} |\n" for number in range(400)]
    parts = finished(head + "".join(rows))
    assert len(parts) > 2
    assert all(part.startswith(head) for part in parts)
    assert "".join(f"{part}\n".removeprefix(head) for part in parts) == "".join(rows)


@pytest.mark.parametrize("head", ["|" + "a" * 9000 + "|\n|-|\n", "| a |\n|-|\n|" + "b" * 9000])
def test_a_table_of_rows_that_are_too_long_has_an_end_too(head: str):
    text = head + "| c |\n" * 3
    assert sum(part.count("c") for part in finished(text)) == 3


def test_what_is_parsed_for_a_piece_does_not_grow_with_the_answer(monkeypatch: pytest.MonkeyPatch):
    parsed: list[int] = []
    parse = markdown_reader._PARSER.parse

    def counting(text: str) -> object:
        parsed.append(len(text))
        return parse(text)

    monkeypatch.setattr(markdown_reader._PARSER, "parse", counting)
    reader = MarkdownReader()
    for number in range(600):
        reader.feed(f"Paragraph {number} has a few words.\n\n- and\n- a list\n\n```py\n" + "x = 1\n" * 50)
        reader.feed("```\n\n")
        reader.unfinished()
    assert len(parsed) > 600
    assert max(parsed) < 500
