"""Questions that write themselves, for `owner run --auto`, the demo and the web app: the suggestion oracle over an owner's whole table."""

from __future__ import annotations

from blindlabel.language.suggestions import Suggester
from blindlabel.parties.joining import own_table
from blindlabel.records.preparation import prepare
from blindlabel.storage.workspace import Workspace


def suggester_for(workspace: Workspace) -> Suggester:
    """The oracle for this owner: it knows the owner's own table and the agreement, nothing else."""
    agreement, table = workspace.agreement, own_table(workspace)
    terms = agreement.terms()
    rows = [prepare(table.row(position), agreement.attributes, agreement.preparation.steps) for position in range(len(table))]
    return Suggester(
        rows,
        agreement.attributes,
        limits=terms.limits,
        lowered=terms.case == "lower",
        functions=terms.functions,
        counting=terms.counting,
        whole=terms.encode_whole,
        single_attributes=terms.encode_attributes,
    )
