# ruff: noqa: E501
"""An agreement as a commented TOML file. Reading it back gives the same agreement (see `agreement.from_text`)."""

from __future__ import annotations

import json
from typing import Any

from blindlabel.protocol.agreement import Agreement

_HEAD = """\
# An agreement of a blindlabel study. All parties read it, and all use exactly this one: its hash stands in every message.
# Change what you need, then send it round with `blindlabel coordinator invite`. Nothing in it is secret.
"""


def to_text(agreement: Agreement) -> str:
    """The agreement as TOML with a comment beside every setting."""
    sections = [
        _HEAD + _top(agreement),
        _preparation(agreement),
        _sampling(agreement),
        _encoding(agreement),
        _limits(agreement),
    ]
    return "\n".join([*sections, _budget(agreement)])


def _value(value: Any) -> str:
    """A TOML value. JSON text is TOML for strings without control characters beyond the escapes both know, numbers, and lists of them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(part) for part in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def _lines(settings: list[tuple[str, Any, str]]) -> str:
    lines = []
    for name, value, comment in settings:
        lines.append(f"# {comment}")
        # TOML has no "none": an absent setting is shown as a comment.
        lines.append(f"# {name} = " if value is None else f"{name} = {_value(value)}")
    return "\n".join(lines) + "\n"


def _top(agreement: Agreement) -> str:
    return _lines(
        [
            ("version", agreement.version, "The version of this file's form."),
            ("name", agreement.name, "What the study is called."),
            ("criteria", agreement.criteria, "When are two records a match? In words, for the people who write the questions."),
            ("owners", agreement.owners, "The organisations that hold a table, two or more: small letters, digits and hyphens."),
            ("attributes", agreement.attributes, "What questions can name, in order. Each owner maps its own columns to these."),
            ("rounds", agreement.rounds, "How often a record is asked at most; pairs without agreement after that are discarded."),
            ("deadline", agreement.deadline, 'The day the study shall be done, as "2030-01-31"; empty: none.'),
            ("salt", agreement.salt, "Random, new for every study; hashing is salted with it. Not secret."),
        ]
    )  # fmt: skip


def _preparation(agreement: Agreement) -> str:
    steps = agreement.preparation
    return "[preparation]\n" + _lines(
        [
            ("version", steps.version, "The version of the steps' meaning."),
            (
                "steps",
                steps.steps,
                "Applied to every value, in order: nfkc, ascii, collapse_space, strip_punctuation, lower.",
            ),
            ("too_long", steps.too_long, 'A text beyond the lengths below is refused ("refuse") or shortened ("cut").'),
        ]
    )


def _sampling(agreement: Agreement) -> str:
    sampling = agreement.sampling
    text = "[sampling]\n" + _lines(
        [
            ("method", sampling.method, '"uniform", "enriched" (more likely partners) or "rows" (positions given below).'),
            ("records", sampling.records, "Rows of each table, at most."),
            ("share", sampling.share, "enriched: the share of sampled rows that shall have a likely partner."),
            ("blocking", sampling.blocking, "enriched: the attributes that blocking keys are made from."),
        ]
    )  # fmt: skip
    if sampling.rows:
        text += "[sampling.rows]\n" + "".join(
            f"{owner} = {_value(rows)}\n" for owner, rows in sorted(sampling.rows.items())
        )
    return text


def _encoding(agreement: Agreement) -> str:
    encoding = agreement.encoding
    return "[encoding]\n" + _lines(
        [
            (
                "engine",
                encoding.engine,
                '"packed" (the default), "gates" (bit by bit), or "plain" (NO protection: for rehearsals only).',
            ),
            ("record_length", encoding.record_length, "Longest whole record in characters, after preparation."),
            ("attribute_length", encoding.attribute_length, "Longest single attribute; absent: as the record."),
            ("whole", encoding.whole, "Whether questions may look at the whole record ($r)."),
            ("attributes", encoding.attributes, "Whether questions may look at single attributes ($r.name)."),
            (
                "functions",
                encoding.functions,
                "The functions that can be asked; each makes the encrypted records larger.",
            ),
            ("counting", encoding.counting, "Whether questions may count (3*is_in(...) + is_in(...) >= 3)."),
            ("negation", encoding.negation, "Whether questions may negate."),
            (
                "probes",
                encoding.probes,
                "packed: needles that one question has room for; 0: 16, more for similar and between.",
            ),
            (
                "inner_gates",
                encoding.inner_gates,
                "packed: nested counts or alternatives of one question, on each level.",
            ),
            ("inner_levels", encoding.inner_levels, "packed: levels of them."),
            (
                "inner_weight",
                encoding.inner_weight,
                "packed: largest sum of weights in one of them; 0: 31, more for similar and between.",
            ),
            (
                "alternatives",
                encoding.alternatives,
                "packed without counting and negation: what one clause may multiply out to.",
            ),
            ("clauses", encoding.clauses, "packed without counting and negation: clauses of a question."),
        ]
    )


def _limits(agreement: Agreement) -> str:
    limits = agreement.limits
    return "[limits]\n" + _lines(
        [
            ("question_bytes", limits.question_bytes, "Size of a question's text."),
            ("predicates", limits.predicates, "Function calls a question comes to once its variables are filled in."),
            ("nesting", limits.nesting, "How deep brackets and calls may be nested."),
            ("needle_length", limits.needle_length, "Longest text that is_in, starts_with and ends_with may look for."),
            ("total_weight", limits.total_weight, "Sum of the weights of one count."),
            ("similar_distance", limits.similar_distance, "Largest edit distance that `similar` may ask for."),
            ("number_digits", limits.number_digits, "Digits of a number in a question."),
        ]
    )


def _budget(agreement: Agreement) -> str:
    budget = agreement.budget
    return "[budget]\n" + _lines(
        [
            (
                "records_asked",
                budget.records_asked,
                "Questions of one owner over all rounds; absent: rounds times records.",
            ),
            (
                "assist_calls",
                budget.assist_calls,
                "Times one owner may ask the coordinator to refresh blinded ciphertexts, in the whole study.",
            ),
        ]
    )
