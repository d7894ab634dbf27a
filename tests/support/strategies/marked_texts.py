"""Texts in which markers stand, begin, overlap and almost stand."""

from __future__ import annotations

from hypothesis import strategies as st

MARKER_SETS: tuple[tuple[str, ...], ...] = (
    ("<tool>",),
    ("<tool>", "</tool>"),
    ("<a", "<abc"),
    ("<a", "<ab", "<abcd", "b"),
    ("<a<", "<b", "a<b"),
    ("aa", "aab", "baa"),
    ("```", "```json", "`"),
    ("<|call|>", "<|channel|>", "<|"),
    ("🔧", "🔧🔨", "<🔧>"),
    ("[*]", "[*", "\\Z", "(?:a|b)"),
    (" \n", "\n\n"),
)
"""Markers that begin each other, overlap each other and themselves, lie beyond the BMP, look like expressions."""

MODEL_MARKERS: tuple[str, ...] = (
    *("<tool_call>", "</tool_call>", "<tool_calls>", "</tool_calls>", "<function=", "</function>", "<parameter="),
    *("</parameter>", "<function_call>", "</function_call>", "<tool name=", "<tool>", "</tool>", "<arg name="),
    *("<invoke name=", "</invoke>", "<minimax:tool_call>", "</minimax:tool_call>", "<seed:tool_call>"),
    *("</seed:tool_call>", "<seed:think>", "<longcat_tool_call>", "</longcat_tool_call>", "<TOOLCALL>", "</TOOLCALL>"),
    *("<think>", "</think>", "<answer>", "</answer>", "<response>", "</response>", "<boltAction", "</boltAction>"),
    *("<|channel|>", "<|message|>", "<|call|>", "<|end|>", "<|return|>", "<|constrain|>", "<|start|>"),
    *("<|python_tag|>", "<|tool_call|>", "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_calls_section_begin|>"),
    *("<|START_ACTION|>", "<|END_ACTION|>", "<|START_THINKING|>", "<|END_THINKING|>", "<|action_start|>"),
    *("<|action_end|>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁sep｜>"),
    *("[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]", "```json", "```tool_code", "```"),
)
"""What models write around calls and thoughts, one answer's worth of dialects."""


def proper_prefixes(markers: tuple[str, ...]) -> list[str]:
    """Return every proper prefix of every marker, without the empty one."""
    return sorted({marker[:length] for marker in markers for length in range(1, len(marker))})


def marker_sets() -> st.SearchStrategy[tuple[str, ...]]:
    """Draw a known set, or a random one over few letters, so that its markers begin and overlap each other."""
    random = st.lists(st.text("ab<", min_size=1, max_size=5), min_size=1, max_size=5, unique=True).map(tuple)
    return st.one_of(st.sampled_from(MARKER_SETS), random)


def marked_texts(markers: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Draw a text: markers, all their proper prefixes, a marker begun inside another, letters of markers, others."""
    begun = st.sampled_from(proper_prefixes(markers) or [""])
    whole = st.sampled_from(markers)
    letters = "".join(sorted(set("".join(markers))))
    inside = st.builds(_put_inside, whole, st.integers(0, 8), whole)
    piece = st.one_of(
        whole,
        begun,
        st.builds(lambda beginning, marker: beginning + marker, begun, whole),
        inside,
        st.text(letters, max_size=4),
        st.text("xé 𝄞😀\n", max_size=3),
    )
    return st.lists(piece, max_size=12).map("".join)


def _put_inside(outer: str, place: int, inner: str) -> str:
    return outer[:place] + inner + outer[place:]
