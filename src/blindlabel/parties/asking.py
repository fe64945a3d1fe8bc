"""From a question's text to what an engine answers: read and checked once, under one study's agreement."""

from __future__ import annotations

from functools import lru_cache

from blindlabel.engines.registry import rules_named
from blindlabel.language import Question
from blindlabel.language.diagnostics import error
from blindlabel.language.limits import Limits
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import Questions


def check_question(agreement: Agreement, text: str) -> Question:
    """Read a question under an agreement: what is wrong with it, or a formula that the study's engine can answer."""
    terms = agreement.terms()
    checked = _read(text, terms.attributes, terms.limits, terms.case == "lower")
    if checked.formula is None:
        return checked
    refused = rules_named(agreement.encoding.engine).refuse(terms, checked.formula)
    if refused is None:
        return checked
    return checked.refused(error("not-encoded", refused, checked.tree.statements[-1].span))


@lru_cache(maxsize=4096)
def _read(text: str, attributes: tuple[str, ...], limits: Limits, lowered: bool) -> Question:
    """Read once: a process that saves a question and then asks it, or asks it of several owners, finds it here."""
    return Question(text, attributes=attributes, limits=limits, lowered=lowered)


def save_question(store: Questions, record: int, text: str, source: str = "person", author: str = "") -> Question:
    """Keep a text, and make it the record's question where it has no error."""
    checked = check_question(store.agreement, text)
    if checked.ok:
        store.save_questions({record: text}, source, author)
    else:
        store.save_draft(record, text)
    return checked
