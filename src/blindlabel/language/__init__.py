"""The question language: what an expert writes about the other record, and what it means.

    question = Question('ret is_in("canon", lower($r))', attributes=["name"])
    question.ok, question.problems         # findings, with line, column and a sentence
    question(record)                       # the plain meaning, by definition
    question.formula                       # what engines compile

Knows nothing of encryption, parties or files.
"""

from __future__ import annotations

from blindlabel.language.diagnostics import Diagnostic, render
from blindlabel.language.formatter import format_question
from blindlabel.language.functions import FUNCTIONS
from blindlabel.language.interpreter import interpret
from blindlabel.language.limits import Limits
from blindlabel.language.question import Question
from blindlabel.language.record import Record, View

__all__ = ["FUNCTIONS", "Diagnostic", "Limits", "Question", "Record", "View", "format_question", "interpret", "render"]
