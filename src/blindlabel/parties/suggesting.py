"""Questions that write themselves, for `owner run --auto`, the demo and the web app: the suggestion oracle over an
owner's whole table.
"""

from __future__ import annotations

from collections.abc import Sequence

from blindlabel.language.record import Record
from blindlabel.language.suggestions import Suggester
from blindlabel.parties.joining import own_table
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import Store
from blindlabel.records.preparation import prepare_rows


def prepared_rows(store: Store) -> list[Record]:
    """The owner's whole table, prepared as the agreement says."""
    return prepare_rows(own_table(store), store.agreement.attributes, store.agreement.preparation.steps)


def suggester_for(store: Store, rows: Sequence[Record] | None = None) -> Suggester:
    """The oracle for this owner: it knows the owner's own table (read here unless given) and the agreement, nothing
    else.
    """
    agreement = store.agreement
    terms = agreement.terms()
    rows = prepared_rows(store) if rows is None else rows
    return Suggester(
        rows,
        agreement.attributes,
        limits=terms.limits,
        lowered=terms.case == "lower",
        functions=terms.functions,
        exclusions=terms.exclusions,
        places=terms.profile,
        whole=terms.encode_whole,
        single_attributes=terms.encode_attributes,
        most_others=_most_others(agreement, len(rows)),
    )


def _most_others(agreement: Agreement, rows: int) -> float:
    """How many other own rows a question may fit. As large a share of the other owner's sample is expected to fit, and
    half of what is too loose there is enough.
    """
    return max(1.0, agreement.budget.most_yes * rows / (2 * agreement.sampling.records))
