from __future__ import annotations

from operator_contract import TEXT_CALLS, TURN, Case

from penstock.operators.engine.stage import drive
from penstock.operators.split_reasoning import split_reasoning

CONTRACT = (Case("split_reasoning", split_reasoning(turn_id=TURN), TEXT_CALLS),)


def test_reasoning_is_told_from_text_and_a_call_stays_text():
    pieces = ["<thi", "nk>Hm</think>So: <tool_call>", '{"name": "f", "arguments": {}}</tool_call>']
    said: dict[str, str] = {}
    for event in drive(pieces, split_reasoning(turn_id=TURN)):
        said[event.segment_type] = said.get(event.segment_type, "") + event.payload.get("delta", "")
    assert said == {"reasoning": "Hm", "text": 'So: <tool_call>{"name": "f", "arguments": {}}</tool_call>'}
