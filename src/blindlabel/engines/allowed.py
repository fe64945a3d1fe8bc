"""What an agreement does not encode, in sentences, worded once for all engines."""

from __future__ import annotations

from blindlabel.engines.interface import RecordError, Terms
from blindlabel.language.formula import Formula, atoms_of
from blindlabel.language.record import Record


def refuse_texts(terms: Terms, question: Formula) -> str | None:
    """Why a question cannot look at the texts it names; None where it can."""
    for attribute in dict.fromkeys(atom.view.attribute for atom in atoms_of(question)):
        refused = refuse_text(terms, attribute)
        if refused is not None:
            return refused
    return None


def refuse_text(terms: Terms, attribute: str | None) -> str | None:
    """Why nothing can be asked about this attribute (None: the whole record); None where something can."""
    if attribute is None:
        if terms.encode_whole:
            return None
        return "This agreement does not encode whole records. Ask about an attribute, such as $r.name."
    if not terms.encode_attributes:
        return "This agreement does not encode single attributes. Ask about $r."
    if attribute not in terms.attributes:
        return f"This agreement has no attribute {attribute!r}; it has {', '.join(terms.attributes)}."
    return None


def check_lengths(terms: Terms, record: Record, number: int) -> None:
    """Refuse a record of which something that the agreement encodes is too long."""
    longest = terms.record_length if terms.attribute_length is None else terms.attribute_length
    texts = [("", record.whole, terms.record_length)] if terms.encode_whole else []
    if terms.encode_attributes:
        texts += [(f"'s {name}", text, longest) for name, text in record.attributes.items()]
    for whose, text, most in texts:
        if len(text) > most:
            raise RecordError(f"Record {number}{whose} has {len(text)} characters; the agreement encodes {most}.")
