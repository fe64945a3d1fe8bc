"""`blindlabel demo`: a question checked and tried on a few records, until the whole study takes its place."""

from __future__ import annotations

from blindlabel.cli.output import JsonFlag, result, result_json

_QUESTION = """\
$r = lower($r)
ret is_in("canon", $r) & (is_in("24-70", $r) | is_in("2470", $r)) & !is_in("24-105", $r)
"""
_LENSES = ("Canon 24-70mm f/2.8L USM II", "Canon 2470", "Canon 24-105mm f/4L IS USM", "Sony FE 24-70mm f/2.8 GM")


def demo(json: JsonFlag = False) -> None:
    """Show a question at work."""
    from blindlabel.language import Record, interpret, read_question

    checked = read_question(_QUESTION, attributes=["name"])
    answers = [{"record": lens, "answer": interpret(checked.question, Record.of({"name": lens}))} for lens in _LENSES]
    if json:
        result_json({"question": _QUESTION, "answers": answers})
        return
    result(_QUESTION)
    for one in answers:
        result(f"{'yes' if one['answer'] else 'no '}  {one['record']}")
