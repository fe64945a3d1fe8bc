"""What an agreement's terms allow in questions and records: the same for all engines, and worded once.

An engine may refuse more, for reasons of its own (no circuit, no room). People count from one: so do these sentences.
"""

from __future__ import annotations

from collections.abc import Sequence

from blindlabel.engines.interface import RecordError, Terms
from blindlabel.language import words
from blindlabel.language.formula import Atom, Formula, atoms_of
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import Record, View


def refuse_question(terms: Terms, question: Formula) -> str | None:
    """Why a question is not allowed, or None if it is."""
    return next((refused for atom in atoms_of(question) if (refused := refuse_atom(terms, atom)) is not None), None)


def refuse_atom(terms: Terms, atom: Atom) -> str | None:
    """Why a predicate is not allowed, by its function, its text or its arguments, or None if it is."""
    if atom.function not in terms.functions:
        return f"This agreement does not encode {atom.function}. It encodes {', '.join(terms.functions)}."
    refused = refuse_text(terms, atom.view.attribute)
    if refused is not None:
        return refused
    problem = PREDICATES[atom.function].problem(atom.arguments, terms.limits)
    return None if problem is None else f"{atom.function}: {problem.message} {problem.hint}"


def refuse_text(terms: Terms, attribute: str | None) -> str | None:
    """Why nothing can be asked about this attribute (None: the whole record), or None if something can."""
    if attribute is None:
        if terms.encode_whole:
            return None
        return "This agreement does not encode whole records. Ask about an attribute, such as $r.name."
    if not terms.encode_attributes:
        return "This agreement does not encode single attributes. Ask about $r."
    if attribute not in terms.attributes:
        return f"This agreement has no attribute {attribute!r}; it has {', '.join(terms.attributes)}."
    return None


def check_records(terms: Terms, records: Sequence[Record]) -> None:
    """Refuse records that do not fit what the agreement encodes, before any work is done."""
    if not records:
        raise RecordError("There is no record to encrypt.")
    if len(records) > terms.records:
        raise RecordError(f"There are {len(records)} records, and the agreement is about {terms.records} per owner.")
    for number, record in enumerate(records, start=1):
        check_record(terms, record, number)


def check_record(terms: Terms, record: Record, number: int) -> None:
    """Refuse a record whose texts are longer than agreed, or not in the agreed case."""
    for view in text_views(terms):
        text = record.text(view)
        longest = longest_text(terms, view)
        name = "the whole record" if view.attribute is None else f"the attribute {view.attribute!r}"
        if len(text) > longest:
            raise RecordError(
                f"Record {number}: {name} has {len(text)} characters, and the agreement encodes {longest}. Shorten it,"
                " or agree on a longer limit."
            )
        if terms.case == "lower" and words.has_paired_upper(text):
            raise RecordError(
                f"Record {number}: {name} has capital letters, and the agreement says that records are in lower case."
                " Prepare the records in lower case, or agree on case = both."
            )


def text_views(terms: Terms) -> tuple[View, ...]:
    """The texts that are encoded, apart from case."""
    attributes = tuple(View(name) for name in terms.attributes) if terms.encode_attributes else ()
    return ((View(),) if terms.encode_whole else ()) + attributes


def longest_text(terms: Terms, view: View) -> int:
    """The public length limit of a text."""
    if view.attribute is None or terms.attribute_length is None:
        return terms.record_length
    return min(terms.attribute_length, terms.record_length)
