"""From a question's text to what an engine answers: read and checked once, under one study's agreement."""

from __future__ import annotations

from functools import lru_cache

from blindlabel.engines.registry import engine_named
from blindlabel.language import Checked, read_question
from blindlabel.language.diagnostics import error
from blindlabel.language.limits import Limits
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import Questions


def check_question(agreement: Agreement, text: str) -> Checked:
    """Read a question under an agreement: what is wrong with it, or a formula that the study's engine can answer."""
    terms = agreement.terms()
    checked = _read(text, terms.attributes, terms.limits, terms.case == "lower")
    if checked.formula is None:
        return checked
    refused = engine_named(agreement.encoding.engine).refuse(terms, checked.formula)
    if refused is None:
        return checked
    whole = checked.question.statements[-1].span
    return Checked(checked.question, None, (*checked.diagnostics, error("not-encoded", refused, whole)))


@lru_cache(maxsize=4096)
def _read(text: str, attributes: tuple[str, ...], limits: Limits, lowered: bool) -> Checked:
    """Read once: a process that saves a question and then asks it, or asks it of several owners, finds it here."""
    return read_question(text, attributes=attributes, limits=limits, lowered=lowered)


def save_question(store: Questions, record: int, text: str, source: str = "person", author: str = "") -> Checked:
    """Keep a text, and make it the record's question where it has no error."""
    checked = check_question(store.agreement, text)
    if checked.ok:
        store.save_questions({record: text}, source, author)
    else:
        store.save_draft(record, text)
    return checked
